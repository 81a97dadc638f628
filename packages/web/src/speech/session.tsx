/** The API key of this tab, the requests that carry it, and the dialog that asks for it at the first 401. */
import { createContext, type ReactNode, useContext, useMemo, useState } from 'react';
import { type Api, createApi } from '../shared/api.ts';
import { Dialog } from '../shared/dialog.tsx';
import { TextField } from '../shared/form.tsx';
import { createTexts } from '../shared/i18n.tsx';

const useTexts = createTexts({
  en: {
    title: 'API key',
    first: 'This service asks for a key. It is kept until this tab is closed.',
    wrong: 'This key is not accepted.',
    key: 'Key',
    use: 'Use this key',
    where: 'The first start shows the keys on the terminal and leaves them in speech/first-keys in the data folder.',
  },
  ru: {
    title: 'Ключ API',
    first: 'Сервис требует ключ. Он хранится, пока открыта эта вкладка.',
    wrong: 'Этот ключ не принят.',
    key: 'Ключ',
    use: 'Использовать',
    where: 'При первом запуске ключи показаны в терминале и записаны в speech/first-keys в папке данных.',
  },
});

/** The reference under /docs reads the same name. */
const KEY_NAME = 'parley-key';

export type Session = {
  readonly api: Api;
  readKey(): string;
  /** Opens the dialog; true when a key was given. */
  askKey(): Promise<boolean>;
};

type Asking = { readonly wasRefused: boolean; answer(given: boolean): void };

const SessionContext = createContext<Session | undefined>(undefined);

const readKey = (): string => sessionStorage.getItem(KEY_NAME) ?? '';

/** Around the page. Requests that are refused at the same time share one dialog. */
export const SessionProvider = ({ children }: { children: ReactNode }) => {
  const [asking, setAsking] = useState<Asking>();
  const session = useMemo((): Session => {
    let open: Promise<boolean> | undefined;
    const ask = (wasRefused: boolean): Promise<boolean> => {
      open ??= new Promise<boolean>((resolve) => setAsking({ wasRefused, answer: resolve })).finally(() => {
        open = undefined;
        setAsking(undefined);
      });
      return open;
    };
    const credential = (): Record<string, string> => {
      const key = readKey();
      return key === '' ? {} : { authorization: `Bearer ${key}` };
    };
    return {
      api: createApi({ credential, onUnauthorized: () => ask(readKey() !== '') }),
      readKey,
      askKey: () => ask(false),
    };
  }, []);
  return (
    <SessionContext value={session}>
      {children}
      {asking ? <KeyDialog {...asking} /> : null}
    </SessionContext>
  );
};

export const useSession = (): Session => {
  const session = useContext(SessionContext);
  if (!session) throw new Error('SessionProvider is missing.');
  return session;
};

const KeyDialog = ({ wasRefused, answer }: Asking) => {
  const t = useTexts();
  const [key, setKey] = useState(readKey);
  const use = (): void => {
    sessionStorage.setItem(KEY_NAME, key.trim());
    answer(true);
  };
  return (
    <Dialog
      title={t.title}
      onClose={() => answer(false)}
      onSubmit={use}
      actions={
        <button type="submit" className="button">
          {t.use}
        </button>
      }
    >
      <p>{wasRefused ? t.wrong : t.first}</p>
      <TextField
        label={t.key}
        hint={t.where}
        type="password"
        placeholder="sk-parley-…"
        value={key}
        onChange={setKey}
        autoFocus
      />
    </Dialog>
  );
};
