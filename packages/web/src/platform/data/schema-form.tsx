/** The inputs of an item out of its schema: fields of its own first, then the members of each object under their heading. */
import type { ReactNode } from 'react';
import { CheckField, SelectField, TextArea, TextField } from '../../shared/form.tsx';
import { createTexts, useLanguage } from '../../shared/i18n.tsx';
import { editorFor } from './editors.tsx';
import { fieldName } from './fields-texts.ts';
import { type InputFault, keyOf, type Raw } from './form-values.ts';
import type { Leaf } from './schema.ts';
import { useValueTexts } from './value.tsx';

const useTexts = createTexts({
  en: {
    faults: { number: 'This is no number.', json: 'This is no JSON.', object: 'This must be a JSON object.' },
    opts: 'Options',
    ext: 'Additional keys',
    more: 'Further keys, as JSON',
    lines: 'One on each line.',
    secret: 'Empty leaves it as it is.',
    unset: 'not set',
  },
  ru: {
    faults: { number: 'Это не число.', json: 'Это не JSON.', object: 'Нужен объект JSON.' },
    opts: 'Параметры',
    ext: 'Дополнительные ключи',
    more: 'Другие ключи, как JSON',
    lines: 'По одному в строке.',
    secret: 'Пустое оставляет как есть.',
    unset: 'не задано',
  },
});

export type FormProps = {
  /** `iam/users`: some of its fields have editors of their own. */
  readonly collection: string;
  readonly leaves: readonly Leaf[];
  readonly raw: Raw;
  readonly onChange: (key: string, text: string) => void;
  readonly inputFaults: Readonly<Record<string, InputFault>>;
  /** The field a refusal names, and what is wrong with it. */
  readonly refused: { readonly key: string; readonly text: string } | undefined;
  readonly isNew: boolean;
};

const headOf = ({ path, isRest }: Leaf): string => {
  if (isRest) return path;
  return path.includes('.') ? path.slice(0, path.indexOf('.')) : '';
};

export const SchemaForm = (props: FormProps) => {
  const t = useTexts();
  const heads = [...new Set(props.leaves.map(headOf))].sort((a, b) => rankOf(a) - rankOf(b));
  const labels: Readonly<Record<string, string>> = { opts: t.opts, ext: t.ext };
  return heads.map((head) => {
    const leaves = props.leaves.filter((leaf) => headOf(leaf) === head);
    if (head === '') return <Inputs key={head} {...props} leaves={leaves} />;
    const isRefused = leaves.some((leaf) => keyOf(leaf) === props.refused?.key || props.inputFaults[keyOf(leaf)]);
    return (
      <details key={head} className="form-group" open={head !== 'ext' || isRefused}>
        <summary>{labels[head] ?? head}</summary>
        <Inputs {...props} leaves={leaves} />
      </details>
    );
  });
};

const rankOf = (head: string): number => (head === '' ? 0 : head === 'ext' ? 2 : 1);

const Inputs = (props: FormProps) => (
  <div className="form-grid">
    {props.leaves.map((leaf) => (
      <Input key={keyOf(leaf)} {...props} leaf={leaf} />
    ))}
  </div>
);

const Input = (props: FormProps & { readonly leaf: Leaf }) => {
  const { collection, leaf, raw, onChange, inputFaults, refused, isNew } = props;
  const t = useTexts();
  const { language } = useLanguage();
  const key = keyOf(leaf);
  const fault = inputFaults[key];
  const error = fault ? t.faults[fault] : refused?.key === key ? refused.text : undefined;
  const shared = {
    label: leaf.isRest ? t.more : fieldName(leaf.path, language),
    value: raw[key] ?? '',
    onChange: (text: string) => onChange(key, text),
    error,
    required: leaf.required && isNew,
  };
  const Editor = editorFor(collection, key);
  const isWide = Editor !== undefined || leaf.kind === 'json' || leaf.kind === 'text';
  return (
    <div className={isWide ? 'wide' : undefined} data-field={key}>
      {Editor ? <Editor {...shared} raw={raw} /> : <PlainInput {...shared} leaf={leaf} isNew={isNew} />}
    </div>
  );
};

/** What stands between backticks is code. */
const marked = (text: string): ReactNode =>
  text.split('`').map((part, at) => (at % 2 === 1 ? <code key={part}>{part}</code> : part));

type PlainProps = {
  readonly label: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
  readonly error: string | undefined;
  readonly required: boolean;
  readonly leaf: Leaf;
  readonly isNew: boolean;
};

const PlainInput = ({ leaf: { kind, schema, isRest }, isNew, ...shared }: PlainProps) => {
  const t = useTexts();
  const words = useValueTexts();
  const hint = isRest || schema.description === undefined ? undefined : marked(schema.description);
  const unset = { value: '', label: t.unset };
  switch (kind) {
    case 'flag':
      if (schema.default !== undefined) {
        const { value, onChange, label } = shared;
        return (
          <CheckField label={label} hint={hint} checked={value === 'true'} onChange={(is) => onChange(String(is))} />
        );
      }
      return (
        <SelectField
          {...shared}
          hint={hint}
          choices={[unset, { value: 'true', label: words.yes }, { value: 'false', label: words.no }]}
        />
      );
    case 'choice':
      return (
        <SelectField
          {...shared}
          hint={hint}
          choices={[unset, ...(schema.enum ?? []).map((one) => ({ value: String(one), label: String(one) }))]}
        />
      );
    case 'text':
      return <TextArea {...shared} hint={hint} rows={3} />;
    case 'json':
      return <TextArea {...shared} hint={hint} rows={5} code />;
    case 'list':
      return <TextArea {...shared} hint={hint ?? t.lines} rows={3} />;
    case 'number':
      return <TextField {...shared} hint={hint} inputMode="decimal" />;
    case 'secret':
      return <TextField {...shared} hint={isNew ? undefined : t.secret} type="password" autoComplete="new-password" />;
    default:
      return <TextField {...shared} hint={hint} />;
  }
};
