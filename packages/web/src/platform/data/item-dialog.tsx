/** Creates, changes and deletes an item; refusals stand at the field they name. */
import { Trash2 } from 'lucide-react';
import { type ComponentType, type ReactNode, useEffect, useRef, useState } from 'react';
import type { Api } from '../../shared/api.ts';
import { Dialog, useNotify, useQuestion } from '../../shared/dialog.tsx';
import { useLoaded } from '../../shared/hooks.ts';
import { createTexts, useLanguage } from '../../shared/i18n.tsx';
import { Loading } from '../../shared/parts.tsx';
import { useConsole } from '../account/console.tsx';
import { detailsOf, FaultText, fieldOf, useFaultText, useRun } from '../faults.tsx';
import { nameOf } from '../names.ts';
import type { Collection } from './collections.ts';
import { type InputFault, keyOf, newRaw, type Raw, readItem, toRaw, withoutNothing } from './form-values.ts';
import { Related } from './related.tsx';
import { type Json, type JsonSchema, type Leaf, leavesOf, mergePatchOf } from './schema.ts';
import { SchemaForm } from './schema-form.tsx';

const useTexts = createTexts({
  en: {
    fresh: 'New',
    save: 'Save',
    create: 'Create',
    remove: 'Delete',
    removeTitle: 'Delete this?',
    removeText: (name: string) => `${name} will be gone for good.`,
    forceTitle: 'It is still referred to',
    forceText: 'Others name it. Delete it and take it out of them?',
    created: 'Created.',
    saved: 'Saved.',
    same: 'Nothing was changed.',
    removed: 'Deleted.',
    readOnly: 'Your roles let you look at this, not change it.',
  },
  ru: {
    fresh: 'Создание',
    save: 'Сохранить',
    create: 'Создать',
    remove: 'Удалить',
    removeTitle: 'Удалить?',
    removeText: (name: string) => `${name} исчезнет навсегда.`,
    forceTitle: 'На него ещё ссылаются',
    forceText: 'Его называют другие. Удалить и убрать из них?',
    created: 'Создано.',
    saved: 'Сохранено.',
    same: 'Ничего не изменено.',
    removed: 'Удалено.',
    readOnly: 'Ваши роли разрешают смотреть это, но не менять.',
  },
});

export const NEW = 'new';

type Props = {
  readonly collection: Collection;
  /** Its id, or `new`. */
  readonly id: string;
  readonly onClose: () => void;
  /** After anything was changed. */
  readonly onSaved: () => void;
  readonly attached?: Attached;
};

/** What hangs on an item besides its fields, changed by requests of its own. */
export type AttachedProps = { readonly item: Json; readonly id: string; readonly onChanged: () => void };
export type Attached = ComponentType<AttachedProps>;

type Loaded = { readonly item: Json; readonly tag: string | undefined };
const NOTHING: Loaded = { item: {}, tag: undefined };

const loadItem = async (api: Api, collection: Collection, id: string, signal: AbortSignal): Promise<Loaded> => {
  const { path, change, idField } = collection;
  if (change?.properties?.value?.['x-by-key']?.[id] !== undefined) {
    // A key that was never set is as good as an empty one, and no fault.
    const filter = encodeURIComponent(JSON.stringify({ [idField]: [id] }));
    const [item = { [idField]: id }] = await api.json<Json[]>(`${path}?filter=${filter}&mask=*`, { signal });
    return { item, tag: undefined };
  }
  const answer = await api.request(`${path}/${encodeURIComponent(id)}`, { signal });
  return { item: (await answer.json()) as Json, tag: answer.headers.get('etag') ?? undefined };
};

export const ItemDialog = (props: Props) => {
  const { collection, id, onClose, attached: Attached } = props;
  const { api } = useConsole();
  const { language } = useLanguage();
  const isNew = id === NEW;
  const loaded = useLoaded(
    async (signal) => (isNew ? NOTHING : await loadItem(api, collection, id, signal)),
    [api, collection.path, id],
  );
  const reload = (): void => {
    loaded.reload();
    props.onSaved();
  };
  if (loaded.data) {
    const more = Attached && !isNew ? <Attached item={loaded.data.item} id={id} onChanged={reload} /> : null;
    return <ItemForm {...props} loaded={loaded.data} isNew={isNew} more={more} />;
  }
  return (
    <Dialog title={nameOf(collection.name, language)} onClose={onClose} wide>
      {loaded.error ? <FaultText error={loaded.error} /> : <Loading />}
    </Dialog>
  );
};

/** The value of a setting has the shape its key asks for. */
const shapedFor = (schema: JsonSchema, id: string): JsonSchema => {
  const shape = schema.properties?.value?.['x-by-key']?.[id];
  if (!shape?.properties) return schema;
  return { ...schema, properties: { ...schema.properties, value: { ...shape, additionalProperties: true } } };
};

/** Fields that can be entered; the id of something new is the platform's to give. */
const inputsOf = ({ create, change, idField }: Collection, id: string, ownId: string): Leaf[] => {
  const schema = id === NEW ? create : change;
  const leaves = schema ? leavesOf(shapedFor(schema, id)) : [];
  // Only who changes the own password is asked for the present one.
  const isAsked = (path: string): boolean =>
    path === 'pwd_old' ? id === ownId : !(path === idField && idField === 'id');
  return leaves.filter(({ path, schema: { readOnly } }) => !readOnly && isAsked(path));
};

