/** What may a user do? The roles they have by themselves and through groups, the rules of those, and a check of one request. */
import { useSearchParams } from 'wouter';
import { useLoaded } from '../../shared/hooks.ts';
import { createTexts } from '../../shared/i18n.tsx';
import { PageTitle } from '../../shared/layout.tsx';
import { Badge, Loading } from '../../shared/parts.tsx';
import { Table } from '../../shared/table.tsx';
import { useConsole } from '../account/console.tsx';
import { FindUser } from '../account/find-user.tsx';
import { FaultText } from '../faults.tsx';
import { RequestCheck } from './request-check.tsx';
import { type NamedRule, type RoleRow, rulesOf } from './rules.ts';

const useTexts = createTexts({
  en: {
    title: 'May they do this?',
    of: 'What a user may do',
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
    of: 'Что разрешено пользователю',
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

export const AccessPage = () => {
  const t = useTexts();
  const [params, setParams] = useSearchParams();
  const user = params.get('user');
  return (
    <>
      <PageTitle>{t.title}</PageTitle>
      <FindUser label={t.of} onFound={(id) => setParams({ user: id })} />
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
