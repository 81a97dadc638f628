/** One class: what it is called, whose child it is, its modes and options, its properties and those it inherits. */
import { Rows3, Save, Trash2 } from 'lucide-react';
import { useMemo } from 'react';
import { Link, useLocation } from 'wouter';
import { useNotify, useQuestion } from '../../shared/dialog.tsx';
import { SelectField } from '../../shared/form.tsx';
import { useLoaded } from '../../shared/hooks.ts';
import { createTexts } from '../../shared/i18n.tsx';
import { PageTitle } from '../../shared/layout.tsx';
import { Badge, Loading } from '../../shared/parts.tsx';
import { useConsole } from '../account/console.tsx';
import type { Collection } from '../data/collections.ts';
import type { Leaf } from '../data/schema.ts';
import { SchemaForm } from '../data/schema-form.tsx';
import { detailsOf, FaultText, fieldOf, useFaultText, useRun } from '../faults.tsx';
import { type ClassDraft, fieldsOf, type LoadedClass, loadClass, useClassDraft } from './class-draft.ts';
import {
  byIdOf,
  CACHE_MODES,
  CLASS_LIST,
  CLASSES_PATH,
  type ClassEntity,
  INTEGRITY_MODES,
  inheritedOf,
  isUnder,
  NIL,
  parentsOf,
  STORAGE_MODES,
} from './class-model.ts';
import './classes.css';
import { PropertyList } from './property-list.tsx';

const useTexts = createTexts({
  en: {
    save: 'Save',
    saved: 'Saved.',
    rows: 'Rows',
    remove: 'Delete the class',
    removeTitle: 'Delete this class?',
    removeText: (name: string) => `${name} will be gone for good.`,
    forceTitle: 'It holds rows',
    forceText: (name: string) => `${name} and everything in it, files too, will be gone for good.`,
    removed: 'Deleted.',
    dirty: 'not saved',
    parent: 'Parent',
    none: 'none',
    line: 'Inherits from',
    storage: 'How rows are kept',
    integrity: 'How writes are made sure of',
    cache: 'What stays in memory',
    modes: 'Parent and modes',
    names: 'Names',
    options: 'Options',
    readOnly: 'Your roles let you look at this, not change it.',
  },
  ru: {
    save: 'Сохранить',
    saved: 'Сохранено.',
    rows: 'Строки',
    remove: 'Удалить класс',
    removeTitle: 'Удалить этот класс?',
    removeText: (name: string) => `${name} исчезнет навсегда.`,
    forceTitle: 'В нём есть строки',
    forceText: (name: string) => `${name} и всё, что в нём, вместе с файлами, исчезнет навсегда.`,
    removed: 'Удалено.',
    dirty: 'не сохранено',
    parent: 'Родитель',
    none: 'нет',
    line: 'Наследует от',
    storage: 'Как хранятся строки',
    integrity: 'Как подтверждается запись',
    cache: 'Что остаётся в памяти',
    modes: 'Родитель и режимы',
    names: 'Имена',
    options: 'Параметры',
    readOnly: 'Ваши роли разрешают смотреть это, но не менять.',
  },
});

export const ClassEditor = ({ id, collection }: { id: string; collection: Collection }) => {
  const { api } = useConsole();
  const loaded = useLoaded((signal) => loadClass(api, id, signal), [api, id]);
  const classes = useLoaded((signal) => api.json<ClassEntity[]>(CLASS_LIST, { signal }), [api]);
  const error = loaded.error ?? classes.error;
  if (error) return <FaultText error={error} />;
  if (!loaded.data || !classes.data) return <Loading />;
  return <Editor loaded={loaded.data} classes={classes.data} collection={collection} />;
};

type EditorProps = {
  readonly loaded: LoadedClass;
  readonly classes: readonly ClassEntity[];
  readonly collection: Collection;
};

const Editor = ({ loaded, classes, collection }: EditorProps) => {
  const t = useTexts();
  const { api, may } = useConsole();
  const notify = useNotify();
  const [error, isBusy, run] = useRun();
  const faultText = useFaultText();
  const leaves = useMemo(() => fieldsOf(collection.change), [collection]);
  const draft = useClassDraft(api, loaded, leaves);
  const { id } = loaded.entity;
  const mayWrite = may('PATCH', `${CLASSES_PATH}/${id}`);
  const property = error && detailsOf(error).property;
  const field = error && fieldOf(error);
  const refused =
    error && leaves.some(({ path }) => path === field) ? { key: field!, text: faultText(error) } : undefined;
  const fields = { draft, mayWrite, refused };
  const save = (): Promise<void> =>
    run(async () => {
      if (await draft.save()) notify({ kind: 'good', text: t.saved });
    });
  return (
    <div className="stack">
      <PageTitle aside={draft.isDirty ? <Badge tone="warn">{t.dirty}</Badge> : null}>
        {draft.raw.classname ?? ''}
      </PageTitle>
      <Toolbar entity={loaded.entity} draft={draft} mayWrite={mayWrite} isBusy={isBusy} onSave={() => void save()} />
      {mayWrite ? null : <p className="warning-box">{t.readOnly}</p>}
      {error && !refused ? <FaultText error={error} {...(field === undefined ? {} : { field })} /> : null}
      <Fields leaves={leaves.filter(({ path }) => !isOption(path))} title={t.names} {...fields} />
      <Modes id={id} draft={draft} classes={classes} mayWrite={mayWrite} />
      <PropertyList
        properties={draft.properties}
        inherited={inheritedOf(draft.choices.parent_id, byIdOf(classes))}
        fault={error && typeof property === 'string' ? { name: property, text: faultText(error) } : undefined}
        mayWrite={mayWrite}
        onChange={draft.setProperties}
      />
      <Fields leaves={leaves.filter(({ path }) => isOption(path))} title={t.options} {...fields} />
    </div>
  );
};

