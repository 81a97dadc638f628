/** Runs a script with inputs, answers its forms, and walks through the trace step by step. */
import { Play } from 'lucide-react';
import { useState } from 'react';
import { TextField } from '../../shared/form.tsx';
import { createTexts } from '../../shared/i18n.tsx';
import { useConsole } from '../account/console.tsx';
import type { Json } from '../data/schema.ts';
import { FaultText, useRun } from '../faults.tsx';
import { FormAnswer } from './form-answer.tsx';
import { RecentRuns } from './recent-runs.tsx';
import { EndingBadge, RunLog } from './run-log.tsx';
import { type Input, inputValue, joinTraces, type RunAnswer } from './trace.ts';
import { TraceView } from './trace-view.tsx';
import { Values } from './values.tsx';

const useTexts = createTexts({
  en: {
    run: 'Run and trace',
    saveAndRun: 'Save, run and trace',
    none: 'The script takes no inputs.',
    inputs: 'Inputs',
    hint: 'JSON, or text as it stands.',
    took: (steps: number, ms: number) => `${steps} steps, ${ms} ms`,
    values: 'What it returned',
    log: 'Log',
  },
  ru: {
    run: 'Запустить с трассировкой',
    saveAndRun: 'Сохранить и запустить с трассировкой',
    none: 'Сценарий ничего не принимает.',
    inputs: 'Входные данные',
    hint: 'JSON или просто текст.',
    took: (steps: number, ms: number) => `шагов: ${steps}, ${ms} мс`,
    values: 'Что вернул',
    log: 'Журнал',
  },
});

type Props = {
  readonly path: string;
  readonly inputs: readonly Input[];
  readonly isDirty: boolean;
  /** Saves what was changed; false when it was refused. */
  readonly save: () => Promise<boolean>;
  readonly answers: readonly RunAnswer[];
  readonly onAnswers: (answers: readonly RunAnswer[]) => void;
  readonly at: number;
  readonly onAt: (at: number) => void;
};

export const RunPanel = ({ path, inputs, isDirty, save, answers, onAnswers, at, onAt }: Props) => {
  const t = useTexts();
  const { api, may } = useConsole();
  const [error, isBusy, run] = useRun();
  const [entered, setEntered] = useState<Readonly<Record<string, string>>>({});
  const ask = (body: Json): Promise<RunAnswer> =>
    api.json<RunAnswer>(`${path}/run`, { method: 'POST', body: { ...body, trace: true } });
  const start = async (): Promise<void> => {
    if (isDirty && !(await save())) return;
    const given = inputs.filter(({ name }) => (entered[name] ?? '') !== '');
    const input = Object.fromEntries(given.map(({ name, type }) => [name, inputValue(entered[name]!, type)]));
    onAnswers([await ask({ input })]);
    onAt(0);
  };
  const last = answers.at(-1);
  const goOn = async (values: Json): Promise<void> => {
    const before = joinTraces(answers).length;
    onAnswers([...answers, await ask({ ctx: last?.ctx, values })]);
    onAt(before);
  };
  return (
    <div className="stack">
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void run(start);
        }}
      >
        <h2>{t.inputs}</h2>
        {inputs.length === 0 ? <p className="faint">{t.none}</p> : null}
        {inputs.map(({ name, required }) => (
          <TextField
            key={name}
            label={name}
            hint={t.hint}
            required={required}
            className="mono"
            value={entered[name] ?? ''}
            onChange={(text) => setEntered((before) => ({ ...before, [name]: text }))}
          />
        ))}
        <button type="submit" className="button" disabled={isBusy}>
          <Play aria-hidden /> {isDirty ? t.saveAndRun : t.run}
        </button>
      </form>
      {error ? <FaultText error={error} /> : null}
      {last ? <Outcome answers={answers} last={last} /> : null}
      {last?.ended === 'form' && last.form ? (
        <FormAnswer key={last.ctx} form={last.form} isBusy={isBusy} onSend={(values) => void run(() => goOn(values))} />
      ) : null}
      {last ? <TraceView steps={joinTraces(answers)} at={at} onAt={onAt} /> : null}
      {may('GET', `${path}/runs`) ? <RecentRuns path={path} /> : null}
    </div>
  );
};

const Outcome = ({ answers, last }: { answers: readonly RunAnswer[]; last: RunAnswer }) => {
  const t = useTexts();
  const log = answers.flatMap((answer) => answer.log);
  const message = last.error?.message ?? last.message;
  return (
    <section className="stack" aria-live="polite">
      <div className="row">
        <EndingBadge ended={last.ended} />
        <span className="faint small">{t.took(last.steps, last.took_ms)}</span>
      </div>
      {message === undefined ? null : (
        <p className="field-error">
          {last.error ? `${last.error.reason}: ` : ''}
          {message}
        </p>
      )}
      {last.values && Object.keys(last.values).length > 0 ? (
        <>
          <h3>{t.values}</h3>
          <Values values={last.values} />
        </>
      ) : null}
      {log.length > 0 ? (
        <>
          <h3>{t.log}</h3>
          <RunLog log={log} />
        </>
      ) : null}
    </section>
  );
};
