/** The console's places, and what stands around them. */
import { Activity, AppWindow, BookOpen, History, House, LogOut, Server, ShieldCheck, UserRound } from 'lucide-react';
import { lazy, type ReactNode, Suspense } from 'react';
import { Redirect, Route, Switch, useLocation } from 'wouter';
import { createTexts, type Language, useLanguage } from '../shared/i18n.tsx';
import { type NavGroup, type NavItem, PageTitle, Shell } from '../shared/layout.tsx';
import { Loading } from '../shared/parts.tsx';
import { type Console, ConsoleProvider, type Session, useConsole } from './account/console.tsx';
import { CollectionPage } from './data/collection-page.tsx';
import { useRun } from './faults.tsx';
import { HomePage } from './home.tsx';
import { GROUPS, nameOf } from './names.ts';
import { hrefOf } from './webapps.ts';

const AccountPage = lazy(async () => ({ default: (await import('./account/account-page.tsx')).AccountPage }));
const AccessPage = lazy(async () => ({ default: (await import('./roles/access-page.tsx')).AccessPage }));
const JournalPage = lazy(async () => ({ default: (await import('./journal/journal-page.tsx')).JournalPage }));
const DbUsersPage = lazy(async () => ({ default: (await import('./installation/db-users-page.tsx')).DbUsersPage }));
const LicencePage = lazy(async () => ({ default: (await import('./installation/licence-page.tsx')).LicencePage }));
const NodesPage = lazy(async () => ({ default: (await import('./installation/nodes-page.tsx')).NodesPage }));
const SessionsPage = lazy(async () => ({ default: (await import('./account/sessions-page.tsx')).SessionsPage }));
const ScriptsPage = lazy(async () => ({ default: (await import('./scripts/scripts-page.tsx')).ScriptsPage }));
const ClassesPage = lazy(async () => ({ default: (await import('./classes/classes-page.tsx')).ClassesPage }));
const ModelPage = lazy(async () => ({ default: (await import('./classes/model-page.tsx')).ModelPage }));

const useTexts = createTexts({
  en: {
    service: 'Platform',
    home: 'Start',
    account: 'My account',
    apps: 'Applications',
    sessions: 'Sessions',
    access: 'May they do this?',
    journal: 'Journal',
    nodes: 'Nodes',
    watch: 'Oversight',
    other: 'More',
    signOut: 'Sign out',
    reference: 'Reference',
    domain: 'Domain',
    lost: 'There is nothing at this address.',
  },
  ru: {
    service: 'Платформа',
    home: 'Начало',
    account: 'Моя учётная запись',
    apps: 'Приложения',
    sessions: 'Сеансы',
    access: 'Что разрешено?',
    journal: 'Журнал',
    nodes: 'Узлы',
    watch: 'Наблюдение',
    other: 'Прочее',
    signOut: 'Выйти',
    reference: 'Справочник',
    domain: 'Домен',
    lost: 'По этому адресу ничего нет.',
  },
});

export const App = () => (
  <ConsoleProvider>
    <Frame />
  </ConsoleProvider>
);

const Frame = () => {
  const t = useTexts();
  const { language } = useLanguage();
  const value = useConsole();
  return (
    <Shell service={t.service} side nav={navOf(value, t, language)} actions={<Actions />}>
      <Suspense fallback={<Loading />}>
        <Switch>
          <Route path="/" component={HomePage} />
          <Route path="/access" component={AccessPage} />
          <Route path="/journal" component={JournalPage} />
          <Route path="/master/nodes" component={NodesPage} />
          <Route path="/master/license" component={LicencePage} />
          <Route path="/iam/dbusers" component={DbUsersPage} />
          <Route path="/sessions" component={SessionsPage} />
          <Route path="/account" component={AccountPage} />
          <Route path="/service/svcscripts/*?">{({ '*': rest }) => <ScriptsPage rest={rest ?? ''} />}</Route>
          <Route path="/design/classes/*?">{({ '*': rest }) => <ClassesPage rest={rest ?? ''} />}</Route>
          <Route path="/model/*">{({ '*': rest }) => <ModelPage rest={rest ?? ''} />}</Route>
          <Route path="/*">{({ '*': rest }) => <Place path={rest} />}</Route>
        </Switch>
      </Suspense>
    </Shell>
  );
};

