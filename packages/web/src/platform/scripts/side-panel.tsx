/** Beside the drawing: the chosen element, the variables, a run, the script itself. */
import { useMemo } from 'react';
import { SelectField, TextArea, TextField } from '../../shared/form.tsx';
import { createTexts, useLanguage } from '../../shared/i18n.tsx';
import type { DraftState, ScriptFault } from './draft.ts';
import type { TypesById } from './graph.ts';
import type { Around } from './key-props.ts';
import { ObjectForm } from './object-form.tsx';
import { RunPanel } from './run-panel.tsx';
import { titleOf } from './texts.ts';
import { inputsOf, type RunAnswer } from './trace.ts';
import { VariablesPanel } from './variables-panel.tsx';

const useTexts = createTexts({
  en: {
    parts: 'Parts of the script',
    tabs: { element: 'Element', variables: 'Variables', run: 'Run', script: 'Script' },
    none: 'Choose an element in the drawing, or add one.',
    code: 'Code',
    name: 'Name',
    comment: 'Comment',
    logLevel: 'Log',
    levels: ['nothing', 'errors', 'warnings', 'information', 'details', 'everything'],
    elements: 'Elements',
  },
  ru: {
    parts: 'Части сценария',
    tabs: { element: 'Элемент', variables: 'Переменные', run: 'Запуск', script: 'Сценарий' },
    none: 'Выберите элемент на схеме или добавьте новый.',
    code: 'Код',
    name: 'Имя',
    comment: 'Комментарий',
    logLevel: 'Журнал',
    levels: ['ничего', 'ошибки', 'предупреждения', 'сведения', 'подробности', 'всё'],
    elements: 'Элементы',
  },
});

export const TABS = ['element', 'variables', 'run', 'script'] as const;
export type Tab = (typeof TABS)[number];

const DEFAULT_LOG_LEVEL = '3';

type Props = {
  readonly state: DraftState;
  readonly types: TypesById;
  readonly tab: Tab;
  readonly onTab: (tab: Tab) => void;
  readonly selected: number | undefined;
  readonly fault: ScriptFault | undefined;
  readonly mayWrite: boolean;
  readonly onRemove: (oId: number) => void;
  readonly run: {
    readonly path: string;
    readonly isDirty: boolean;
    readonly save: () => Promise<boolean>;
    readonly answers: readonly RunAnswer[];
    readonly onAnswers: (answers: readonly RunAnswer[]) => void;
    readonly at: number;
    readonly onAt: (at: number) => void;
  };
};

export const SidePanel = (props: Props) => {
  const t = useTexts();
  const { state, tab, onTab, fault, mayWrite, run } = props;
  const { draft, change } = state;
  return (
    <aside className="card script-side">
      {/* biome-ignore lint/a11y/useSemanticElements: buttons that belong together, no inputs of a form. */}
      <div className="tabs" role="group" aria-label={t.parts}>
        {TABS.map((one) => (
          <button key={one} type="button" aria-pressed={tab === one} onClick={() => onTab(one)}>
            {t.tabs[one]}
          </button>
        ))}
      </div>
      {tab === 'element' ? <ChosenElement {...props} /> : null}
      {tab === 'variables' ? (
        <VariablesPanel
          variables={draft.variables}
          defaults={draft.defaults}
          fault={fault?.kind === 'variable' ? fault : undefined}
          mayWrite={mayWrite}
          onChange={(variables, defaults) => change({ variables, defaults })}
        />
      ) : null}
      {tab === 'run' ? <RunPanel {...run} inputs={inputsOf(draft.objects, draft.variables)} /> : null}
      {tab === 'script' ? <ScriptFacts {...props} /> : null}
    </aside>
  );
};

const ChosenElement = ({ state, types, selected, fault, mayWrite, onRemove }: Props) => {
  const t = useTexts();
  const { language } = useLanguage();
  const { objects, variables } = state.draft;
  const object = objects.find(({ oId }) => oId === selected);
  const around = useMemo(
    (): Around => ({
      targets: objects
        .filter(({ oId }) => oId !== selected)
        .map((one) => ({ oId: one.oId, title: titleOf(one, types.get(one.oType), language) })),
      variables: variables.map(({ name }) => name),
      fault: fault?.kind === 'object' && fault.oId === selected ? fault : undefined,
    }),
    [objects, variables, types, selected, fault, language],
  );
  if (!object) return <p className="faint">{t.none}</p>;
  return (
    <ObjectForm
      key={object.oId}
      object={object}
      type={types.get(object.oType)}
      around={around}
      mayWrite={mayWrite}
      onChange={(next) => state.changeObjects((before) => before.map((one) => (one.oId === next.oId ? next : one)))}
      onRemove={() => onRemove(object.oId)}
    />
  );
};

const ScriptFacts = ({ state: { draft, change }, mayWrite }: Props) => {
  const t = useTexts();
  return (
    <fieldset className="stack plain" disabled={!mayWrite}>
      <legend className="unseen">{t.tabs.script}</legend>
      <TextField label={t.code} required className="mono" value={draft.code} onChange={(code) => change({ code })} />
      <TextField label={t.name} value={draft.name} onChange={(name) => change({ name })} />
      <TextArea label={t.comment} rows={3} value={draft.comment} onChange={(comment) => change({ comment })} />
      <SelectField
        label={t.logLevel}
        value={draft.logLevel === '' ? DEFAULT_LOG_LEVEL : draft.logLevel}
        onChange={(logLevel) => change({ logLevel })}
        choices={t.levels.map((label, level) => ({ value: String(level), label }))}
      />
      <p className="faint small">
        {t.elements}: {draft.objects.length}
      </p>
    </fieldset>
  );
};
