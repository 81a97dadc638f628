/** The variables a script declares: name, type, where they come from, and the value they begin with. */
import { Plus, X } from 'lucide-react';
import { useState } from 'react';
import { createTexts } from '../../shared/i18n.tsx';
import type { Json } from '../data/schema.ts';
import { LOCATION, type Variable } from './declared.ts';

const useTexts = createTexts({
  en: {
    title: 'Variables',
    hint: 'Names that are not listed are made when they are written, and hold anything.',
    name: 'Name',
    type: 'Type',
    location: 'Place',
    start: 'Begins with (JSON or text)',
    add: 'Add a variable',
    remove: 'Remove',
    types: ['any', 'text', 'number', 'flag', 'object', 'list', 'instant'],
    locations: ['', 'local', 'input', 'output', 'kept over forms'],
  },
  ru: {
    title: 'Переменные',
    hint: 'Не перечисленные имена появляются при записи и хранят что угодно.',
    name: 'Имя',
    type: 'Тип',
    location: 'Место',
    start: 'Начальное значение (JSON или текст)',
    add: 'Добавить переменную',
    remove: 'Убрать',
    types: ['любой', 'текст', 'число', 'признак', 'объект', 'список', 'момент'],
    locations: ['', 'внутренняя', 'входная', 'выходная', 'между формами'],
  },
});

const toText = (value: unknown): string => {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
};

/** Texts stay texts where the variable is one. */
const toValue = (text: string, type: number): unknown => {
  if (text === '') return undefined;
  if (type === 1) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};

type Props = {
  readonly variables: readonly Variable[];
  /** `opts.variables`: what they begin with. */
  readonly defaults: Json;
  readonly fault: { readonly at: number; readonly text: string } | undefined;
  readonly mayWrite: boolean;
  readonly onChange: (variables: readonly Variable[], defaults: Json) => void;
};

export const VariablesPanel = ({ variables, defaults, fault, mayWrite, onChange }: Props) => {
  const t = useTexts();
  const change = (at: number, part: Partial<Variable>): void => {
    const before = variables[at]!;
    const { [before.name]: value, ...others } = defaults;
    const next = { ...before, ...part };
    const isKept = value === undefined || next.name === '';
    onChange(
      variables.map((one, index) => (index === at ? next : one)),
      isKept ? others : { ...others, [next.name]: value },
    );
  };
  const remove = (at: number): void => {
    const { [variables[at]!.name]: _gone, ...others } = defaults;
    onChange(
      variables.filter((_, index) => index !== at),
      others,
    );
  };
  return (
    <fieldset className="stack plain" disabled={!mayWrite}>
      <legend className="unseen">{t.title}</legend>
      <p className="hint">{t.hint}</p>
      {variables.map((variable, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a row is its place; all it holds is controlled.
        <div className="key-item stack" key={at}>
          <VariableRow
            at={at}
            variable={variable}
            value={defaults[variable.name]}
            onChange={(part) => change(at, part)}
            onRemove={() => remove(at)}
            onDefault={(value) => {
              const { [variable.name]: _before, ...others } = defaults;
              onChange(variables, value === undefined ? others : { ...others, [variable.name]: value });
            }}
          />
          {fault?.at === at ? (
            <p className="field-error" role="alert">
              {fault.text}
            </p>
          ) : null}
        </div>
      ))}
      <div>
        <button
          type="button"
          className="button quiet small"
          onClick={() => onChange([...variables, { name: '', type: 1, location: LOCATION.local }], defaults)}
        >
          <Plus aria-hidden /> {t.add}
        </button>
      </div>
    </fieldset>
  );
};

type RowProps = {
  readonly at: number;
  readonly variable: Variable;
  readonly value: unknown;
  readonly onChange: (part: Partial<Variable>) => void;
  readonly onDefault: (value: unknown) => void;
  readonly onRemove: () => void;
};

const VariableRow = ({ at, variable, value, onChange, onDefault, onRemove }: RowProps) => {
  const t = useTexts();
  const [text, setText] = useState(toText(value));
  const place = ` ${at + 1}`;
  return (
    <>
      <div className="name-row">
        <input
          aria-label={t.name + place}
          placeholder={t.name}
          className="mono"
          autoComplete="off"
          spellCheck={false}
          value={variable.name}
          onChange={(event) => onChange({ name: event.target.value })}
        />
        <button
          type="button"
          className="icon-button"
          aria-label={`${t.remove} ${variable.name || at + 1}`}
          onClick={onRemove}
        >
          <X aria-hidden />
        </button>
      </div>
      <div className="name-row">
        <select
          aria-label={t.type + place}
          value={variable.type}
          onChange={(event) => onChange({ type: Number(event.target.value) })}
        >
          {t.types.map((word, number) =>
            // What was saved without a type keeps it.
            number === 0 && variable.type !== 0 && variable.type !== undefined ? null : (
              <option key={word} value={number}>
                {word}
              </option>
            ),
          )}
        </select>
        <select
          aria-label={t.location + place}
          value={variable.location}
          onChange={(event) => onChange({ location: Number(event.target.value) })}
        >
          {t.locations.slice(1).map((word, index) => (
            <option key={word} value={index + 1}>
              {word}
            </option>
          ))}
        </select>
      </div>
      <input
        aria-label={t.start + place}
        placeholder={t.start}
        className="mono"
        autoComplete="off"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          onDefault(toValue(event.target.value, variable.type));
        }}
      />
    </>
  );
};
