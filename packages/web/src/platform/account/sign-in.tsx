/** Sign-in: domain, login and password; the scenario of the domain; the providers that are switched on. */
import { KeyRound, LogIn } from 'lucide-react';
import { type FormEvent, type RefObject, useEffect, useState } from 'react';
import type { Api } from '../../shared/api.ts';
import { TextField } from '../../shared/form.tsx';
import { useLoaded } from '../../shared/hooks.ts';
import { createTexts } from '../../shared/i18n.tsx';
import { PageTitle, Shell } from '../../shared/layout.tsx';
import { FaultText, useRun } from '../faults.tsx';
import { ExternalForm } from './external-form.tsx';

const useTexts = createTexts({
  en: {
    service: 'Platform',
    title: 'Sign in',
    domain: 'Domain',
    domainHint: 'Leave it empty if you do not know.',
    login: 'Login',
    pwd: 'Password',
    go: 'Sign in',
    or: 'or',
    scenario: 'Sign in step by step',
    password: 'Sign in with a password',
    with: (name: string) => `Continue with ${name}`,
  },
  ru: {
    service: 'Платформа',
    title: 'Вход',
    domain: 'Домен',
    domainHint: 'Оставьте пустым, если не знаете.',
    login: 'Логин',
    pwd: 'Пароль',
    go: 'Войти',
    or: 'или',
    scenario: 'Войти по шагам',
    password: 'Войти с паролем',
    with: (name: string) => `Войти через ${name}`,
  },
});

type Ways = {
  readonly external: boolean;
  readonly providers: readonly { readonly code: string; readonly name: string }[];
};
type FormProps = { readonly api: Api; readonly onDone: () => Promise<void> };

export const SignInPage = (props: FormProps) => {
  const t = useTexts();
  return (
    <Shell service={t.service} nav={[]}>
      <div className="narrow card stack">
        <PageTitle>{t.title}</PageTitle>
        <SignInForm {...props} />
      </div>
    </Shell>
  );
};

/** All ways in. */
const SignInForm = ({ api, onDone }: FormProps) => {
  const t = useTexts();
  const [domain, setDomain] = useState('');
  const [byScenario, setByScenario] = useState(false);
  const asked = useSettled(domain);
  const ways = useLoaded(
    (signal) => api.json<Ways>(`/rest/v1/iam/ways_in?domain=${encodeURIComponent(asked)}`, { signal }),
    [api, asked],
  ).data;
  const hasMore = ways !== undefined && (ways.external || ways.providers.length > 0);
  return (
    <div className="stack">
      {byScenario ? (
        <ExternalForm api={api} domain={domain} onDone={onDone} />
      ) : (
        <PasswordForm api={api} onDone={onDone} domain={domain} setDomain={setDomain} />
      )}
      {hasMore ? <p className="faint or">{t.or}</p> : null}
      {ways?.external ? (
        <button type="button" className="button quiet" onClick={() => setByScenario(!byScenario)}>
          <KeyRound aria-hidden /> {byScenario ? t.password : t.scenario}
        </button>
      ) : null}
      {ways?.providers.map(({ code, name }) => (
        <a key={code} className="button quiet" href={`/oauth/redirect/${encodeURIComponent(code)}`}>
          <LogIn aria-hidden /> {t.with(name)}
        </a>
      ))}
    </div>
  );
};

const SETTLE_MS = 400;

/** The value once it has stayed for a moment. */
const useSettled = (value: string): string => {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
};

type PasswordProps = FormProps & {
  readonly domain: string;
  readonly setDomain: (domain: string) => void;
  /** Given by a dialog, which is a form itself and calls this when it is sent. */
  readonly submit?: RefObject<() => void>;
};

export const PasswordForm = ({ api, onDone, domain, setDomain, submit }: PasswordProps) => {
  const t = useTexts();
  const [login, setLogin] = useState('');
  const [pwd, setPwd] = useState('');
  const [error, isBusy, run] = useRun();
  const signIn = (): void =>
    void run(async () => {
      const body = { ...(domain === '' ? {} : { domain }), login, pwd };
      setPwd('');
      await api.request('/rest/v1/iam/sessions', { method: 'POST', body });
      await onDone();
    });
  useEffect(() => {
    if (submit) submit.current = signIn;
  });
  const inputs = (
    <>
      {error ? <FaultText error={error} /> : null}
      <TextField
        label={t.login}
        value={login}
        onChange={setLogin}
        name="login"
        autoComplete="username"
        required
        autoFocus
      />
      <TextField
        label={t.pwd}
        value={pwd}
        onChange={setPwd}
        name="pwd"
        type="password"
        autoComplete="current-password"
        required
      />
      <TextField
        label={t.domain}
        hint={t.domainHint}
        value={domain}
        onChange={setDomain}
        name="domain"
        autoComplete="organization"
      />
      <button type="submit" className="button" disabled={isBusy}>
        {t.go}
      </button>
    </>
  );
  if (submit) return <div className="stack">{inputs}</div>;
  const send = (event: FormEvent): void => {
    event.preventDefault();
    signIn();
  };
  return (
    <form className="stack" onSubmit={send}>
      {inputs}
    </form>
  );
};
