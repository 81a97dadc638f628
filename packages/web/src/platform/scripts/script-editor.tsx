/** One script: its drawing, beside it the element that is chosen, the variables, runs with their trace, and what it is called. */
import { Plus, Save, Trash2 } from 'lucide-react';
import { useMemo, useState } from 'react';
import { useLocation } from 'wouter';
import { useNotify, useQuestion } from '../../shared/dialog.tsx';
import { useLoaded } from '../../shared/hooks.ts';
import { createTexts, useLanguage } from '../../shared/i18n.tsx';
import { PageTitle } from '../../shared/layout.tsx';
import { Loading } from '../../shared/parts.tsx';
import { useConsole } from '../account/console.tsx';
import { FaultText, useRun } from '../faults.tsx';
import { Canvas } from './canvas.tsx';
import type { ElementType, ScriptObject } from './declared.ts';
import {
  type DraftState,
  faultOf,
  type LoadedScript,
  loadElements,
  loadScript,
  SCRIPTS_PATH,
  type ScriptFault,
  useDraft,
} from './draft.ts';
import { newObject, type Point, type TypesById, withoutObject, withTransfer } from './graph.ts';
import './scripts.css';
import { SidePanel, type Tab } from './side-panel.tsx';
import { typeName } from './texts.ts';
import { joinTraces, type RunAnswer, visitsOf } from './trace.ts';

const useTexts = createTexts({
  en: {
    save: 'Save',
    saved: 'Saved.',
    warned: (text: string) => `Saved. ${text}`,
    add: 'Add an element',
    remove: 'Delete the script',
    removeTitle: 'Delete this script?',
    removeText: (code: string) => `${code} will be gone for good.`,
    removed: 'Deleted.',
    dirty: 'not saved',
    readOnly: 'Your roles let you look at this, not change it.',
  },
  ru: {
    save: 'Сохранить',
    saved: 'Сохранено.',
    warned: (text: string) => `Сохранено. ${text}`,
    add: 'Добавить элемент',
    remove: 'Удалить сценарий',
    removeTitle: 'Удалить этот сценарий?',
    removeText: (code: string) => `${code} исчезнет навсегда.`,
    removed: 'Удалено.',
    dirty: 'не сохранено',
    readOnly: 'Ваши роли разрешают смотреть это, но не менять.',
  },
});

export const ScriptEditor = ({ id }: { id: string }) => {
  const { api } = useConsole();
  const script = useLoaded((signal) => loadScript(api, id, signal), [api, id]);
  const elements = useLoaded((signal) => loadElements(api, signal), [api]);
  const error = script.error ?? elements.error;
  if (error) return <FaultText error={error} />;
  if (!script.data || !elements.data) return <Loading />;
  return <Editor key={id} loaded={script.data} elements={elements.data} />;
};

type EditorProps = { readonly loaded: LoadedScript; readonly elements: readonly ElementType[] };

const Editor = ({ loaded, elements }: EditorProps) => {
  const { api, may } = useConsole();
  const { id } = loaded.entity;
  const types: TypesById = useMemo(() => new Map(elements.map((type) => [type.oType, type])), [elements]);
  const state = useDraft(api, loaded);
  const { draft, isDirty, changeObjects } = state;
  const [selected, setSelected] = useState<number>();
  const [tab, setTab] = useState<Tab>('script');
  const [fault, setFault] = useState<ScriptFault>();
  const [answers, setAnswers] = useState<readonly RunAnswer[]>([]);
  const [at, setAt] = useState(0);
  const mayWrite = may('PATCH', `${SCRIPTS_PATH}/${id}`);
  const visits = useMemo(
    () => (tab === 'run' ? visitsOf(joinTraces(answers), at, draft.code) : undefined),
    [tab, answers, at, draft.code],
  );
  const select = (oId: number | undefined): void => {
    setSelected(oId);
    if (oId !== undefined) setTab('element');
  };
  const changes = changesOf(changeObjects, types);
  const showFault = (found: ScriptFault | undefined): void => {
    setFault(found);
    if (found) setTab(found.kind === 'object' ? 'element' : 'variables');
    if (found?.kind === 'object') setSelected(found.oId);
  };
  const remove = (oId: number): void => {
    changes.remove(oId);
    if (selected === oId) setSelected(undefined);
  };
  return (
    <Toolbar
      state={state}
      types={types}
      mayWrite={mayWrite}
      selected={selected}
      onSelect={select}
      onFault={showFault}
      id={id}
    >
      {(save) => (
        <div className="script-room">
          <Canvas
            objects={draft.objects}
            types={types}
            selected={selected}
            fault={fault?.kind === 'object' ? fault : undefined}
            visits={visits}
            mayWrite={mayWrite}
            onSelect={select}
            onRemove={remove}
            onMove={changes.move}
            onConnect={changes.connect}
          />
          <SidePanel
            state={state}
            types={types}
            tab={tab}
            onTab={setTab}
            selected={selected}
            fault={fault}
            mayWrite={mayWrite}
            onRemove={remove}
            run={{ path: `${SCRIPTS_PATH}/${id}`, isDirty, save, answers, onAnswers: setAnswers, at, onAt: setAt }}
          />
        </div>
      )}
    </Toolbar>
  );
};

