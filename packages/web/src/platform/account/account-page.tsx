/** Oneself: picture, name, password, additional fields, what one belongs to, and where one is signed in. */
import { type FormEvent, useState } from 'react';
import { useNotify } from '../../shared/dialog.tsx';
import { TextArea, TextField } from '../../shared/form.tsx';
import { useLoaded } from '../../shared/hooks.ts';
import { createTexts } from '../../shared/i18n.tsx';
import { PageTitle } from '../../shared/layout.tsx';
import { Badge, Loading } from '../../shared/parts.tsx';
import { isObject, type Json } from '../data/schema.ts';
import { FaultText, useRun } from '../faults.tsx';
import './account.css';
import { useConsole } from './console.tsx';
import { OwnPassword } from './own-password.tsx';
import { type Avatar, OwnPicture } from './own-picture.tsx';
import { SessionList } from './sessions-page.tsx';

const useTexts = createTexts({
  en: {
    title: 'My account',
    name: 'Name',
    save: 'Save',
    saved: 'Saved.',
    login: 'Login',
    domain: 'Domain',
    email: 'E-mail',
    roles: 'Roles',
    groups: 'Groups',
    phones: 'Telephone numbers',
    none: 'none',
    fields: 'Additional fields',
    json: 'As a JSON object; what applications keep for me.',
    notObject: 'This must be a JSON object.',
    sessions: 'Where I am signed in',
  },
  ru: {
    title: 'Моя учётная запись',
    name: 'Имя',
    save: 'Сохранить',
    saved: 'Сохранено.',
    login: 'Логин',
    domain: 'Домен',
    email: 'Почта',
    roles: 'Роли',
    groups: 'Группы',
    phones: 'Телефонные номера',
    none: 'нет',
    fields: 'Дополнительные поля',
    json: 'Объект JSON: то, что приложения хранят обо мне.',
    notObject: 'Нужен объект JSON.',
    sessions: 'Где я в системе',
  },
});

const INFO = '/rest/v1/user/info';
const EXT = '/rest/v1/user/ext';

type Info = {
  readonly domain: string;
  readonly login: string;
  readonly name: string;
  readonly email: string;
  readonly avatar: Avatar | false;
  readonly groups: readonly { readonly id: string; readonly code: string; readonly opts: { readonly title: string } }[];
  readonly roles: readonly string[];
  readonly sip_accounts: readonly { readonly id: string; readonly phonenumber: string; readonly login: string }[];
};

export const AccountPage = () => {
  const t = useTexts();
  const { api } = useConsole();
  const info = useLoaded((signal) => api.json<Info>(INFO, { signal }), [api]);
  const ext = useLoaded((signal) => api.json<Json>(EXT, { signal }), [api]);
  const error = info.error ?? ext.error;
  const reload = (): void => {
    info.reload();
    ext.reload();
  };
  return (
    <>
      <PageTitle>{t.title}</PageTitle>
      {error ? <FaultText error={error} /> : null}
      {info.data && ext.data ? (
        <div className="stack">
          <div className="account-cards">
            <section className="card stack" aria-label={t.title}>
              <OwnPicture avatar={info.data.avatar} onChanged={info.reload} />
              <Facts {...info.data} />
              <NameForm key={info.data.name} name={info.data.name} onSaved={info.reload} />
            </section>
            <OwnPassword login={info.data.login} />
            <ExtForm key={JSON.stringify(ext.data)} ext={ext.data} onSaved={reload} />
          </div>
          <h2>{t.sessions}</h2>
          <SessionList user={undefined} />
        </div>
      ) : error ? null : (
        <Loading />
      )}
    </>
  );
};

const Facts = ({ login, domain, email, roles, groups, sip_accounts }: Info) => {
  const t = useTexts();
  const badges = (words: readonly string[]) =>
    words.length === 0 ? (
      <span className="faint">{t.none}</span>
    ) : (
      words.map((word) => <Badge key={word}>{word}</Badge>)
    );
  return (
    <dl className="facts-list">
      <dt>{t.login}</dt>
      <dd>{login}</dd>
      <dt>{t.domain}</dt>
      <dd>{domain}</dd>
      <dt>{t.email}</dt>
      <dd>{email || <span className="faint">{t.none}</span>}</dd>
      <dt>{t.roles}</dt>
      <dd className="row">{badges(roles)}</dd>
      <dt>{t.groups}</dt>
      <dd className="row">{badges(groups.map(({ code, opts }) => opts.title || code))}</dd>
      {sip_accounts.length === 0 ? null : (
        <>
          <dt>{t.phones}</dt>
          <dd className="row">{badges(sip_accounts.map(({ phonenumber, login: sip }) => phonenumber || sip))}</dd>
        </>
      )}
    </dl>
  );
};

const NameForm = ({ name: present, onSaved }: { name: string; onSaved: () => void }) => {
  const t = useTexts();
  const { api } = useConsole();
  const notify = useNotify();
  const [name, setName] = useState(present);
  const [error, isBusy, run] = useRun();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void run(async () => {
      await api.request(INFO, { method: 'PATCH', body: { name } });
      notify({ kind: 'good', text: t.saved });
      onSaved();
    });
  };
  return (
    <form className="stack" onSubmit={submit}>
      <TextField label={t.name} value={name} onChange={setName} autoComplete="name" required />
      {error ? <FaultText error={error} /> : null}
      <div className="row">
        <button type="submit" className="button" disabled={isBusy || name === present}>
          {t.save}
        </button>
      </div>
    </form>
  );
};

const ExtForm = ({ ext, onSaved }: { ext: Json; onSaved: () => void }) => {
  const t = useTexts();
  const { api } = useConsole();
  const notify = useNotify();
  const present = JSON.stringify(ext, null, 2);
  const [text, setText] = useState(present);
  const [isWrong, setWrong] = useState(false);
  const [error, isBusy, run] = useRun();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const body = parseObject(text);
    setWrong(body === undefined);
    if (body === undefined) return;
    void run(async () => {
      await api.request(EXT, { method: 'PUT', body });
      notify({ kind: 'good', text: t.saved });
      onSaved();
    });
  };
  return (
    <form className="card stack" aria-label={t.fields} onSubmit={submit}>
      <TextArea
        label={t.fields}
        hint={t.json}
        error={isWrong ? t.notObject : undefined}
        rows={8}
        code
        value={text}
        onChange={setText}
      />
      {error ? <FaultText error={error} /> : null}
      <div className="row">
        <button type="submit" className="button" disabled={isBusy || text === present}>
          {t.save}
        </button>
      </div>
    </form>
  );
};

const parseObject = (text: string): Json | undefined => {
  try {
    const value: unknown = JSON.parse(text.trim() || '{}');
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
};