const isOption = (path: string): boolean => path.startsWith('opts') || path.startsWith('ext');

type FieldsProps = {
  readonly title: string;
  readonly leaves: readonly Leaf[];
  readonly draft: ClassDraft;
  readonly mayWrite: boolean;
  readonly refused: { readonly key: string; readonly text: string } | undefined;
};

const Fields = ({ title, leaves, draft, mayWrite, refused }: FieldsProps) => (
  <fieldset className="card stack plain-card" disabled={!mayWrite}>
    <legend className="unseen">{title}</legend>
    <SchemaForm
      collection="design/classes"
      leaves={leaves}
      raw={draft.raw}
      onChange={draft.setRaw}
      inputFaults={draft.inputFaults}
      refused={refused}
      isNew={false}
    />
  </fieldset>
);

type ModesProps = {
  readonly id: string;
  readonly draft: ClassDraft;
  readonly classes: readonly ClassEntity[];
  readonly mayWrite: boolean;
};

const wordsOf = (words: readonly string[], present: string) =>
  (words.includes(present) ? words : [...words, present]).map((word) => ({ value: word, label: word }));

const Modes = ({ id, draft, classes, mayWrite }: ModesProps) => {
  const t = useTexts();
  const { choices, choose } = draft;
  const byId = byIdOf(classes);
  const parents = classes.filter((each) => !isUnder(each, id, byId));
  const line = parentsOf(choices.parent_id, byId);
  return (
    <fieldset className="card stack plain-card" disabled={!mayWrite}>
      <legend className="unseen">{t.modes}</legend>
      <div className="grid">
        <SelectField
          label={t.parent}
          value={choices.parent_id}
          onChange={(parent_id) => choose({ parent_id })}
          choices={[
            { value: NIL, label: t.none },
            ...parents.map((each) => ({ value: each.id, label: each.classname })),
          ]}
        />
        <SelectField
          label={t.storage}
          value={choices.storage_mode}
          onChange={(storage_mode) => choose({ storage_mode })}
          choices={wordsOf(STORAGE_MODES, choices.storage_mode)}
        />
        <SelectField
          label={t.integrity}
          value={choices.integrity_mode}
          onChange={(integrity_mode) => choose({ integrity_mode })}
          choices={wordsOf(INTEGRITY_MODES, choices.integrity_mode)}
        />
        <SelectField
          label={t.cache}
          value={choices.cache_mode}
          onChange={(cache_mode) => choose({ cache_mode })}
          choices={wordsOf(CACHE_MODES, choices.cache_mode)}
        />
      </div>
      {line.length === 0 ? null : (
        <p className="small">
          <span className="faint">{t.line}:</span>{' '}
          {line.map((each, at) => (
            <span key={each.id}>
              {at > 0 ? ' › ' : ''}
              <Link href={`/design/classes/${each.id}`} className="mono">
                {each.classname}
              </Link>
            </span>
          ))}
        </p>
      )}
    </fieldset>
  );
};

type ToolbarProps = {
  readonly entity: ClassEntity;
  readonly draft: ClassDraft;
  readonly mayWrite: boolean;
  readonly isBusy: boolean;
  readonly onSave: () => void;
};

const Toolbar = ({ entity, draft, mayWrite, isBusy, onSave }: ToolbarProps) => {
  const t = useTexts();
  const { api, may } = useConsole();
  const [, goTo] = useLocation();
  const notify = useNotify();
  const [question, ask] = useQuestion();
  const [error, isRemoving, run] = useRun();
  const path = `${CLASSES_PATH}/${entity.id}`;
  const { classname } = entity;
  const remove = async (): Promise<void> => {
    const wish = { title: t.removeTitle, text: t.removeText(classname), confirm: t.remove, danger: true };
    if (!(await ask(wish))) return;
    await run(async () => {
      try {
        await api.request(path, { method: 'DELETE' });
      } catch (thrown) {
        const { reason, by } = detailsOf(thrown as Error);
        // Rows may go with their class; a child may not lose its parent.
        if (reason !== 'referenced' || typeof by !== 'string') throw thrown;
        if (!(await ask({ ...wish, title: t.forceTitle, text: t.forceText(classname) }))) return;
        await api.request(path, { method: 'DELETE', body: { force: true } });
      }
      notify({ kind: 'good', text: t.removed });
      goTo('/design/classes');
    });
  };
  return (
    <>
      <div className="row">
        <button type="button" className="button" disabled={isBusy || !mayWrite || !draft.isDirty} onClick={onSave}>
          <Save aria-hidden /> {t.save}
        </button>
        {entity.storage_mode !== 'abstract' && may('GET', `model/${classname}`) ? (
          <Link href={`/model/${classname}`} className="button quiet">
            <Rows3 aria-hidden /> {t.rows}
          </Link>
        ) : null}
        {may('DELETE', path) ? (
          <button type="button" className="button quiet" disabled={isRemoving} onClick={() => void remove()}>
            <Trash2 aria-hidden /> {t.remove}
          </button>
        ) : null}
      </div>
      {error ? <FaultText error={error} /> : null}
      {question}
    </>
  );
};
