/** Classes: the list, a new one, and the editor of one. */
import { lazy, Suspense, useState } from 'react';
import { SelectField, TextField } from '../../shared/form.tsx';
import { useLoaded } from '../../shared/hooks.ts';
import { createTexts } from '../../shared/i18n.tsx';
import { Loading } from '../../shared/parts.tsx';
import { useConsole } from '../account/console.tsx';
import { CollectionPage } from '../data/collection-page.tsx';
import { NewDialog } from '../data/new-dialog.tsx';
import { CLASS_LIST, type ClassEntity, NIL, STORAGE_MODES } from './class-model.ts';

const ClassEditor = lazy(async () => ({ default: (await import('./class-editor.tsx')).ClassEditor }));

const useTexts = createTexts({
  en: {
    title: 'New class',
    classname: 'Class name',
    hint: 'Words joined by /: shop/Order',
    parent: 'Parent',
    none: 'none',
    storage: 'How rows are kept',
  },
  ru: {
    title: 'Новый класс',
    classname: 'Имя класса',
    hint: 'Слова через /: shop/Order',
    parent: 'Родитель',
    none: 'нет',
    storage: 'Как хранятся строки',
  },
});

const COLLECTION = 'design/classes';

/** `rest`: what follows `/design/classes/` in the address. */
export const ClassesPage = ({ rest }: { rest: string }) => {
  const { collections } = useConsole();
  const collection = collections.find(({ name }) => name === COLLECTION);
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
  const [classname, setClassname] = useState('');
  const [parent, setParent] = useState(NIL);
  const [mode, setMode] = useState('category');
  const classes = useLoaded((signal) => api.json<ClassEntity[]>(CLASS_LIST, { signal }), [api]);
  return (
    <NewDialog
      title={t.title}
      collection={COLLECTION}
      body={() => ({ classname, parent_id: parent, storage_mode: mode })}
    >
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
    </NewDialog>
  );
};
