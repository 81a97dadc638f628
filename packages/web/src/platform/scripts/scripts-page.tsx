/** Service scripts: the list, a new one, and one as a drawing. */
import { lazy, Suspense, useState } from 'react';
import { useLocation } from 'wouter';
import { Dialog } from '../../shared/dialog.tsx';
import { TextField } from '../../shared/form.tsx';
import { createTexts } from '../../shared/i18n.tsx';
import { Loading } from '../../shared/parts.tsx';
import { useConsole } from '../account/console.tsx';
import { CollectionPage } from '../data/collection-page.tsx';
import { FaultText, useRun } from '../faults.tsx';
import { START_TYPE } from './declared.ts';
import { SCRIPTS_PATH } from './draft.ts';

const ScriptEditor = lazy(async () => ({ default: (await import('./script-editor.tsx')).ScriptEditor }));

const useTexts = createTexts({
  en: { title: 'New script', code: 'Code', hint: 'By this others name it.', name: 'Name', create: 'Create' },
  ru: { title: 'Новый сценарий', code: 'Код', hint: 'По нему его называют другие.', name: 'Имя', create: 'Создать' },
});

const PLACE = '/service/svcscripts';

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
  const collection = collections.find(({ name }) => name === 'service/svcscripts');
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
  const { api } = useConsole();
  const [, goTo] = useLocation();
  const [error, isBusy, run] = useRun();
  const [code, setCode] = useState('');
  const [name, setName] = useState('');
  const create = async (): Promise<void> => {
    const scriptdata = { scriptVersion: 1, variables: [], objects: [{ oId: 1, oType: START_TYPE, oLeft: 0, oTop: 0 }] };
    const made = await api.json<{ id: string }>(SCRIPTS_PATH, { method: 'POST', body: { code, name, scriptdata } });
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
      <TextField label={t.code} hint={t.hint} required value={code} onChange={setCode} />
      <TextField label={t.name} value={name} onChange={setName} />
    </Dialog>
  );
};