const NAMES = ['login', 'code', 'name', 'displayname', 'classname', 'instance', 'key', 'title'];

const titleOf = (item: Json, id: string): string => {
  const name = NAMES.map((one) => item[one]).find((value) => typeof value === 'string' && value !== '');
  return typeof name === 'string' ? name : id;
};

type FormProps = Props & { readonly loaded: Loaded; readonly isNew: boolean; readonly more: ReactNode };

/** Saves and deletes; each says so and closes, or leaves its error. */
const useActions = ({ collection, id, onClose, onSaved, loaded, isNew }: FormProps) => {
  const t = useTexts();
  const { api } = useConsole();
  const notify = useNotify();
  const [question, ask] = useQuestion();
  const [error, isBusy, run] = useRun();
  const path = `${collection.path}/${encodeURIComponent(id)}`;
  const headers = loaded.tag === undefined ? {} : { 'if-match': loaded.tag };
  const finish = (text: string): void => {
    notify({ kind: 'good', text });
    onSaved();
    onClose();
  };
  const save = (item: Json): Promise<void> =>
    run(async () => {
      if (isNew) {
        await api.request(collection.path, { method: 'POST', body: withoutNothing(item) });
        return finish(t.created);
      }
      const patch = mergePatchOf(loaded.item, item);
      if (patch !== undefined) await api.request(path, { method: 'PATCH', headers, body: patch });
      finish(patch === undefined ? t.same : t.saved);
    });
  const remove = async (): Promise<void> => {
    const name = titleOf(loaded.item, id);
    const asked = { title: t.removeTitle, text: t.removeText(name), confirm: t.remove, danger: true };
    if (!(await ask(asked))) return;
    await run(async () => {
      try {
        await api.request(path, { method: 'DELETE', headers });
      } catch (thrown) {
        if (detailsOf(thrown as Error).reason !== 'referenced') throw thrown;
        if (!(await ask({ ...asked, title: t.forceTitle, text: t.forceText }))) return;
        await api.request(path, { method: 'DELETE', headers, body: { force: true } });
      }
      finish(t.removed);
    });
  };
  return { question, error, isBusy, path, save, remove };
};

const ItemForm = (props: FormProps) => {
  const { collection, id, onClose, loaded, isNew, more } = props;
  const t = useTexts();
  const { language } = useLanguage();
  const { may, session } = useConsole();
  const faultText = useFaultText();
  const { question, error, isBusy, path, save, remove } = useActions(props);
  const leaves = inputsOf(collection, id, session.user_id);
  const initial = useRef<Raw>(isNew ? newRaw(leaves) : toRaw(leaves, loaded.item));
  const [raw, setRaw] = useState(initial.current);
  const [inputFaults, setInputFaults] = useState<Readonly<Record<string, InputFault>>>({});
  const mayWrite = isNew ? may('POST', collection.path) : may('PATCH', path);
  const refusedKey = error && keyAmong(leaves, fieldOf(error));
  useFocusOnFault(refusedKey ?? Object.keys(inputFaults)[0]);
  const submit = (): void => {
    const read = readItem(leaves, loaded.item, isNew ? {} : initial.current, raw);
    setInputFaults(read.faults);
    if (Object.keys(read.faults).length === 0) void save(read.item);
  };
  const mayRemove = !isNew && collection.canRemove && may('DELETE', path);
  return (
    <>
      <Dialog
        title={isNew ? `${t.fresh}: ${nameOf(collection.name, language)}` : titleOf(loaded.item, id)}
        onClose={onClose}
        onSubmit={submit}
        wide
        actions={
          <>
            {mayRemove ? (
              <button type="button" className="button danger" disabled={isBusy} onClick={() => void remove()}>
                <Trash2 aria-hidden /> {t.remove}
              </button>
            ) : null}
            <button type="submit" className="button" disabled={isBusy || !mayWrite}>
              {isNew ? t.create : t.save}
            </button>
          </>
        }
      >
        {mayWrite ? null : <p className="warning-box">{t.readOnly}</p>}
        {error && !refusedKey ? <FaultText error={error} {...fieldProp(error)} /> : null}
        {isNew ? null : <Related collection={collection.name} item={loaded.item} id={id} />}
        <SchemaForm
          collection={collection.name}
          leaves={leaves}
          raw={raw}
          onChange={(key, text) => setRaw((before) => ({ ...before, [key]: text }))}
          inputFaults={inputFaults}
          refused={error && refusedKey ? { key: refusedKey, text: faultText(error) } : undefined}
          isNew={isNew}
        />
        {more}
      </Dialog>
      {question}
    </>
  );
};

/** Brings the keyboard to the input that is at fault. */
const useFocusOnFault = (key: string | undefined): void => {
  useEffect(() => {
    if (key === undefined) return;
    const place = document.querySelector(`[data-field="${CSS.escape(key)}"]`);
    place?.querySelector<HTMLElement>('input, select, textarea')?.focus();
  }, [key]);
};

const fieldProp = (error: Error): { field?: string } => {
  const field = fieldOf(error);
  return field === undefined ? {} : { field };
};

/** The input for a field, or for the object it is in. */
const keyAmong = (leaves: readonly Leaf[], field: string | undefined): string | undefined => {
  if (field === undefined) return undefined;
  const exact = leaves.find(({ path, isRest }) => path === field && !isRest);
  const around = leaves.find(({ path }) => field.startsWith(`${path}.`) || field.startsWith(`${path}[`));
  const found = exact ?? around;
  return found && keyOf(found);
};
