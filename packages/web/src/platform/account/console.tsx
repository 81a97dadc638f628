/** Who is signed in, what they may do, what the platform can do; and the dialog when a session ends meanwhile. */
import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useRef, useState } from 'react';
import { compileRoutes, type Routes } from '../../../../platform/src/auth/route-pattern.ts';
import { type Api, ApiError, createApi } from '../../shared/api.ts';
import { Dialog } from '../../shared/dialog.tsx';
import { createTexts } from '../../shared/i18n.tsx';
import { Fault, Loading } from '../../shared/parts.tsx';
import { type ApiDescription, type Collection, readCollections, readRequests } from '../data/collections.ts';
import { PasswordForm, SignInPage } from './sign-in.tsx';

const useTexts = createTexts({
  en: { over: 'Your session is over', again: 'Sign in again: what you have entered stays.' },
  ru: { over: 'Сеанс закончился', again: 'Войдите снова: введённое останется.' },
});

export type Webapp = {
  readonly name: string;
  readonly url: string;
  readonly description: string;
  readonly icon: string;
};

export type Rule = { readonly methods: readonly string[]; readonly url: string };

/** `iam/sessions/current`. */
export type Session = {
  readonly domain: string;
  readonly domain_is_master: boolean;
  readonly domains: readonly { readonly domain: string; readonly is_master: boolean }[];
  readonly login: string;
  readonly name: string;
  readonly name_login: string;
  readonly roles: readonly string[];
  readonly user_id: string;
  readonly webapps: readonly Webapp[];
};

export type Console = {
  readonly api: Api;
  readonly session: Session;
  readonly collections: readonly Collection[];
  /** Paths of all requests, parameters in braces. */
  readonly requests: readonly string[];
  /** True when the roles have a route for it; `path` below /rest/v1/ or from the root. */
  may(method: string, path: string): boolean;
  signOut(): Promise<void>;
  switchDomain(domain: string): Promise<void>;
};

const SESSION = '/rest/v1/iam/sessions/current';

type Facts = { readonly session: Session; readonly routes: Routes; readonly description: ApiDescription };
type State =
  | { readonly kind: 'loading' }
  | { readonly kind: 'out' }
  | { readonly kind: 'failed'; readonly error: Error }
  | ({ readonly kind: 'in' } & Facts);

const ConsoleContext = createContext<Console | undefined>(undefined);

export const useConsole = (): Console => {
  const value = useContext(ConsoleContext);
  if (!value) throw new Error('ConsoleProvider is missing.');
  return value;
};

/** Requests that ask nobody to sign in. */
const createOpenApi = (): Api => createApi({ credential: () => ({}), onUnauthorized: async () => false });

const loadFacts = async (api: Api): Promise<State> => {
  try {
    const session = await api.json<Session>(SESSION);
    const [rules, description] = await Promise.all([
      api.json<Rule[]>(`${SESSION}/routes`),
      api.json<ApiDescription>('/rest/v1/openapi.json'),
    ]);
    return { kind: 'in', session, routes: compileRoutes(rules), description };
  } catch (thrown) {
    if (thrown instanceof ApiError && thrown.status === 401) return { kind: 'out' };
    return { kind: 'failed', error: thrown as Error };
  }
};

/** Around the console: the page of sign-in until somebody is. */
export const ConsoleProvider = ({ children }: { children: ReactNode }) => {
  const [state, setState] = useState<State>({ kind: 'loading' });
  const open = useMemo(createOpenApi, []);
  const reload = useCallback(async () => setState(await loadFacts(open)), [open]);
  useEffect(() => void reload(), [reload]);
  if (state.kind === 'loading') return <Loading />;
  if (state.kind === 'failed') return <Fault error={state.error} onRetry={() => void reload()} />;
  if (state.kind === 'out') return <SignInPage api={open} onDone={reload} />;
  return (
    <SignedIn facts={state} open={open} reload={reload}>
      {children}
    </SignedIn>
  );
};

type SignedInProps = {
  readonly facts: Facts;
  readonly open: Api;
  readonly reload: () => Promise<void>;
  readonly children: ReactNode;
};

const SignedIn = ({ facts, open, reload, children }: SignedInProps) => {
  const [isOver, answer, api] = useApi();
  const { session, routes, description } = facts;
  const value = useMemo((): Console => {
    const isHere = ({ domain }: Collection): boolean =>
      domain === 'any' || (domain === 'master') === session.domain_is_master;
    return {
      api,
      session,
      collections: readCollections(description).filter(isHere),
      requests: readRequests(description),
      may: (method, path) => routes.allows(method, path.startsWith('/') ? path : `/rest/v1/${path}`),
      signOut: async () => {
        await open.request(SESSION, { method: 'DELETE' });
        await reload();
      },
      switchDomain: async (domain) => {
        await open.request(SESSION, { method: 'PATCH', body: { domain } });
        await reload();
      },
    };
  }, [api, session, routes, description, open, reload]);
  const comeBack = async (): Promise<void> => {
    const now = await open.json<Session>(SESSION);
    // Somebody else: nothing of what is shown is theirs.
    if (now.user_id !== session.user_id || now.domain !== session.domain) location.reload();
    answer(true);
  };
  return (
    <ConsoleContext value={value}>
      {children}
      {isOver ? (
        <OverDialog domain={session.domain} open={open} onDone={comeBack} onClose={() => answer(false)} />
      ) : null}
    </ConsoleContext>
  );
};

/** Requests that wait for the dialog when the session is over; those refused at the same time share one. */
const useApi = (): [isOver: boolean, answer: (again: boolean) => void, api: Api] => {
  const [isOver, setOver] = useState(false);
  const waiting = useRef<{ promise: Promise<boolean>; resolve(again: boolean): void }>(undefined);
  const api = useMemo(
    () =>
      createApi({
        credential: () => ({}),
        onUnauthorized: () => {
          waiting.current ??= Promise.withResolvers<boolean>();
          setOver(true);
          return waiting.current.promise;
        },
      }),
    [],
  );
  const answer = useCallback((again: boolean) => {
    waiting.current?.resolve(again);
    waiting.current = undefined;
    setOver(false);
  }, []);
  return [isOver, answer, api];
};

const OverDialog = (props: { domain: string; open: Api; onDone: () => Promise<void>; onClose: () => void }) => {
  const t = useTexts();
  const [domain, setDomain] = useState(props.domain);
  const submit = useRef<() => void>(() => undefined);
  return (
    <Dialog title={t.over} onClose={props.onClose} onSubmit={() => submit.current()}>
      <p>{t.again}</p>
      <PasswordForm api={props.open} onDone={props.onDone} domain={domain} setDomain={setDomain} submit={submit} />
    </Dialog>
  );
};
