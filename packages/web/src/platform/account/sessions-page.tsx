/** Live sessions: one's own, and with a route for it those of another user. */
import { useSearchParams } from 'wouter';
import { useNotify, useQuestion } from '../../shared/dialog.tsx';
import { formatInstant } from '../../shared/format.ts';
import { useLoaded } from '../../shared/hooks.ts';
import { createTexts, useLanguage } from '../../shared/i18n.tsx';
import { PageTitle } from '../../shared/layout.tsx';
import { Badge, Loading } from '../../shared/parts.tsx';
import { Table } from '../../shared/table.tsx';
import { FaultText, useRun } from '../faults.tsx';
import { useConsole } from './console.tsx';
import { FindUser } from './find-user.tsx';

const useTexts = createTexts({
  en: {
    title: 'Sessions',
    of: 'Sessions of a user',
    mine: 'Show mine',
    whose: (name: string) => `Sessions of ${name}`,
    kind: 'Kind',
    kinds: { cookie: 'browser', token: 'token' },
    address: 'Address',
    agent: 'Program',
    seen: 'Last seen',
    created: 'Since',
    expires: 'Until',
    domain: 'Domain',
    current: 'this one',
    end: 'End',
    endOf: (address: string) => `End the session from ${address}`,
    endAll: 'End all',
    endOthers: 'End all others',
    endTitle: 'End these sessions?',
    endText: 'Whoever uses them has to sign in again.',
    ended: 'Ended.',
    none: 'No live sessions.',
  },
  ru: {
    title: 'Сеансы',
    of: 'Сеансы пользователя',
    mine: 'Показать мои',
    whose: (name: string) => `Сеансы: ${name}`,
    kind: 'Вид',
    kinds: { cookie: 'браузер', token: 'токен' },
    address: 'Адрес',
    agent: 'Программа',
    seen: 'Активность',
    created: 'С',
    expires: 'До',
    domain: 'Домен',
    current: 'этот',
    end: 'Завершить',
    endOf: (address: string) => `Завершить сеанс с ${address}`,
    endAll: 'Завершить все',
    endOthers: 'Завершить остальные',
    endTitle: 'Завершить эти сеансы?',
    endText: 'Кто ими пользуется, должен будет войти снова.',
    ended: 'Завершено.',
    none: 'Действующих сеансов нет.',
  },
});

const PATH = '/rest/v1/iam/sessions';

type Live = {
  readonly id: string;
  readonly kind: 'cookie' | 'token';
  readonly domain: string;
  readonly created: string;
  readonly last_seen: string;
  readonly expires: string;
  readonly address: string;
  readonly agent: string;
  readonly current: boolean;
};

export const SessionsPage = () => {
  const t = useTexts();
  const { may, session } = useConsole();
  const [params, setParams] = useSearchParams();
  const user = params.get('user_id') ?? undefined;
  const isOther = user !== undefined && user !== session.user_id;
  return (
    <>
      <PageTitle>{t.title}</PageTitle>
      <div className="stack">
        {may('GET', PATH) ? <FindUser label={t.of} onFound={(id) => setParams({ user_id: id })} /> : null}
        {isOther ? (
          <div className="row">
            <button type="button" className="button quiet small" onClick={() => setParams({})}>
              {t.mine}
            </button>
          </div>
        ) : null}
        <SessionList key={user ?? ''} user={isOther ? user : undefined} />
      </div>
    </>
  );
};

/** Those of a user, or with undefined one's own. */
export const SessionList = ({ user }: { user: string | undefined }) => {
  const t = useTexts();
  const { language } = useLanguage();
  const { api } = useConsole();
  const notify = useNotify();
  const [question, ask] = useQuestion();
  const [error, isBusy, run] = useRun();
  const query = user === undefined ? '' : `?user_id=${user}`;
  const live = useLoaded((signal) => api.json<Live[]>(PATH + query, { signal }), [api, query]);
  const name = useName(user);
  const end = (path: string) => (): Promise<void> =>
    run(async () => {
      if (!(await ask({ title: t.endTitle, text: t.endText, confirm: t.end, danger: true }))) return;
      await api.request(path, { method: 'DELETE' });
      notify({ kind: 'good', text: t.ended });
      live.reload();
    });
  if (live.error) return <FaultText error={live.error} />;
  if (!live.data) return <Loading />;
  const instant = (value: string): string => formatInstant(value, language);
  return (
    <>
      {name === undefined ? null : <h2>{t.whose(name)}</h2>}
      {error ? <FaultText error={error} /> : null}
      <Table
        label={t.title}
        rows={live.data.toSorted((a, b) => b.last_seen.localeCompare(a.last_seen))}
        keyOf={({ id }) => id}
        stacks
        empty={t.none}
        columns={[
          { key: 'address', label: t.address, render: ({ address }) => address },
          {
            key: 'kind',
            label: t.kind,
            render: ({ kind, current }) => (
              <span>
                {t.kinds[kind]} {current ? <Badge tone="accent">{t.current}</Badge> : null}
              </span>
            ),
          },
          { key: 'domain', label: t.domain, render: ({ domain }) => domain },
          { key: 'agent', label: t.agent, render: ({ agent }) => <span className="small">{agent.slice(0, 80)}</span> },
          { key: 'seen', label: t.seen, render: ({ last_seen }) => instant(last_seen) },
          { key: 'expires', label: t.expires, render: ({ expires }) => instant(expires) },
          {
            key: 'end',
            label: t.end,
            bare: true,
            render: ({ id, address, current }) =>
              current ? null : (
                <button
                  type="button"
                  className="button quiet small"
                  aria-label={t.endOf(address)}
                  disabled={isBusy}
                  onClick={end(`${PATH}/${id}`)}
                >
                  {t.end}
                </button>
              ),
          },
        ]}
      />
      <div className="row">
        <button
          type="button"
          className="button quiet"
          disabled={isBusy || live.data.every(({ current }) => current)}
          onClick={end(PATH + query)}
        >
          {user === undefined ? t.endOthers : t.endAll}
        </button>
      </div>
      {question}
    </>
  );
};

/** The login of a user, where it may be seen. */
const useName = (user: string | undefined): string | undefined => {
  const { api, may } = useConsole();
  const path =
    user === undefined || !may('GET', `iam/users/${user}`) ? undefined : `/rest/v1/iam/users/${user}?mask=login`;
  const { data } = useLoaded(
    async (signal) => (path === undefined ? undefined : (await api.json<{ login: string }>(path, { signal })).login),
    [api, path],
  );
  return data ?? user;
};
