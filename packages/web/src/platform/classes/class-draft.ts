/** A class while it is changed: its plain fields as texts of inputs, its properties as they are. */
import { useRef, useState } from 'react';
import type { Api } from '../../shared/api.ts';
import { type InputFault, newRaw, type Raw, readItem, toRaw } from '../data/form-values.ts';
import { type Json, type JsonSchema, type Leaf, leavesOf, mergePatchOf } from '../data/schema.ts';
import { CLASSES_PATH, type ClassEntity, type Property } from './class-model.ts';

export type LoadedClass = { readonly entity: ClassEntity; readonly tag: string | undefined };

export const loadClass = async (api: Api, id: string, signal?: AbortSignal): Promise<LoadedClass> => {
  const answer = await api.request(`${CLASSES_PATH}/${encodeURIComponent(id)}`, { signal });
  return { entity: (await answer.json()) as ClassEntity, tag: answer.headers.get('etag') ?? undefined };
};

/** With inputs of their own. */
const OWN = new Set(['id', 'properties', 'parent_id', 'storage_mode', 'integrity_mode', 'cache_mode']);

export const fieldsOf = (schema: JsonSchema | undefined): Leaf[] =>
  schema ? leavesOf(schema).filter(({ path, schema: { readOnly } }) => !readOnly && !OWN.has(path)) : [];

/** What has inputs of its own. */
export type Choices = {
  readonly parent_id: string;
  readonly storage_mode: string;
  readonly integrity_mode: string;
  readonly cache_mode: string;
};

const choicesOf = (entity: Json): Choices => ({
  parent_id: String(entity.parent_id ?? ''),
  storage_mode: String(entity.storage_mode ?? ''),
  integrity_mode: String(entity.integrity_mode ?? ''),
  cache_mode: String(entity.cache_mode ?? ''),
});

export type ClassDraft = {
  readonly raw: Raw;
  readonly choices: Choices;
  readonly properties: readonly Property[];
  readonly inputFaults: Readonly<Record<string, InputFault>>;
  readonly isDirty: boolean;
  setRaw(key: string, text: string): void;
  choose(part: Partial<Choices>): void;
  setProperties(properties: readonly Property[]): void;
  /** Sends what differs and takes the class as it is then; false when an input holds what it cannot. */
  save(): Promise<boolean>;
};

export const useClassDraft = (api: Api, loaded: LoadedClass, leaves: readonly Leaf[]): ClassDraft => {
  const [base, setBase] = useState(loaded);
  const initial = useRef(leaves.length === 0 ? newRaw(leaves) : toRaw(leaves, loaded.entity));
  const [raw, setRaw] = useState(initial.current);
  const [choices, setChoices] = useState(() => choicesOf(loaded.entity));
  const [properties, setProperties] = useState<readonly Property[]>(loaded.entity.properties ?? []);
  const [inputFaults, setInputFaults] = useState<Readonly<Record<string, InputFault>>>({});
  const read = readItem(leaves, base.entity, initial.current, raw);
  const patch = mergePatchOf(base.entity, { ...read.item, ...choices, properties });
  const begin = (fresh: LoadedClass): void => {
    setBase(fresh);
    initial.current = toRaw(leaves, fresh.entity);
    setRaw(initial.current);
    setChoices(choicesOf(fresh.entity));
    setProperties(fresh.entity.properties ?? []);
  };
  return {
    raw,
    choices,
    properties,
    inputFaults,
    isDirty: patch !== undefined || Object.keys(read.faults).length > 0,
    setRaw: (key, text) => setRaw((before) => ({ ...before, [key]: text })),
    choose: (part) => setChoices((before) => ({ ...before, ...part })),
    setProperties,
    save: async () => {
      setInputFaults(read.faults);
      if (Object.keys(read.faults).length > 0) return false;
      const { id } = base.entity;
      const headers = base.tag === undefined ? {} : { 'if-match': base.tag };
      if (patch !== undefined) await api.request(`${CLASSES_PATH}/${id}`, { method: 'PATCH', headers, body: patch });
      begin(await loadClass(api, id));
      return true;
    },
  };
};
