/** The properties a class defines itself, and those it has from its parents. */
import { ArrowUp, CornerDownRight, Plus, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { CheckField, SelectField, TextArea, TextField } from '../../shared/form.tsx';
import { createTexts } from '../../shared/i18n.tsx';
import { Badge } from '../../shared/parts.tsx';
import { type Column, Table } from '../../shared/table.tsx';
import { DATA_TYPES, type Inherited, type Property } from './class-model.ts';

const useTexts = createTexts({
  en: {
    own: 'Properties',
    none: 'The class defines none itself.',
    inherited: 'Inherited',
    from: 'From',
    replaced: 'replaced here',
    replace: 'Replace here',
    name: 'Name',
    type: 'Type',
    caption: 'Caption',
    required: 'required',
    multi: 'several values',
    secret: 'secret',
    start: 'Default (JSON or text)',
    items: 'Words, one on each line',
    add: 'Add a property',
    remove: 'Remove',
    up: 'Move up',
    flags: 'Rules',
  },
  ru: {
    own: 'Свойства',
    none: 'Своих свойств у класса нет.',
    inherited: 'Унаследовано',
    from: 'Откуда',
    replaced: 'заменено здесь',
    replace: 'Заменить здесь',
    name: 'Имя',
    type: 'Тип',
    caption: 'Подпись',
    required: 'обязательное',
    multi: 'несколько значений',
    secret: 'секретное',
    start: 'По умолчанию (JSON или текст)',
    items: 'Слова, по одному в строке',
    add: 'Добавить свойство',
    remove: 'Убрать',
    up: 'Выше',
    flags: 'Правила',
  },
});

type Fault = { readonly name: string; readonly text: string };

type Props = {
  readonly properties: readonly Property[];
  readonly inherited: readonly Inherited[];
  readonly fault: Fault | undefined;
  readonly mayWrite: boolean;
  readonly onChange: (properties: readonly Property[]) => void;
};

export const PropertyList = ({ properties, inherited, fault, mayWrite, onChange }: Props) => {
  const t = useTexts();
  // Inputs hold what was typed: after properties moved they must begin anew.
  const [turn, setTurn] = useState(0);
  const renew = (next: readonly Property[]): void => {
    setTurn(turn + 1);
    onChange(next);
  };
  const swap = (at: number): Property[] =>
    properties.map((one, index) => (index === at ? properties[at - 1]! : index === at - 1 ? properties[at]! : one));
  return (
    <fieldset className="stack plain" disabled={!mayWrite}>
      <legend className="class-heading">{t.own}</legend>
      {properties.length === 0 ? <p className="faint">{t.none}</p> : null}
      {properties.map((property, at) => (
        <PropertyCard
          key={`${turn} ${String(at)}`}
          at={at}
          property={property}
          fault={fault && fault.name === property.name ? fault.text : undefined}
          onChange={(next) => onChange(properties.map((one, index) => (index === at ? next : one)))}
          onRemove={() => renew(properties.filter((_, index) => index !== at))}
          onUp={at === 0 ? undefined : () => renew(swap(at))}
        />
      ))}
      <div>
        <button
          type="button"
          className="button quiet"
          onClick={() => onChange([...properties, { name: '', data_type: 'string' }])}
        >
          <Plus aria-hidden /> {t.add}
        </button>
      </div>
      {inherited.length === 0 ? null : (
        <InheritedTable
          inherited={inherited}
          own={new Set(properties.map(({ name }) => name))}
          onReplace={(property) => renew([...properties, property])}
        />
      )}
    </fieldset>
  );
};

const toText = (value: unknown): string => {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
};

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};

/** A text is one where the property is one, whatever it looks like. */
const defaultOf = (text: string, { data_type: type, multi }: Property): unknown => {
  if (text === '') return undefined;
  return ['string', 'enum', 'uuid', 'long'].includes(type) && !multi ? text : parsed(text);
};

const itemsOf = (text: string): unknown[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => (line.startsWith('{') ? parsed(line) : line));

const without = (property: Property, name: string): Property => {
  const { [name]: _gone, ...rest } = property;
  return rest as Property;
};

type CardProps = {
  readonly at: number;
  readonly property: Property;
  readonly fault: string | undefined;
  readonly onChange: (property: Property) => void;
  readonly onRemove: () => void;
  readonly onUp: (() => void) | undefined;
};

