/** Names with something to each: expressions, variables that take the parts of an answer, inputs of a start. */
import { Plus, X } from 'lucide-react';
import { useState } from 'react';
import { Field } from '../../shared/form.tsx';
import { isObject } from '../data/schema.ts';
import type { KeyProps } from './key-props.ts';
import { useScriptTexts } from './texts.ts';

/** `more`: the expression, the variable, or `true` for an input that must come. */
type Row = { readonly name: string; readonly more: string };

const rowsOf = (value: unknown): Row[] => {
  if (isObject(value)) return Object.entries(value).map(([name, more]) => ({ name, more: String(more) }));
  return (Array.isArray(value) ? value : []).map((one: unknown) =>
    isObject(one)
      ? { name: String(one.name ?? ''), more: one.required === true ? 'true' : '' }
      : { name: String(one), more: '' },
  );
};

const toNamed = (rows: readonly Row[], isInputs: boolean): unknown => {
  const named = rows.filter(({ name }) => name !== '');
  if (isInputs) return named.map(({ name, more }) => (more === 'true' ? { name, required: true } : name));
  return named.length === 0 ? undefined : Object.fromEntries(named.map(({ name, more }) => [name, more]));
};

/** Rows may be unfinished, so they are held here; the value has those with a name. */
export const NameRows = ({ name, declared, value, onChange, error }: KeyProps & { error: string | undefined }) => {
  const t = useScriptTexts();
  const [rows, setRows] = useState<readonly Row[]>(() => rowsOf(value));
  const isInputs = declared.kind === 'inputs';
  const put = (next: readonly Row[]): void => {
    setRows(next);
    onChange(toNamed(next, isInputs));
  };
  const change = (at: number, part: Partial<Row>): void =>
    put(rows.map((row, index) => (index === at ? { ...row, ...part } : row)));
  return (
    <Field label={name} hint={declared.description} error={error} required={declared.required ?? false}>
      {({ id, 'aria-describedby': described }) => (
        // biome-ignore lint/a11y/useSemanticElements: the label of the field names it already.
        <div id={id} role="group" aria-label={name} aria-describedby={described} className="name-rows">
          {rows.map((row, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a row is its place; all it holds is controlled.
            <div className="name-row" key={at}>
              <NameInput
                label={`${t.name} ${at + 1}`}
                row={row}
                words={declared.words}
                onChange={(to) => change(at, { name: to })}
              />
              <MoreInput kind={declared.kind} at={at} row={row} onChange={(more) => change(at, { more })} />
              <button
                type="button"
                className="icon-button"
                aria-label={`${t.remove} ${row.name || at + 1}`}
                onClick={() => put(rows.filter((_, index) => index !== at))}
              >
                <X aria-hidden />
              </button>
            </div>
          ))}
          <button type="button" className="button quiet small" onClick={() => put([...rows, { name: '', more: '' }])}>
            <Plus aria-hidden /> {t.add}
          </button>
        </div>
      )}
    </Field>
  );
};

type NameProps = {
  readonly label: string;
  readonly row: Row;
  readonly words: readonly string[] | undefined;
  readonly onChange: (name: string) => void;
};

const NameInput = ({ label, row, words, onChange }: NameProps) =>
  words ? (
    <select aria-label={label} value={row.name} onChange={(event) => onChange(event.target.value)}>
      {['', ...words].map((word) => (
        <option key={word}>{word}</option>
      ))}
    </select>
  ) : (
    <input
      aria-label={label}
      className="mono"
      autoComplete="off"
      spellCheck={false}
      value={row.name}
      onChange={(event) => onChange(event.target.value)}
    />
  );

type MoreProps = {
  readonly kind: string;
  readonly at: number;
  readonly row: Row;
  readonly onChange: (more: string) => void;
};

const MoreInput = ({ kind, at, row, onChange }: MoreProps) => {
  const t = useScriptTexts();
  if (kind === 'inputs') {
    return (
      <label className="row small">
        <input
          type="checkbox"
          checked={row.more === 'true'}
          onChange={(event) => onChange(String(event.target.checked))}
        />
        {t.required}
      </label>
    );
  }
  return (
    <input
      aria-label={`${kind === 'variables' ? t.variable : t.expression} ${at + 1}`}
      className="mono"
      autoComplete="off"
      spellCheck={false}
      value={row.more}
      onChange={(event) => onChange(event.target.value)}
    />
  );
};
