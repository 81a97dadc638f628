/** Changing the own password. The present one is asked for always and needed where the platform says so. */
import { type FormEvent, useState } from 'react';
import { useNotify } from '../../shared/dialog.tsx';
import { TextField } from '../../shared/form.tsx';
import { createTexts } from '../../shared/i18n.tsx';
import { FaultText, fieldOf, useFaultText, useRun } from '../faults.tsx';
import { useConsole } from './console.tsx';

const useTexts = createTexts({
  en: {
    title: 'Password',
    old: 'Present password',
    pwd: 'New password',
    again: 'The new one once more',
    other: 'The two are not the same.',
    wrong: 'This is not the present password.',
    save: 'Change the password',
    saved: 'The password is changed.',
  },
  ru: {
    title: 'Пароль',
    old: 'Прежний пароль',
    pwd: 'Новый пароль',
    again: 'Новый ещё раз',
    other: 'Пароли не совпадают.',
    wrong: 'Это не прежний пароль.',
    save: 'Изменить пароль',
    saved: 'Пароль изменён.',
  },
});

const NOTHING = { old: '', pwd: '', again: '' };
type Values = typeof NOTHING;

export const OwnPassword = ({ login }: { login: string }) => {
  const t = useTexts();
  const { api } = useConsole();
  const notify = useNotify();
  const faultText = useFaultText();
  const [values, setValues] = useState<Values>(NOTHING);
  const [isOther, setOther] = useState(false);
  const [error, isBusy, run] = useRun();
  const field = error && fieldOf(error);
  const input = (name: keyof Values) => ({
    value: values[name],
    onChange: (value: string) => setValues((before) => ({ ...before, [name]: value })),
    type: 'password',
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setOther(values.pwd !== values.again);
    if (values.pwd !== values.again) return;
    void run(async () => {
      const body = { pwd: values.pwd, ...(values.old === '' ? {} : { pwd_old: values.old }) };
      await api.request('/rest/v1/iam/users/current', { method: 'PATCH', body });
      setValues(NOTHING);
      notify({ kind: 'good', text: t.saved });
    });
  };
  return (
    <form className="card stack" aria-label={t.title} onSubmit={submit}>
      <h2>{t.title}</h2>
      {/* For the browser's own store of passwords. */}
      <input type="text" value={login} autoComplete="username" readOnly hidden />
      <TextField
        {...input('old')}
        label={t.old}
        autoComplete="current-password"
        error={field === 'pwd_old' ? t.wrong : undefined}
      />
      <TextField
        {...input('pwd')}
        label={t.pwd}
        autoComplete="new-password"
        error={error && field === 'pwd' ? faultText(error) : undefined}
        required
      />
      <TextField
        {...input('again')}
        label={t.again}
        autoComplete="new-password"
        error={isOther ? t.other : undefined}
        required
      />
      {error && field !== 'pwd' && field !== 'pwd_old' ? <FaultText error={error} /> : null}
      <div className="row">
        <button type="submit" className="button" disabled={isBusy || values.pwd === ''}>
          {t.save}
        </button>
      </div>
    </form>
  );
};