const PropertyCard = ({ at, property, fault, onChange, onRemove, onUp }: CardProps) => {
  const t = useTexts();
  const set = (name: string, value: unknown): void =>
    onChange(
      value === undefined || value === '' || value === false ? without(property, name) : { ...property, [name]: value },
    );
  const { data_type: type } = property;
  const known: readonly string[] = DATA_TYPES;
  const types = known.includes(type) ? known : [...known, type];
  return (
    // biome-ignore lint/a11y/useSemanticElements: a card within the fieldset, named by its place.
    <div className="key-item" role="group" aria-label={property.name || `${t.name} ${at + 1}`}>
      <div className="property-grid">
        <TextField
          label={t.name}
          required
          className="mono"
          value={property.name}
          error={fault}
          onChange={(name) => onChange({ ...property, name })}
        />
        <SelectField
          label={t.type}
          value={type}
          choices={types.map((word) => ({ value: word, label: word }))}
          onChange={(word) => onChange({ ...property, data_type: word })}
        />
        <TextField label={t.caption} value={property.caption ?? ''} onChange={(text) => set('caption', text)} />
        {type === 'attachment' ? null : (
          <DefaultInput property={property} onChange={(value) => set('default', value)} />
        )}
        {type === 'enum' ? <ItemsInput property={property} onChange={(items) => set('items', items)} /> : null}
      </div>
      <div className="row between">
        <div className="row">
          <CheckField label={t.required} checked={property.required ?? false} onChange={(is) => set('required', is)} />
          {type === 'attachment' ? null : (
            <CheckField label={t.multi} checked={property.multi ?? false} onChange={(is) => set('multi', is)} />
          )}
          {type === 'string' ? (
            <CheckField label={t.secret} checked={property.secret ?? false} onChange={(is) => set('secret', is)} />
          ) : null}
        </div>
        <div className="row">
          {onUp ? (
            <button type="button" className="icon-button" aria-label={`${t.up}: ${property.name}`} onClick={onUp}>
              <ArrowUp aria-hidden />
            </button>
          ) : null}
          <button type="button" className="icon-button" aria-label={`${t.remove}: ${property.name}`} onClick={onRemove}>
            <Trash2 aria-hidden />
          </button>
        </div>
      </div>
    </div>
  );
};

type InputProps = { readonly property: Property; readonly onChange: (value: unknown) => void };

const DefaultInput = ({ property, onChange }: InputProps) => {
  const t = useTexts();
  const [text, setText] = useState(toText(property.default));
  const change = (next: string): void => {
    setText(next);
    onChange(defaultOf(next, property));
  };
  return <TextField label={t.start} className="mono" value={text} onChange={change} />;
};

const ItemsInput = ({ property, onChange }: InputProps) => {
  const t = useTexts();
  const [text, setText] = useState((property.items ?? []).map(toText).join('\n'));
  const change = (next: string): void => {
    setText(next);
    onChange(itemsOf(next));
  };
  return <TextArea label={t.items} rows={3} code value={text} onChange={change} />;
};

type InheritedProps = {
  readonly inherited: readonly Inherited[];
  readonly own: ReadonlySet<string>;
  readonly onReplace: (property: Property) => void;
};

const InheritedTable = ({ inherited, own, onReplace }: InheritedProps) => {
  const t = useTexts();
  const columns: Column<Inherited>[] = [
    { key: 'name', label: t.name, render: ({ property }) => <span className="mono">{property.name}</span> },
    { key: 'type', label: t.type, render: ({ property }) => property.data_type },
    {
      key: 'flags',
      label: t.flags,
      render: ({ property: { required, multi, secret } }) =>
        [required ? t.required : '', multi ? t.multi : '', secret ? t.secret : '']
          .filter((one) => one !== '')
          .join(', '),
    },
    { key: 'from', label: t.from, render: ({ from }) => <span className="mono">{from.classname}</span> },
    {
      key: 'act',
      label: t.replace,
      bare: true,
      render: ({ property }) =>
        own.has(property.name) ? (
          <Badge>{t.replaced}</Badge>
        ) : (
          <button
            type="button"
            className="button quiet small"
            aria-label={`${t.replace}: ${property.name}`}
            onClick={() => onReplace(property)}
          >
            <CornerDownRight aria-hidden /> {t.replace}
          </button>
        ),
    },
  ];
  return (
    <>
      <h2>{t.inherited}</h2>
      <Table label={t.inherited} columns={columns} rows={inherited} keyOf={({ property }) => property.name} stacks />
    </>
  );
};
