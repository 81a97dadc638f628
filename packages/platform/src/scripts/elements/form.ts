/**
 * 150: asks for fields and ends the answer; the run goes on at `transfer` when the step is posted. A field with `from`
 * takes what was entered at an earlier step, from the server's own memory of it.
 */
import { isObject, type Json } from '../../rest/json.ts';
import type { Element, ElementContext, FormField, Key } from '../element.ts';
import { ScriptFault } from '../fault.ts';

const FIELD_TYPES = ['hidden', 'line', 'password', 'code', 'select', 'text'] as const;
/** Fields of the form itself. */
const RESERVED: ReadonlySet<unknown> = new Set(['step', 'ctx']);
const MAX_FIELDS = 100;
const MAX_NAME = 64;

const FIELD_KEYS: Readonly<Record<string, Key>> = {
  name: { kind: 'text', required: true },
  title: { kind: 'template' },
  type: { kind: 'word', words: FIELD_TYPES, required: true },
  value: { kind: 'template' },
  from: { kind: 'template', description: '{"step": n}: what was entered there under this name' },
  options: { kind: 'template', description: 'What a select offers: a list of {value, title} or of texts.' },
};

const isStep = (value: unknown): value is string | number =>
  (typeof value === 'string' && value !== '') || typeof value === 'number';

/** What is wrong with a field; undefined when nothing is. */
const faultOf = ({ name, from }: Json): string | undefined => {
  if (RESERVED.has(name)) return `${String(name)} is a field of every form`;
  if (typeof name !== 'string' || name.length > MAX_NAME) return `a name has at most ${MAX_NAME} characters`;
  if (from !== undefined && !(isObject(from) && isStep(from.step))) return 'from must be {"step": n}';
  return undefined;
};

export const form: Element = {
  oType: 150,
  name: 'form',
  keys: {
    step: { kind: 'template', required: true },
    fields: { kind: 'list', required: true, items: FIELD_KEYS, maxItems: MAX_FIELDS },
    next_step: { kind: 'template' },
    transfer: { kind: 'transfer', required: true },
  },
  check: ({ step, fields }) => {
    if (!isStep(step)) return { key: 'step', reason: 'must be a number or text' };
    const list = (Array.isArray(fields) ? fields : []).filter(isObject);
    const fault = list.map(faultOf).find((reason) => reason !== undefined);
    if (fault !== undefined) return { key: 'fields', reason: fault };
    const names = new Set(list.map(({ name }) => name));
    return names.size < list.length ? { key: 'fields', reason: 'a name is used twice' } : undefined;
  },
  run: async (context, object) => {
    const step = await context.render(object.step);
    if (!isStep(step)) throw new ScriptFault('element', 'step must be a number or text');
    const fields: FormField[] = [];
    for (const each of (object.fields as readonly unknown[]).filter(isObject)) fields.push(await fill(context, each));
    const next = await context.render(object.next_step);
    return {
      kind: 'form',
      form: { step, fields, ...(isStep(next) ? { next_step: next } : {}) },
      transfer: typeof object.transfer === 'number' ? object.transfer : 0,
    };
  },
};

const fill = async (context: ElementContext, { name, type, title, value, from, options }: Json): Promise<FormField> => {
  const shown = { title, value, options };
  const filled: Json = {};
  for (const [key, template] of Object.entries(shown)) {
    if (template !== undefined && template !== null) filled[key] = await context.render(template);
  }
  return {
    name: String(name),
    type: type as FormField['type'],
    ...filled,
    ...(isObject(from) ? { from: { step: from.step as string | number } } : {}),
  };
};
