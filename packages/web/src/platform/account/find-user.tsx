/** A login that is entered, and the user who has it. */
import { type FormEvent, useState } from 'react';
import { ApiError } from '../../shared/api.ts';
import { TextField } from '../../shared/form.tsx';
import { createTexts } from '../../shared/i18n.tsx';
import { FaultText, useRun } from '../faults.tsx';
import { useConsole } from './console.tsx';

const useTexts = createTexts({
  en: { login: (what: string) => `${what} (login)`, show: 'Show', unknown: 'There is no user with this login.' },
  ru: { login: (what: string) => `${what} (логин)`, show: 'Показать', unknown: 'Пользователя с таким логином нет.' },
});

type Props = {
  /** What the user is looked for. */
  readonly label: string;
  /** Told the id of who was found. */
  readonly onFound: (id: string) => void;
};

export const FindUser = ({ label, onFound }: Props) => {
  const t = useTexts();
  const [login, setLogin] = useState('');
  const [isUnknown, setUnknown] = useState(false);
  const [error, isBusy, run] = useRun();
  const find = useUserByLogin();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void run(async () => {
      const id = await find(login.trim());
      setUnknown(id === undefined);
      if (id !== undefined) onFound(id);
    });
  };
  return (
    <>
      <form className="card row end" aria-label={label} onSubmit={submit}>
        <TextField
          label={t.login(label)}
          value={login}
          onChange={setLogin}
          error={isUnknown ? t.unknown : undefined}
          required
        />
        <button type="submit" className="button" disabled={isBusy}>
          {t.show}
        </button>
      </form>
      {error ? <FaultText error={error} /> : null}
    </>
  );
};

/** The id of the user with a login, if there is one. */
const useUserByLogin = (): ((login: string) => Promise<string | undefined>) => {
  const { api } = useConsole();
  return async (login) => {
    try {
      const [id] = await api.json<string[]>('/rest/v1/iam/users!lookup', {
        method: 'POST',
        body: JSON.stringify(login),
        headers: { 'content-type': 'application/json' },
      });
      return id;
    } catch (thrown) {
      if (thrown instanceof ApiError && thrown.status === 404) return undefined;
      throw thrown;
    }
  };
};
