/** The sign-in scenario of a domain (`iam/external`): its forms one after the other, until there is a session. */
import { type FormEvent, useEffect, useState } from 'react';
import type { Api } from '../../shared/api.ts';
import { SelectField, TextArea, TextField } from '../../shared/form.tsx';
import { createTexts } from '../../shared/i18n.tsx';
import { Loading } from '../../shared/parts.tsx';
import { FaultText, useRun } from '../faults.tsx';

const useTexts = createTexts({
  en: { next: 'Continue', again: 'Begin again', wrong: 'That did not do. Try again.' },
  ru: { next: 'Продолжить', again: 'Начать заново', wrong: 'Не подошло. Попробуйте ещё раз.' },
});

const PATH = '/rest/v1/iam/external';

type FormField = {
  readonly name: string;
  readonly type: 'hidden' | 'line' | 'password' | 'code' | 'select' | 'text';
  readonly title?: string;
  readonly value?: unknown;
  readonly options?: readonly unknown[];
};
type Answer = {
  readonly success?: boolean;
  readonly complete?: boolean;
  readonly fields?: readonly FormField[];
  readonly location?: string;
  readonly error_message?: string;
};

const initialOf = (fields: readonly FormField[]): Record<string, string> =>
  Object.fromEntries(
    fields.map(({ name, value }) => [name, value === undefined || value === null ? '' : String(value)]),
  );

type Props = { readonly api: Api; readonly domain: string; readonly onDone: () => Promise<void> };

export const ExternalForm = ({ api, domain, onDone }: Props) => {
  const t = useTexts();
  const [answer, setAnswer] = useState<Answer>();
  const [values, setValues] = useState<Record<string, string>>({});
  const [error, isBusy, run] = useRun();
  const take = async (next: Answer): Promise<void> => {
    setAnswer(next);
    setValues(initialOf(next.fields ?? []));
    if (next.complete && next.success) await onDone();
  };
  const begin = (): Promise<void> =>
    run(async () => take(await api.json<Answer>(`${PATH}?domain=${encodeURIComponent(domain)}`)));
  // biome-ignore lint/correctness/useExhaustiveDependencies: begun once, when it is shown.
  useEffect(() => void begin(), []);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void run(async () => take(await api.json<Answer>(PATH, { method: 'POST', body: values })));
  };
  if (!answer && !error) return <Loading />;
  const fields = answer?.fields?.filter(({ type }) => type !== 'hidden') ?? [];
  return (
    <form className="stack" onSubmit={submit}>
      {error ? <FaultText error={error} /> : null}
      {answer?.error_message ? <p className="fault">{answer.error_message}</p> : null}
      {answer?.success === false && !answer.complete ? <p className="fault">{t.wrong}</p> : null}
      {fields.map((field) => (
        <ScenarioField
          key={field.name}
          field={field}
          value={values[field.name] ?? ''}
          onChange={(value) => setValues({ ...values, [field.name]: value })}
        />
      ))}
      {fields.length > 0 ? (
        <button type="submit" className="button" disabled={isBusy}>
          {t.next}
        </button>
      ) : (
        <button type="button" className="button" disabled={isBusy} onClick={() => void begin()}>
          {t.again}
        </button>
      )}
    </form>
  );
};

type FieldProps = { readonly field: FormField; readonly value: string; readonly onChange: (value: string) => void };

const ScenarioField = ({ field, value, onChange }: FieldProps) => {
  const { name, type, title = name, options = [] } = field;
  if (type === 'text') return <TextArea label={title} value={value} onChange={onChange} rows={4} />;
  if (type === 'select') {
    return <SelectField label={title} value={value} onChange={onChange} choices={options.map(toChoice)} />;
  }
  return (
    <TextField
      label={title}
      name={name}
      value={value}
      onChange={onChange}
      type={type === 'password' ? 'password' : 'text'}
      {...(type === 'code' ? { inputMode: 'numeric', autoComplete: 'one-time-code' } : {})}
    />
  );
};

/** An option is a text, or an object with `value` and `title`. */
const toChoice = (option: unknown): { value: string; label: string } => {
  if (typeof option !== 'object' || option === null) return { value: String(option), label: String(option) };
  const { value, title, name } = option as Record<string, unknown>;
  return { value: String(value ?? name ?? ''), label: String(title ?? name ?? value ?? '') };
};