/** What drawing does to the objects. */
const changesOf = (changeObjects: DraftState['changeObjects'], types: TypesById) => {
  const changeOne = (oId: number, change: (object: ScriptObject) => ScriptObject): void =>
    changeObjects((objects) => objects.map((one) => (one.oId === oId ? change(one) : one)));
  return {
    remove: (oId: number): void => changeObjects((objects) => withoutObject(objects, oId, types)),
    move: (oId: number, { x, y }: Point): void =>
      changeOne(oId, (one) => ({ ...one, oLeft: Math.round(x), oTop: Math.round(y) })),
    connect: (oId: number, path: string, to: number | undefined): void =>
      changeOne(oId, (one) => withTransfer(one, path, to)),
  };
};

type ToolbarProps = {
  readonly id: string;
  readonly state: DraftState;
  readonly types: TypesById;
  readonly mayWrite: boolean;
  readonly selected: number | undefined;
  readonly onSelect: (oId: number | undefined) => void;
  readonly onFault: (fault: ScriptFault | undefined) => void;
  /** Given the way to save, which answers whether it went through. */
  readonly children: (save: () => Promise<boolean>) => React.ReactNode;
};

const Toolbar = ({ id, state, types, mayWrite, selected, onSelect, onFault, children }: ToolbarProps) => {
  const t = useTexts();
  const { language } = useLanguage();
  const { api, may } = useConsole();
  const [, goTo] = useLocation();
  const notify = useNotify();
  const [question, ask] = useQuestion();
  const [error, isBusy, run] = useRun();
  const { draft, isDirty } = state;
  const save = async (): Promise<boolean> => {
    let isSaved = false;
    await run(async () => {
      onFault(undefined);
      try {
        const warning = await state.save();
        notify(warning ? { kind: 'info', text: t.warned(warning) } : { kind: 'good', text: t.saved });
        isSaved = true;
      } catch (thrown) {
        onFault(faultOf(thrown as Error, draft));
        throw thrown;
      }
    });
    return isSaved;
  };
  const add = (oType: number): void => {
    const type = types.get(oType);
    if (!type) return;
    const made = newObject(draft.objects, type, types, selected);
    state.changeObjects((objects) => [...objects, made]);
    onSelect(made.oId);
  };
  const remove = async (): Promise<void> => {
    const wish = { title: t.removeTitle, text: t.removeText(draft.code), confirm: t.remove, danger: true };
    if (!(await ask(wish))) return;
    await run(async () => {
      await api.request(`${SCRIPTS_PATH}/${id}`, { method: 'DELETE' });
      notify({ kind: 'good', text: t.removed });
      goTo('/service/svcscripts');
    });
  };
  return (
    <>
      <PageTitle aside={isDirty ? <span className="badge warn">{t.dirty}</span> : null}>
        {draft.name || draft.code}
      </PageTitle>
      <div className="row toolbar">
        <button type="button" className="button" disabled={isBusy || !mayWrite || !isDirty} onClick={() => void save()}>
          <Save aria-hidden /> {t.save}
        </button>
        <label className="row add-element">
          <Plus aria-hidden />
          <select
            aria-label={t.add}
            value=""
            disabled={!mayWrite}
            onChange={(event) => add(Number(event.target.value))}
          >
            <option value="">{t.add}</option>
            {[...types.values()].map((type) => (
              <option key={type.oType} value={type.oType}>
                {type.oType} · {typeName(type, type.oType, language)}
              </option>
            ))}
          </select>
        </label>
        {may('DELETE', `${SCRIPTS_PATH}/${id}`) ? (
          <button type="button" className="button quiet" disabled={isBusy} onClick={() => void remove()}>
            <Trash2 aria-hidden /> {t.remove}
          </button>
        ) : null}
      </div>
      {mayWrite ? null : <p className="warning-box">{t.readOnly}</p>}
      {error ? <FaultText error={error} /> : null}
      {children(save)}
      {question}
    </>
  );
};
