/** The form a traced run waits for. */
import { useState } from 'react';
import { Field, SelectField, TextField } from '../../shared/form.tsx';
import { createTexts } from '../../shared/i18n.tsx';
import { isObject, type Json } from '../data/schema.ts';
import type { FormField, RunAnswer } from './trace.ts';

const useTexts = createTexts({
  en: { title: 'The script asks', send: 'Go on' },
  ru: { title: 'Сценарий спрашивает', send: 'Продолжить' },
});

type Props = {
  readonly form: NonNullable<RunAnswer['form']>;
  readonly isBusy: boolean;
  readonly onSend: (values: Json) => void;
};

const startOf = ({ value }: FormField): string => (value === undefined || value === null ? '' : String(value));

export const FormAnswer = ({ form, isBusy, onSend }: Props) => {
  const t = useTexts();
  const asked = form.fields.filter(({ type }) => type !== 'hidden');
  const [values, setValues] = useState<Readonly<Record<string, string>>>(() =>
    Object.fromEntries(asked.filter(({ type }) => type !== 'text').map((field) => [field.name, startOf(field)])),
  );
  return (
    <form
      className="key-item stack"
      onSubmit={(event) => {
        event.preventDefault();
        onSend(values);
      }}
    >
      <h3>
        {t.title} ({form.step})
      </h3>
      {asked.map((field) => (
        <Input
          key={field.name}
          field={field}
          value={values[field.name] ?? ''}
          onChange={(text) => setValues((before) => ({ ...before, [field.name]: text }))}
        />
      ))}
      <button type="submit" className="button" disabled={isBusy}>
        {t.send}
      </button>
    </form>
  );
};

const choiceOf = (option: unknown) => {
  const value = String(isObject(option) ? option.value : option);
  return { value, label: isObject(option) && option.title !== undefined ? String(option.title) : value };
};

const Input = ({ field, value, onChange }: { field: FormField; value: string; onChange: (text: string) => void }) => {
  const label = field.title ?? field.name;
  if (field.type === 'text') {
    return startOf(field) === '' ? null : (
      <Field label={label}>{({ id }) => <output id={id}>{startOf(field)}</output>}</Field>
    );
  }
  if (field.type === 'select') {
    const choices = [{ value: '', label: '' }, ...(field.options ?? []).map(choiceOf)];
    return <SelectField label={label} value={value} onChange={onChange} choices={choices} />;
  }
  return (
    <TextField
      label={label}
      value={value}
      onChange={onChange}
      type={field.type === 'password' ? 'password' : 'text'}
      autoComplete={field.type === 'password' ? 'new-password' : 'off'}
    />
  );
};
