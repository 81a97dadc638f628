/** What may a user do? The roles they have by themselves and through groups, the rules of those, and a check of one request. */
import { type FormEvent, useState } from 'react';
import { useSearchParams } from 'wouter';
import { ApiError } from '../../shared/api.ts';
import { TextField } from '../../shared/form.tsx';
import { useLoaded } from '../../shared/hooks.ts';
import { createTexts } from '../../shared/i18n.tsx';
import { PageTitle } from '../../shared/layout.tsx';
import { Badge, Loading } from '../../shared/parts.tsx';
import { Table } from '../../shared/table.tsx';
import { useConsole } from '../account/console.tsx';
import { FaultText, useRun } from '../faults.tsx';
import { RequestCheck } from './request-check.tsx';
import { type NamedRule, type RoleRow, rulesOf } from './rules.ts';

const useTexts = createTexts({
  en: {
    title: 'May they do this?',
    login: 'Login',
    show: 'Show',
    unknown: 'There is no user with this login.',
    check: 'May this user do this?',
    roles: 'Roles',
    none: 'no roles',
    rules: 'What the roles allow',
    methods: 'Methods',
    path: 'Path',
    role: 'Role',
    nothing: 'These roles allow nothing.',
    intro: 'Enter a login to see what it may do.',
  },
  ru: {
    title: 'Что разрешено?',
    login: 'Логин',
    show: 'Показать',
    unknown: 'Пользователя с таким логином нет.',
    check: 'Может ли пользователь это?',
    roles: 'Роли',
    none: 'ролей нет',
    rules: 'Что разрешают роли',
    methods: 'Методы',
    path: 'Путь',
    role: 'Роль',
    nothing: 'Эти роли ничего не разрешают.',
    intro: 'Введите логин, чтобы увидеть, что ему разрешено.',
  },
});

/** Ids of the users with a login: none or one. */
export const useUserByLogin = (): ((login: string) => Promise<string | undefined>) => {
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

export const AccessPage = () => {
  const t = useTexts();
  const [params, setParams] = useSearchParams();
  const user = params.get('user');
  const [login, setLogin] = useState('');
  const [isUnknown, setUnknown] = useState(false);
  const [error, isBusy, run] = useRun();
  const find = useUserByLogin();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void run(async () => {
      const id = await find(login.trim());
      setUnknown(id === undefined);
      if (id !== undefined) setParams({ user: id });
    });
  };
  return (
    <>
      <PageTitle>{t.title}</PageTitle>
      <form className="card row end" onSubmit={submit}>
        <TextField
          label={t.login}
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
      {user === null ? <p className="faint lead">{t.intro}</p> : <Reach key={user} id={user} />}
    </>
  );
};

const MAX_ROLES = 10_000;

type Reached = { readonly name: string; readonly roles: readonly string[]; readonly rules: readonly NamedRule[] };

const Reach = ({ id }: { id: string }) => {
  const t = useTexts();
  const { api } = useConsole();
  const { data, error } = useLoaded(
    async (signal): Promise<Reached> => {
      const [user, cache, all] = await Promise.all([
        api.json<{ login: string; name: string }>(`/rest/v1/iam/users/${id}?mask=login,name`, { signal }),
        api.json<{ deep_roles: string[] }>(`/rest/v1/domain/users_caches/${id}`, { signal }),
        api.json<RoleRow[]>(`/rest/v1/domain/roles?mask=id,name,parent_id,routes&limit=${MAX_ROLES}`, { signal }),
      ]);
      const { deep_roles: roles } = cache;
      return { name: `${user.name} (${user.login})`, roles, rules: rulesOf(all, roles) };
    },
    [api, id],
  );
  if (error) return <FaultText error={error} />;
  if (!data) return <Loading />;
  return (
    <div className="stack lead">
      <h2>{data.name}</h2>
      <div className="row">
        <span className="faint">{t.roles}:</span>
        {data.roles.length === 0 ? t.none : data.roles.map((role) => <Badge key={role}>{role}</Badge>)}
      </div>
      <div className="card">
        <RequestCheck title={t.check} rules={data.rules} />
      </div>
      <Table
        label={t.rules}
        rows={data.rules.map((rule, at) => ({ ...rule, at }))}
        keyOf={({ at }) => String(at)}
        stacks
        columns={[
          { key: 'url', label: t.path, render: ({ url }) => <span className="mono">{url}</span> },
          {
            key: 'methods',
            label: t.methods,
            render: ({ methods }) => <span className="mono">{methods.join(', ')}</span>,
          },
          { key: 'role', label: t.role, render: ({ role }) => role },
        ]}
        empty={t.nothing}
      />
    </div>
  );
};
