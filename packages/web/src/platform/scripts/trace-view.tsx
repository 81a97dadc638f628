/** The steps of a run: each can be gone to; the variables as they were after it. */
import { ChevronLeft, ChevronRight } from 'lucide-react';
import { createTexts } from '../../shared/i18n.tsx';
import { type TraceStep, variablesAt } from './trace.ts';
import { Values } from './values.tsx';

const useTexts = createTexts({
  en: {
    title: 'Steps',
    before: 'Step back',
    next: 'Next step',
    of: (at: number, all: number) => `Step ${at} of ${all}`,
    variables: 'Variables after this step',
    none: 'none yet',
    went: 'then',
  },
  ru: {
    title: 'Шаги',
    before: 'Шаг назад',
    next: 'Следующий шаг',
    of: (at: number, all: number) => `Шаг ${at} из ${all}`,
    variables: 'Переменные после этого шага',
    none: 'пока нет',
    went: 'затем',
  },
});

type Props = { readonly steps: readonly TraceStep[]; readonly at: number; readonly onAt: (at: number) => void };

export const TraceView = ({ steps, at, onAt }: Props) => {
  const t = useTexts();
  if (steps.length === 0) return null;
  const { values, changed } = variablesAt(steps, at);
  return (
    <section className="stack" aria-label={t.title}>
      <div className="row between">
        <h3 aria-live="polite">{t.of(at + 1, steps.length)}</h3>
        <div className="row">
          <button
            type="button"
            className="button quiet small"
            aria-label={t.before}
            disabled={at === 0}
            onClick={() => onAt(at - 1)}
          >
            <ChevronLeft aria-hidden />
          </button>
          <button
            type="button"
            className="button quiet small"
            aria-label={t.next}
            disabled={at >= steps.length - 1}
            onClick={() => onAt(at + 1)}
          >
            <ChevronRight aria-hidden />
          </button>
        </div>
      </div>
      <ol className="trace-steps small">
        {steps.map((step, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: steps of a run stay where they are.
          <li key={index}>
            <button type="button" aria-current={index === at ? 'step' : undefined} onClick={() => onAt(index)}>
              <span>
                {step.oId} · {step.name || step.element}
              </span>
              <span className="faint">
                {t.went} {String(step.went)}
              </span>
            </button>
          </li>
        ))}
      </ol>
      <h3>{t.variables}</h3>
      {Object.keys(values).length === 0 ? (
        <p className="faint">{t.none}</p>
      ) : (
        <Values values={values} marked={changed} />
      )}
    </section>
  );
};
