/** The routes of a role: a line for each rule, and a check of what they allow as they stand. */
import { Plus, Trash2 } from 'lucide-react';
import { useId } from 'react';
import { createTexts } from '../../shared/i18n.tsx';
import { useConsole } from '../account/console.tsx';
import type { EditorProps } from '../data/editor-props.ts';
import { isObject } from '../data/schema.ts';
import { RequestCheck } from './request-check.tsx';
import { METHODS, type RouteRule } from './rules.ts';

const useTexts = createTexts({
  en: {
    method: (at: number) => `Methods of route ${at}`,
    url: (at: number) => `Path of route ${at}`,
    remove: (at: number) => `Remove route ${at}`,
    add: 'Add a route',
    none: 'No routes: this role allows nothing by itself.',
    hint: 'A path may end in * for any rest; * between slashes is any one part; * alone is everything.',
    check: 'Would these routes allow it?',
  },
  ru: {
    method: (at: number) => `Методы маршрута ${at}`,
    url: (at: number) => `Путь маршрута ${at}`,
    remove: (at: number) => `Убрать маршрут ${at}`,
    add: 'Добавить маршрут',
    none: 'Маршрутов нет: сама по себе роль ничего не разрешает.',
    hint: 'Путь может кончаться на * — любое продолжение; * между косыми — любая одна часть; одна * — всё.',
    check: 'Разрешат ли это такие маршруты?',
  },
});

const readRules = (text: string): RouteRule[] => {
  try {
    const parsed: unknown = JSON.parse(text === '' ? '[]' : text);
    if (!Array.isArray(parsed)) return [];
    return parsed.filter(isObject).map((rule) => ({
      ...rule,
      methods: Array.isArray(rule.methods) ? rule.methods.map(String) : [],
      url: String(rule.url ?? ''),
    }));
  } catch {
    return [];
  }
};

export const RouteEditor = ({ label, value, onChange, error }: EditorProps) => {
  const t = useTexts();
  const id = useId();
  const { requests } = useConsole();
  const rules = readRules(value);
  const write = (next: readonly RouteRule[]): void => onChange(JSON.stringify(next, null, 2));
  const change = (at: number, part: Partial<RouteRule>): void =>
    write(rules.map((rule, index) => (index === at ? { ...rule, ...part } : rule)));
  return (
    <fieldset className="routes">
      <legend>{label}</legend>
      {rules.length === 0 ? <p className="hint">{t.none}</p> : null}
      {rules.map((rule, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a rule is its place in the list; there is no other name for it.
        <div key={at} className="route">
          <Methods label={t.method(at + 1)} chosen={rule.methods} onChange={(methods) => change(at, { methods })} />
          <input
            aria-label={t.url(at + 1)}
            list={`${id}-paths`}
            className="mono"
            spellCheck={false}
            value={rule.url}
            onChange={(event) => change(at, { url: event.target.value })}
          />
          <button
            type="button"
            className="icon-button"
            aria-label={t.remove(at + 1)}
            onClick={() => write(rules.filter((_, index) => index !== at))}
          >
            <Trash2 aria-hidden />
          </button>
        </div>
      ))}
      <datalist id={`${id}-paths`}>
        {requests.map((path) => (
          <option key={path} value={path.replaceAll(/\{[^}]+\}/g, '*')} />
        ))}
      </datalist>
      {error ? <div className="field-error">{error}</div> : null}
      <div className="row between">
        <button
          type="button"
          className="button quiet small"
          onClick={() => write([...rules, { methods: ['GET'], url: '/rest/v1/' }])}
        >
          <Plus aria-hidden /> {t.add}
        </button>
      </div>
      <p className="hint">{t.hint}</p>
      <RequestCheck title={t.check} rules={rules} />
    </fieldset>
  );
};

type MethodsProps = {
  readonly label: string;
  readonly chosen: readonly string[];
  readonly onChange: (methods: string[]) => void;
};

/** `*` stands for all of them; further methods a rule names stay. */
const Methods = ({ label, chosen, onChange }: MethodsProps) => {
  const toggle = (method: string): void => {
    if (chosen.includes(method)) onChange(chosen.filter((one) => one !== method));
    else onChange(method === '*' ? ['*'] : [...chosen.filter((one) => one !== '*'), method]);
  };
  const offered = [...new Set([...METHODS, ...chosen])];
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset of its own would be a frame within the frame.
    <div role="group" aria-label={label} className="row chips">
      {offered.map((method) => (
        <label key={method} className="chip">
          <input type="checkbox" checked={chosen.includes(method)} onChange={() => toggle(method)} />{' '}
          <span className="mono">{method}</span>
        </label>
      ))}
    </div>
  );
};
