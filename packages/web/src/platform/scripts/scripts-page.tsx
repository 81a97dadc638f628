/** Service scripts: the list, a new one, and one as a drawing. */
import { lazy, Suspense, useState } from 'react';
import { TextField } from '../../shared/form.tsx';
import { createTexts } from '../../shared/i18n.tsx';
import { Loading } from '../../shared/parts.tsx';
import { useConsole } from '../account/console.tsx';
import { CollectionPage } from '../data/collection-page.tsx';
import { NewDialog } from '../data/new-dialog.tsx';
import { START_TYPE } from './declared.ts';

const ScriptEditor = lazy(async () => ({ default: (await import('./script-editor.tsx')).ScriptEditor }));

const useTexts = createTexts({
  en: { title: 'New script', code: 'Code', hint: 'By this others name it.', name: 'Name' },
  ru: { title: 'Новый сценарий', code: 'Код', hint: 'По нему его называют другие.', name: 'Имя' },
});

const COLLECTION = 'service/svcscripts';

/** `rest`: what follows `/service/svcscripts/` in the address. */
export const ScriptsPage = ({ rest }: { rest: string }) => {
  const { collections } = useConsole();
  if (rest !== '' && rest !== 'new') {
    return (
      <Suspense fallback={<Loading />}>
        <ScriptEditor key={rest} id={decodeURIComponent(rest)} />
      </Suspense>
    );
  }
  const collection = collections.find(({ name }) => name === COLLECTION);
  if (!collection) return null;
  return (
    <>
      <CollectionPage collection={collection} openId={undefined} />
      {rest === 'new' ? <NewScript /> : null}
    </>
  );
};

const NewScript = () => {
  const t = useTexts();
  const [code, setCode] = useState('');
  const [name, setName] = useState('');
  const scriptdata = { scriptVersion: 1, variables: [], objects: [{ oId: 1, oType: START_TYPE, oLeft: 0, oTop: 0 }] };
  return (
    <NewDialog title={t.title} collection={COLLECTION} body={() => ({ code, name, scriptdata })}>
      <TextField label={t.code} hint={t.hint} required value={code} onChange={setCode} />
      <TextField label={t.name} value={name} onChange={setName} />
    </NewDialog>
  );
};
