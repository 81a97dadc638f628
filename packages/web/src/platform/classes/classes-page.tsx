/** Classes: the list, a new one, and the editor of one. */
import { lazy, Suspense, useState } from 'react';
import { useLocation } from 'wouter';
import { Dialog } from '../../shared/dialog.tsx';
import { SelectField, TextField } from '../../shared/form.tsx';
import { useLoaded } from '../../shared/hooks.ts';
import { createTexts } from '../../shared/i18n.tsx';
import { Loading } from '../../shared/parts.tsx';
import { useConsole } from '../account/console.tsx';
import { CollectionPage } from '../data/collection-page.tsx';
import { FaultText, useRun } from '../faults.tsx';
import { CLASS_LIST, CLASSES_PATH, type ClassEntity, NIL, STORAGE_MODES } from './class-model.ts';

const ClassEditor = lazy(async () => ({ default: (await import('./class-editor.tsx')).ClassEditor }));

const useTexts = createTexts({
  en: {
    title: 'New class',
    classname: 'Class name',
    hint: 'Words joined by /: shop/Order',
    parent: 'Parent',
    none: 'none',
    storage: 'How rows are kept',
    create: 'Create',
  },
  ru: {
    title: 'Новый класс',
    classname: 'Имя класса',
    hint: 'Слова через /: shop/Order',
    parent: 'Родитель',
    none: 'нет',
    storage: 'Как хранятся строки',
    create: 'Создать',
  },
});

const PLACE = '/design/classes';

/** `rest`: what follows `/design/classes/` in the address. */
export const ClassesPage = ({ rest }: { rest: string }) => {
  const { collections } = useConsole();
  const collection = collections.find(({ name }) => name === 'design/classes');
  if (!collection) return null;
  if (rest !== '' && rest !== 'new') {
    return (
      <Suspense fallback={<Loading />}>
        <ClassEditor key={rest} id={decodeURIComponent(rest)} collection={collection} />
      </Suspense>
    );
  }
  return (
    <>
      <CollectionPage collection={collection} openId={undefined} />
      {rest === 'new' ? <NewClass /> : null}
    </>
  );
};

const NewClass = () => {
  const t = useTexts();
  const { api } = useConsole();
  const [, goTo] = useLocation();
  const [error, isBusy, run] = useRun();
  const [classname, setClassname] = useState('');
  const [parent, setParent] = useState(NIL);
  const [mode, setMode] = useState('category');
  const classes = useLoaded((signal) => api.json<ClassEntity[]>(CLASS_LIST, { signal }), [api]);
  const create = async (): Promise<void> => {
    const body = { classname, parent_id: parent, storage_mode: mode };
    const made = await api.json<{ id: string }>(CLASSES_PATH, { method: 'POST', body });
    goTo(`${PLACE}/${made.id}`);
  };
  return (
    <Dialog
      title={t.title}
      onClose={() => goTo(PLACE)}
      onSubmit={() => void run(create)}
      actions={
        <button type="submit" className="button" disabled={isBusy}>
          {t.create}
        </button>
      }
    >
      {error ? <FaultText error={error} /> : null}
      <TextField label={t.classname} hint={t.hint} required value={classname} onChange={setClassname} />
      <SelectField
        label={t.parent}
        value={parent}
        onChange={setParent}
        choices={[
          { value: NIL, label: t.none },
          ...(classes.data ?? []).map((each) => ({ value: each.id, label: each.classname })),
        ]}
      />
      <SelectField
        label={t.storage}
        value={mode}
        onChange={setMode}
        choices={STORAGE_MODES.map((word) => ({ value: word, label: word }))}
      />
    </Dialog>
  );
};
