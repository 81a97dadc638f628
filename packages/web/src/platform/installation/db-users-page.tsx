/** Temporary accounts in the databases of the domain: who is there, making one, and their end. */
import { Plus, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { useSearchParams } from 'wouter';
import { useNotify, useQuestion } from '../../shared/dialog.tsx';
import { SelectField } from '../../shared/form.tsx';
import { formatInstant } from '../../shared/format.ts';
import { useLoaded } from '../../shared/hooks.ts';
import { createTexts, useLanguage } from '../../shared/i18n.tsx';
import { PageTitle } from '../../shared/layout.tsx';
import { Empty, Loading } from '../../shared/parts.tsx';
import { Table } from '../../shared/table.tsx';
import { useConsole } from '../account/console.tsx';
import { FaultText, useRun } from '../faults.tsx';
import { type DbAccount, FAMILIES } from './db-account.ts';
import { NewDbUser } from './new-db-user.tsx';

const useTexts = createTexts({
  en: {
    title: 'Database accounts',
    intro:
      'Accounts for a person or a tool, in a database that a storage of this domain names. They end by themselves.',
    database: 'Database',
    noDatabase: 'No storage of this domain names a database that accounts can be made in.',
    create: 'New account',
    login: 'Login',
    place: 'Server',
    name: 'Database there',
    until: 'Until',
    end: 'End',
    endOf: (login: string) => `End ${login}`,
    endAll: 'End all',
    endTitle: 'End these accounts?',
    endText: 'Their connections are cut at once.',
    ended: 'Ended.',
    none: 'There are no accounts now.',
  },
  ru: {
    title: 'Учётные записи БД',
    intro: 'Для человека или программы, в базе данных хранилища этого домена. Заканчиваются сами.',
    database: 'База данных',
    noDatabase: 'Ни одно хранилище этого домена не называет подходящей базы данных.',
    create: 'Новая учётная запись',
    login: 'Логин',
    place: 'Сервер',
    name: 'База на нём',
    until: 'До',
    end: 'Завершить',
    endOf: (login: string) => `Завершить ${login}`,
    endAll: 'Завершить все',
    endTitle: 'Завершить эти учётные записи?',
    endText: 'Их соединения будут разорваны сразу.',
    ended: 'Завершено.',
    none: 'Сейчас учётных записей нет.',
  },
});

export const DbUsersPage = () => {
  const t = useTexts();
  const { api, may } = useConsole();
  const [params, setParams] = useSearchParams();
  // Both families show the same; one of them is enough to look.
  const base = FAMILIES.find((path) => may('GET', path)) ?? FAMILIES[0];
  const databases = useLoaded((signal) => api.json<{ name: string }[]>(base, { signal }), [api, base]);
  const names = databases.data?.map(({ name }) => name) ?? [];
  const chosen = names.find((name) => name === params.get('database')) ?? names[0];
  return (
    <>
      <PageTitle>{t.title}</PageTitle>
      <div className="stack">
        <p className="faint">{t.intro}</p>
        {databases.error ? <FaultText error={databases.error} /> : null}
        {databases.data === undefined && !databases.error ? <Loading /> : null}
        {databases.data && chosen === undefined ? <Empty title={t.noDatabase} /> : null}
        {chosen === undefined ? null : (
          <>
            <SelectField
              label={t.database}
              value={chosen}
              onChange={(database) => setParams({ database })}
              choices={names.map((name) => ({ value: name, label: name }))}
            />
            <Accounts key={chosen} database={chosen} base={base} />
          </>
        )}
      </div>
    </>
  );
};

const Accounts = ({ database, base }: { database: string; base: string }) => {
  const t = useTexts();
  const { language } = useLanguage();
  const { api, may } = useConsole();
  const notify = useNotify();
  const [question, ask] = useQuestion();
  const [isMaking, setMaking] = useState(false);
  const [error, isBusy, run] = useRun();
  const path = `${base}/${encodeURIComponent(database)}`;
  const accounts = useLoaded((signal) => api.json<DbAccount[]>(path, { signal }), [api, path]);
  const end = (address: string) => (): Promise<void> =>
    run(async () => {
      if (!(await ask({ title: t.endTitle, text: t.endText, confirm: t.end, danger: true }))) return;
      await api.request(address, { method: 'DELETE' });
      notify({ kind: 'good', text: t.ended });
      accounts.reload();
    });
  const mayMake = FAMILIES.some((family) => may('POST', `${family}/${encodeURIComponent(database)}`));
  const mayEnd = may('DELETE', path);
  return (
    <>
      <div className="row">
        <button type="button" className="button" disabled={!mayMake} onClick={() => setMaking(true)}>
          <Plus aria-hidden /> {t.create}
        </button>
        {mayEnd ? (
          <button
            type="button"
            className="button quiet"
            disabled={isBusy || (accounts.data ?? []).length === 0}
            onClick={end(path)}
          >
            <Trash2 aria-hidden /> {t.endAll}
          </button>
        ) : null}
      </div>
      {error ? <FaultText error={error} /> : null}
      {accounts.error ? <FaultText error={accounts.error} /> : null}
      {accounts.data === undefined && !accounts.error ? <Loading /> : null}
      {accounts.data ? (
        <Table
          label={t.title}
          rows={accounts.data}
          keyOf={({ login }) => login}
          stacks
          empty={t.none}
          columns={[
            { key: 'login', label: t.login, render: ({ login }) => <span className="mono">{login}</span> },
            { key: 'place', label: t.place, render: ({ host, port }) => `${host}:${port}` },
            { key: 'name', label: t.name, render: (account) => account.database },
            { key: 'until', label: t.until, render: ({ validuntil }) => formatInstant(validuntil, language) },
            {
              key: 'end',
              label: t.end,
              bare: true,
              render: ({ login }) => {
                const one = `${path}/${encodeURIComponent(login)}`;
                return may('DELETE', one) ? (
                  <button
                    type="button"
                    className="button quiet small"
                    aria-label={t.endOf(login)}
                    disabled={isBusy}
                    onClick={end(one)}
                  >
                    {t.end}
                  </button>
                ) : null;
              },
            },
          ]}
        />
      ) : null}
      {isMaking ? <NewDbUser database={database} onMade={accounts.reload} onClose={() => setMaking(false)} /> : null}
      {question}
    </>
  );
};
