/** The page of an invitation: its link opens it, and a password is chosen here. Faults stand at their fields. */
import { type FormEvent, useState } from 'react';
import { ApiError, createApi } from '../../shared/api.ts';
import { TextField } from '../../shared/form.tsx';
import { createTexts, useLanguage } from '../../shared/i18n.tsx';
import { PageTitle, Shell } from '../../shared/layout.tsx';
import { detailsOf, FaultText, useRun } from '../faults.tsx';

const useTexts = createTexts({
  en: {
    service: 'Platform',
    title: 'Choose your password',
    pwd: 'Password',
    hint: 'At least 8 characters: letters, digits and _ - . ~ !',
    again: 'The same once more',
    other: 'The two are not the same.',
    more: 'Change login or name',
    login: 'Login',
    loginHint: 'Leave it empty to keep the login you have.',
    name: 'Name',
    go: 'Set password',
    done: (login: string, domain: string) => `Your password is set. Your login is ${login}, in ${domain}.`,
    over: 'Ask for a new one.',
    signIn: 'Sign in',
  },
  ru: {
    service: 'Платформа',
    title: 'Выберите пароль',
    pwd: 'Пароль',
    hint: 'Не меньше 8 знаков: латинские буквы, цифры и _ - . ~ !',
    again: 'Ещё раз',
    other: 'Пароли не совпадают.',
    more: 'Изменить логин или имя',
    login: 'Логин',
    loginHint: 'Оставьте пустым, чтобы сохранить прежний.',
    name: 'Имя',
    go: 'Задать пароль',
    done: (login: string, domain: string) => `Пароль задан. Ваш логин ${login}, домен ${domain}.`,
    over: 'Попросите новое.',
    signIn: 'Войти',
  },
});

/** What is wrong, by `msg_code`, in Russian; English comes from the platform. */
const FAULTS_RU: Readonly<Record<number, string>> = {
  10001: 'Такого приглашения нет, или оно уже использовано.',
  10002: 'Срок приглашения истёк.',
  10101: 'Такой логин не подходит.',
  10102: 'Такой логин занят.',
  10201: 'Такое имя не подходит.',
  15101: 'Допустимы только латинские буквы, цифры и _ - . ~ !',
  15102: 'Пароль слишком короткий.',
  15103: 'Пароль слишком длинный.',
  15104: 'Этот пароль легко угадать.',
  15105: 'Это прежний пароль.',
};

/** `error_code` after which the link is good for nothing. */
const OVER: ReadonlySet<string> = new Set(['1451', '1452']);

type Accepted = { readonly user: { readonly login: string; readonly domain: string } };
type Field = 'pwd' | 'again' | 'login' | 'name';
type Ended = { readonly text: string; readonly isGood: boolean };

export const InvitePage = ({ id }: { id: string }) => {
  const t = useTexts();
  const [ended, setEnded] = useState<Ended>();
  return (
    <Shell service={t.service} nav={[]}>
      <div className="narrow card stack">
        <PageTitle>{t.title}</PageTitle>
        {ended ? (
          <>
            <p className={ended.isGood ? 'verdict good' : 'fault'} role="status">
              {ended.text}
            </p>
            {ended.isGood ? (
              <a className="button" href="/app-root">
                {t.signIn}
              </a>
            ) : null}
          </>
        ) : (
          <PasswordForm id={id} onEnd={setEnded} />
        )}
      </div>
    </Shell>
  );
};

const PasswordForm = ({ id, onEnd }: { id: string; onEnd: (ended: Ended) => void }) => {
  const t = useTexts();
  const { language } = useLanguage();
  const [values, setValues] = useState<Record<Field, string>>({ pwd: '', again: '', login: '', name: '' });
  const [isOther, setOther] = useState(false);
  const [error, isBusy, run] = useRun();
  const details = error ? detailsOf(error) : {};
  const told = (language === 'ru' && FAULTS_RU[Number(details.msg_code)]) || `${details.msg ?? error?.message}.`;
  const faultAt = (field: Field): string | undefined => (error && details.field === field ? told : undefined);
  const input = (field: Field) => ({
    name: field,
    value: values[field],
    onChange: (value: string) => setValues({ ...values, [field]: value }),
  });
  const send = async (): Promise<void> => {
    const { pwd, login, name } = values;
    const api = createApi({ credential: () => ({}), onUnauthorized: async () => false });
    const body = { pwd, ...(login ? { login } : {}), ...(name ? { name } : {}) };
    try {
      const { user } = await api.json<Accepted>(`/rest/v1/iam/invites/${encodeURIComponent(id)}`, {
        method: 'PATCH',
        body,
      });
      onEnd({ isGood: true, text: t.done(user.login, user.domain) });
    } catch (thrown) {
      if (!(thrown instanceof ApiError) || !OVER.has(thrown.code)) throw thrown;
      const russian = language === 'ru' ? FAULTS_RU[Number(detailsOf(thrown).msg_code)] : undefined;
      onEnd({ isGood: false, text: `${russian ?? `${thrown.message}.`} ${t.over}` });
    }
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setOther(values.pwd !== values.again);
    if (values.pwd === values.again) void run(send);
  };
  const isShown = ['pwd', 'login', 'name'].includes(String(details.field));
  return (
    <form className="stack" onSubmit={submit}>
      {error && !isShown ? <FaultText error={error} /> : null}
      <TextField
        {...input('pwd')}
        label={t.pwd}
        hint={t.hint}
        error={faultAt('pwd')}
        type="password"
        autoComplete="new-password"
        required
      />
      <TextField
        {...input('again')}
        label={t.again}
        error={isOther ? t.other : undefined}
        type="password"
        autoComplete="new-password"
        required
      />
      <details className="form-group" {...(faultAt('login') || faultAt('name') ? { open: true } : {})}>
        <summary>{t.more}</summary>
        <div className="stack">
          <TextField
            {...input('login')}
            label={t.login}
            hint={t.loginHint}
            error={faultAt('login')}
            autoComplete="username"
          />
          <TextField {...input('name')} label={t.name} error={faultAt('name')} autoComplete="name" />
        </div>
      </details>
      <button type="submit" className="button" disabled={isBusy}>
        {t.go}
      </button>
    </form>
  );
};