/** `iam/users` and `iam/users/<id>`; anything else is nothing. */
const Place = ({ path }: { path: string }) => {
  const t = useTexts();
  const { collections } = useConsole();
  const collection = collections.find(({ name }) => path === name || path.startsWith(`${name}/`));
  if (!collection) return path === '' ? <Redirect to="/" /> : <PageTitle>{t.lost}</PageTitle>;
  const id = path.slice(collection.name.length + 1);
  return (
    <CollectionPage
      key={collection.name}
      collection={collection}
      openId={id === '' ? undefined : decodeURIComponent(id)}
    />
  );
};

type Texts = ReturnType<typeof useTexts>;

/** Only what the roles let one see. */
const navOf = ({ collections, may, session }: Console, t: Texts, language: Language): NavGroup[] => {
  const seen = [
    ...collections.filter(({ path }) => may('GET', path)).map(({ name }) => name),
    ...pagesOf(session, may),
  ];
  const item = (name: string) => ({ href: `/${name}`, label: nameOf(name, language) });
  const named = new Set(GROUPS.flatMap(({ collections: names }) => Object.keys(names)));
  const others = seen.filter((name) => !named.has(name)).map(item);
  const first: [string, string, ReactNode, boolean][] = [
    ['/', t.home, <House key="home" aria-hidden />, true],
    ['/account', t.account, <UserRound key="account" aria-hidden />, true],
    ['/sessions', t.sessions, <Activity key="sessions" aria-hidden />, true],
  ];
  const watch: [string, string, ReactNode, boolean][] = [
    ['/journal', t.journal, <History key="journal" aria-hidden />, may('GET', 'journal/changes')],
    [
      '/access',
      t.access,
      <ShieldCheck key="access" aria-hidden />,
      may('GET', 'domain/roles') && may('GET', 'domain/users_caches/x'),
    ],
    [
      '/master/nodes',
      t.nodes,
      <Server key="nodes" aria-hidden />,
      session.domain_is_master && may('GET', 'master/nodes'),
    ],
  ];
  const toItems = (list: typeof first) =>
    list.filter(([, , , is]) => is).map(([href, label, icon]) => ({ href, label, icon }));
  const groups: NavGroup[] = [
    { items: toItems(first) },
    { label: t.apps, items: appsOf(session) },
    { label: t.watch, items: toItems(watch) },
    ...GROUPS.map(({ label, collections: names }) => ({
      label: label[language],
      items: Object.keys(names)
        .filter((name) => seen.includes(name))
        .map(item),
    })),
    { label: t.other, items: others },
  ];
  return groups.filter(({ items }) => items.length > 0);
};

/** Pages of their own that stand among the collections. */
const pagesOf = ({ domain_is_master }: Session, may: Console['may']): string[] => [
  ...(domain_is_master && may('GET', 'master/license') ? ['master/license'] : []),
  ...(may('GET', 'iam/dbusers') || may('GET', 'iam/dbusers_by_expiration') ? ['iam/dbusers'] : []),
];

/** Applications of the roles. */
const appsOf = ({ webapps }: Session): NavItem[] =>
  webapps.flatMap((webapp) => {
    const href = hrefOf(webapp);
    return href === undefined ? [] : [{ href, label: webapp.name, icon: <AppWindow aria-hidden />, isOutside: true }];
  });

const Actions = () => {
  const t = useTexts();
  const { session, signOut, switchDomain } = useConsole();
  const [, goTo] = useLocation();
  const [, isBusy, run] = useRun();
  const leave = async (): Promise<void> => {
    goTo('/');
    await signOut();
  };
  const move = async (domain: string): Promise<void> => {
    goTo('/');
    await switchDomain(domain);
  };
  return (
    <>
      {session.domains.length > 1 ? (
        <select
          className="domain-switch"
          aria-label={t.domain}
          value={session.domain}
          disabled={isBusy}
          onChange={(event) => void run(() => move(event.target.value))}
        >
          {session.domains.map(({ domain }) => (
            <option key={domain}>{domain}</option>
          ))}
        </select>
      ) : (
        <span className="faint small domain-name">{session.domain}</span>
      )}
      <a className="icon-button reference" href="/docs" aria-label={t.reference} title={t.reference}>
        <BookOpen aria-hidden />
      </a>
      <button
        type="button"
        className="icon-button"
        aria-label={t.signOut}
        title={t.signOut}
        disabled={isBusy}
        onClick={() => void run(leave)}
      >
        <LogOut aria-hidden />
      </button>
    </>
  );
};
