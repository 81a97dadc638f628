/** Makes a temporary account of a database and shows its password, once. */
import { Copy } from 'lucide-react';
import { useState } from 'react';
import { Dialog, useNotify } from '../../shared/dialog.tsx';
import { SelectField, TextField } from '../../shared/form.tsx';
import { formatInstant } from '../../shared/format.ts';
import { createTexts, useLanguage } from '../../shared/i18n.tsx';
import { useConsole } from '../account/console.tsx';
import { detailsOf, FaultText, useRun } from '../faults.tsx';
import { FAMILIES, type NewDbAccount } from './db-account.ts';

const useTexts = createTexts({
  en: {
    title: 'New database account',
    made: 'The account is made',
    access: 'It may',
    accesses: { read: 'read', write: 'read and write' },
    ends: 'It ends',
    endings: { day: 'with the day', hours: 'after some hours', moment: 'at a moment' },
    hours: 'Hours',
    moment: 'Moment, in your time zone',
    create: 'Create',
    done: 'Done',
    once: 'The password is shown only now.',
    server: 'Server',
    database: 'Database',
    login: 'Login',
    pwd: 'Password',
    until: 'Until',
    copy: 'Copy the password',
    copied: 'Copied.',
    tooMuch: 'This domain may not have accounts that write.',
    nothing: 'This domain may not have such accounts.',
    reasons: {
      no_createrole: 'The login of the storage may not make accounts (CREATEROLE).',
      host_not_allowed: 'The installation does not allow accounts on this server.',
    } as Readonly<Record<string, string>>,
  },
  ru: {
    title: 'Новая учётная запись БД',
    made: 'Учётная запись создана',
    access: 'Ей можно',
    accesses: { read: 'читать', write: 'читать и писать' },
    ends: 'Она заканчивается',
    endings: { day: 'в конце дня', hours: 'через несколько часов', moment: 'в заданный момент' },
    hours: 'Часов',
    moment: 'Момент, в вашем часовом поясе',
    create: 'Создать',
    done: 'Готово',
    once: 'Пароль показывается только сейчас.',
    server: 'Сервер',
    database: 'База данных',
    login: 'Логин',
    pwd: 'Пароль',
    until: 'До',
    copy: 'Скопировать пароль',
    copied: 'Скопировано.',
    tooMuch: 'Этому домену нельзя создавать пишущие учётные записи.',
    nothing: 'Этому домену нельзя создавать такие учётные записи.',
    reasons: {
      no_createrole: 'Логин хранилища не может создавать учётные записи (CREATEROLE).',
      host_not_allowed: 'На этом сервере установка не разрешает учётных записей.',
    } as Readonly<Record<string, string>>,
  },
});

const SEC_PER_HOUR = 3600;
/** A week, the longest there is. */
const MAX_HOURS = 168;

type Ending = 'day' | 'hours' | 'moment';

type Props = { readonly database: string; readonly onMade: () => void; readonly onClose: () => void };

export const NewDbUser = ({ database, onMade, onClose }: Props) => {
  const [made, setMade] = useState<NewDbAccount>();
  if (made) return <Made account={made} onClose={onClose} />;
  return (
    <Form
      database={database}
      onClose={onClose}
      onMade={(account) => {
        setMade(account);
        onMade();
      }}
    />
  );
};

type FormProps = Omit<Props, 'onMade'> & { readonly onMade: (account: NewDbAccount) => void };

const Form = ({ database, onMade, onClose }: FormProps) => {
  const t = useTexts();
  const { api, may } = useConsole();
  const [byDay, byExpiration] = FAMILIES.map((family) => `${family}/${encodeURIComponent(database)}`) as [
    string,
    string,
  ];
  const offered: Ending[] = [
    ...(may('POST', byDay) ? (['day'] as const) : []),
    ...(may('POST', byExpiration) ? (['hours', 'moment'] as const) : []),
  ];
  const [access, setAccess] = useState('read');
  const [ending, setEnding] = useState<Ending>(offered[0] ?? 'day');
  const [hours, setHours] = useState('8');
  const [moment, setMoment] = useState('');
  const [error, isBusy, run] = useRun();
  const create = async (): Promise<void> => {
    const lifetimes = {
      day: () => ({}),
      hours: () => ({ ttl_sec: Math.round(Number(hours) * SEC_PER_HOUR) }),
      moment: () => ({ validuntil: new Date(moment).toISOString() }),
    };
    const body = { access, ...lifetimes[ending]() };
    onMade(await api.json<NewDbAccount>(ending === 'day' ? byDay : byExpiration, { method: 'POST', body }));
  };
  const choicesOf = <W extends string>(words: readonly W[], labels: Readonly<Record<W, string>>) =>
    words.map((value) => ({ value, label: labels[value] }));
  return (
    <Dialog
      title={t.title}
      onClose={onClose}
      onSubmit={() => void run(create)}
      actions={
        <button type="submit" className="button" disabled={isBusy}>
          {t.create}
        </button>
      }
    >
      {error ? <Refusal error={error} /> : null}
      <SelectField
        label={t.access}
        value={access}
        onChange={setAccess}
        choices={choicesOf(['read', 'write'] as const, t.accesses)}
      />
      <SelectField
        label={t.ends}
        value={ending}
        onChange={(value) => setEnding(value as Ending)}
        choices={choicesOf(offered, t.endings)}
      />
      {ending === 'hours' ? (
        <TextField label={t.hours} type="number" min={1} max={MAX_HOURS} value={hours} onChange={setHours} required />
      ) : null}
      {ending === 'moment' ? (
        <TextField label={t.moment} type="datetime-local" value={moment} onChange={setMoment} required />
      ) : null}
    </Dialog>
  );
};

const Refusal = ({ error }: { error: Error }) => {
  const t = useTexts();
  const { allowed, reason } = detailsOf(error);
  const told = { none: t.nothing, read: t.tooMuch }[String(allowed)] ?? t.reasons[String(reason)];
  return <FaultText error={told ? new Error(told) : error} />;
};

const Made = ({ account, onClose }: { account: NewDbAccount; onClose: () => void }) => {
  const t = useTexts();
  const { language } = useLanguage();
  const notify = useNotify();
  const lines: [label: string, value: string][] = [
    [t.server, `${account.host}:${account.port}`],
    [t.database, account.database],
    [t.login, account.login],
    [t.pwd, account.pwd],
    [t.access, t.accesses[account.access]],
    [t.until, formatInstant(account.validuntil, language)],
  ];
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(account.pwd);
    notify({ kind: 'good', text: t.copied });
  };
  return (
    <Dialog title={t.made} onClose={onClose}>
      <p className="warning-box">{t.once}</p>
      <dl className="facts-list">
        {lines.map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd className="mono">{value}</dd>
          </div>
        ))}
      </dl>
      <div className="row">
        {/* Browsers have it only where nobody listens in. */}
        {isSecureContext ? (
          <button type="button" className="button quiet" onClick={() => void copy()}>
            <Copy aria-hidden /> {t.copy}
          </button>
        ) : null}
        <button type="button" className="button" onClick={onClose}>
          {t.done}
        </button>
      </div>
    </Dialog>
  );
};
