/** An input for each kind of key an element can have. A fault stands at the input whose path it names. */
import { Plus, Trash2 } from 'lucide-react';
import { useId, useState } from 'react';
import { Field, SelectField, TextArea, TextField } from '../../shared/form.tsx';
import { isObject, type Json } from '../data/schema.ts';
import type { Keys } from './declared.ts';
import type { Around, KeyProps } from './key-props.ts';
import { NameRows } from './name-rows.tsx';
import { useScriptTexts } from './texts.ts';

/** Text of a fault at this path, or at a part of it that has no input of its own. */
const faultAt = ({ around: { fault }, path }: KeyProps): string | undefined =>
  fault && (fault.key === path || fault.key.startsWith(`${path}.`)) ? fault.text : undefined;

const toText = (value: unknown): string => {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
};

/** JSON objects and lists become values, a number where one stood; everything else is text, which `{{…}}` begins too. */
const toTemplate = (text: string, before: unknown): unknown => {
  if (text === '') return undefined;
  const isStructure = /^\s*[[{]/.test(text) && !/^\s*\{\{/.test(text);
  if (!isStructure && typeof before === 'string') return text;
  if (!isStructure && typeof before !== 'number' && typeof before !== 'boolean') return text;
  try {
    const value: unknown = JSON.parse(text);
    return isStructure || typeof value === typeof before ? value : text;
  } catch {
    return text;
  }
};

const KeyInput = (props: KeyProps) => {
  switch (props.declared.kind) {
    case 'list':
      return <ListInput {...props} />;
    case 'expressions':
    case 'variables':
      return <NameRows {...props} error={faultAt(props)} />;
    case 'inputs':
      return <NameRows {...props} error={faultAt(props)} />;
    case 'template':
      return <TemplateInput {...props} />;
    default:
      return <PlainInput {...props} />;
  }
};

/** Holds what was typed, so that JSON is not laid out anew under the cursor. */
const TemplateInput = (props: KeyProps) => {
  const { name, declared, value, onChange } = props;
  const [text, setText] = useState(() => toText(value));
  const [original] = useState(value);
  return (
    <TextArea
      label={name}
      hint={declared.description}
      error={faultAt(props)}
      required={declared.required ?? false}
      code
      rows={text.includes('\n') || text.length > 60 ? 4 : 1}
      value={text}
      onChange={(next) => {
        setText(next);
        onChange(toTemplate(next, original));
      }}
    />
  );
};

const numberOf = (text: string): unknown => {
  if (text.trim() === '') return undefined;
  return Number.isFinite(Number(text)) ? Number(text) : text;
};

const PlainInput = (props: KeyProps) => {
  const { name, declared, value, onChange, around } = props;
  const t = useScriptTexts();
  const list = useId();
  const { kind, required = false, min, max, words = [] } = declared;
  const shared = { label: name, error: faultAt(props), required, hint: declared.description };
  const unset = { value: '', label: t.unset };
  const put = (text: string): void => onChange(text === '' ? undefined : text);
  switch (kind) {
    case 'transfer':
      return <TransferInput {...props} error={shared.error} />;
    case 'word':
      return (
        <SelectField
          {...shared}
          value={toText(value)}
          onChange={put}
          choices={[unset, ...words.map((word) => ({ value: word, label: word }))]}
        />
      );
    case 'flag':
      return (
        <SelectField
          {...shared}
          value={toText(value)}
          onChange={(text) => onChange(text === '' ? undefined : text === 'true')}
          choices={[unset, { value: 'true', label: t.yes }, { value: 'false', label: t.no }]}
        />
      );
    case 'number': {
      const range = min === undefined && max === undefined ? '' : `${min ?? 0} – ${max ?? ''}`;
      const hint = [declared.description ?? '', range].filter((part) => part !== '').join(', ');
      return (
        <TextField
          {...shared}
          hint={hint}
          inputMode="decimal"
          value={toText(value)}
          onChange={(text) => onChange(numberOf(text))}
        />
      );
    }
    case 'variable':
      return (
        <>
          <TextField {...shared} className="mono" list={list} value={toText(value)} onChange={put} />
          <datalist id={list}>
            {around.variables.map((variable) => (
              <option key={variable}>{variable}</option>
            ))}
          </datalist>
        </>
      );
    default:
      return (
        <TextArea
          {...shared}
          code={kind !== 'text'}
          rows={kind === 'source' ? 8 : 2}
          value={toText(value)}
          onChange={put}
        />
      );
  }
};

const TransferInput = ({
  name,
  declared,
  value,
  onChange,
  around,
  error,
}: KeyProps & { error: string | undefined }) => {
  const t = useScriptTexts();
  const targets = around.targets.map(({ oId, title }) => ({ value: String(oId), label: title }));
  const isKnown = typeof value !== 'number' || value === 0 || around.targets.some(({ oId }) => oId === value);
  return (
    <SelectField
      label={name}
      hint={declared.description}
      error={error}
      required={declared.required ?? false}
      value={toText(value)}
      onChange={(text) => onChange(text === '' ? undefined : Number(text))}
      choices={[
        { value: '', label: t.unset },
        { value: '0', label: t.nowhere },
        ...targets,
        ...(isKnown ? [] : [{ value: String(value), label: String(value) }]),
      ]}
    />
  );
};

/** The inputs of an object's, or of an item's, keys. */
export const KeyInputs = ({
  keys,
  object,
  prefix,
  onChange,
  around,
}: {
  keys: Keys;
  object: Json;
  prefix: string;
  onChange: (name: string, value: unknown) => void;
  around: Around;
}) =>
  Object.entries(keys).map(([name, declared]) => (
    <KeyInput
      key={name}
      name={name}
      path={prefix + name}
      declared={declared}
      value={object[name]}
      onChange={(value) => onChange(name, value)}
      around={around}
    />
  ));

/** A copy with the key, or without it. */
export const withKey = <T extends Json>(object: T, name: string, value: unknown): T => {
  const { [name]: _before, ...rest } = object;
  return (value === undefined ? rest : { ...object, [name]: value }) as T;
};

const ListInput = (props: KeyProps) => {
  const { name, path, declared, value, onChange, around } = props;
  const t = useScriptTexts();
  // Inputs hold what was typed: after an item is gone they must begin anew.
  const [turn, setTurn] = useState(0);
  const items = (Array.isArray(value) ? value : []).map((item): Json => (isObject(item) ? item : {}));
  const remove = (at: number): void => {
    setTurn(turn + 1);
    onChange(items.filter((_, index) => index !== at));
  };
  return (
    <Field label={name} hint={declared.description} error={faultAt(props)} required={declared.required ?? false}>
      {({ id, 'aria-describedby': described }) => (
        // biome-ignore lint/a11y/useSemanticElements: the label of the field names it already.
        <div id={id} role="group" aria-label={name} aria-describedby={described} className="stack key-list">
          {items.map((item, at) => (
            <fieldset key={`${turn} ${String(at)}`} className="key-item">
              <legend className="small faint">
                {name} {at + 1}
              </legend>
              <KeyInputs
                keys={declared.items ?? {}}
                object={item}
                prefix={`${path}[${at}].`}
                around={around}
                onChange={(key, next) =>
                  onChange(items.map((one, index) => (index === at ? withKey(one, key, next) : one)))
                }
              />
              <button type="button" className="button quiet small" onClick={() => remove(at)}>
                <Trash2 aria-hidden /> {t.remove} {at + 1}
              </button>
            </fieldset>
          ))}
          <button type="button" className="button quiet small" onClick={() => onChange([...items, {}])}>
            <Plus aria-hidden /> {t.add}
          </button>
        </div>
      )}
    </Field>
  );
};
