/** A script while it is changed: what of it the editor holds, and how it goes back. */
import { useState } from 'react';
import type { Api } from '../../shared/api.ts';
import { isObject, type Json, mergePatchOf } from '../data/schema.ts';
import { detailsOf } from '../faults.tsx';
import type { ElementType, ScriptEntity, ScriptObject, Variable } from './declared.ts';

export const SCRIPTS_PATH = '/rest/v1/service/svcscripts';

export type Draft = {
  readonly code: string;
  readonly name: string;
  readonly logLevel: string;
  readonly comment: string;
  readonly objects: readonly ScriptObject[];
  readonly variables: readonly Variable[];
  readonly defaults: Json;
};

export type LoadedScript = { readonly entity: ScriptEntity; readonly tag: string | undefined };

/** The script, and the elements it can be made of. */
export const loadScript = async (api: Api, id: string, signal?: AbortSignal): Promise<LoadedScript> => {
  const answer = await api.request(`${SCRIPTS_PATH}/${encodeURIComponent(id)}`, { signal });
  return { entity: (await answer.json()) as ScriptEntity, tag: answer.headers.get('etag') ?? undefined };
};

export const loadElements = (api: Api, signal: AbortSignal): Promise<ElementType[]> =>
  api.json<ElementType[]>('/rest/v1/service/svcscript_elements', { signal });

const listOf = <T>(value: unknown): readonly T[] => (Array.isArray(value) ? value.filter(isObject) : []) as never;

const toDraft = ({ code, name, scriptdata, opts }: ScriptEntity): Draft => ({
  code,
  name,
  logLevel: opts.loglevel === undefined || opts.loglevel === null ? '' : String(opts.loglevel),
  comment: typeof opts.comment === 'string' ? opts.comment : '',
  objects: listOf<ScriptObject>(scriptdata?.objects),
  variables: listOf<Variable>(scriptdata?.variables).map((each) => ({ ...each, location: each.location ?? 1 })),
  defaults: isObject(opts.variables) ? opts.variables : {},
});

const toPatch = (entity: ScriptEntity, draft: Draft): unknown => {
  const { logLevel, comment, defaults } = draft;
  const opts = {
    ...entity.opts,
    comment,
    variables: defaults,
    ...(logLevel === '' ? {} : { loglevel: Number(logLevel) }),
  };
  const { objects, variables } = draft;
  const scriptdata = { ...entity.scriptdata, objects, variables };
  return mergePatchOf(entity, { ...entity, code: draft.code, name: draft.name, scriptdata, opts });
};

/** Where a refused script is wrong: an object and its key, a variable, or something else. */
export type ScriptFault =
  | { readonly kind: 'object'; readonly oId: number; readonly key: string; readonly text: string }
  | { readonly kind: 'variable'; readonly at: number; readonly text: string };

const VARIABLE_FIELD = /^scriptdata\.variables\[(\d+)\]$/;
const DEFAULT_FIELD = /^opts\.variables\.(.+)$/;

/** Undefined when the refusal names no part of the drawing. */
export const faultOf = (error: Error, { variables }: Draft): ScriptFault | undefined => {
  const { oId, key, field, reason } = detailsOf(error);
  const text = typeof reason === 'string' ? reason : error.message;
  if (typeof oId === 'number') return { kind: 'object', oId, key: typeof key === 'string' ? key : '', text };
  if (typeof field !== 'string') return undefined;
  const at = VARIABLE_FIELD.exec(field)?.[1];
  if (at !== undefined) return { kind: 'variable', at: Number(at), text };
  const name = DEFAULT_FIELD.exec(field)?.[1];
  const found = variables.findIndex((variable) => variable.name === name);
  return found === -1 ? undefined : { kind: 'variable', at: found, text };
};

export type DraftState = {
  readonly draft: Draft;
  readonly isDirty: boolean;
  change(part: Partial<Draft>): void;
  changeObjects(change: (objects: readonly ScriptObject[]) => readonly ScriptObject[]): void;
  /** Sends what differs and takes the script as it is then; answers what the platform says of it. */
  save(): Promise<string | undefined>;
};

export const useDraft = (api: Api, loaded: LoadedScript): DraftState => {
  const [base, setBase] = useState(loaded);
  const [draft, setDraft] = useState(() => toDraft(loaded.entity));
  const isDirty = mergePatchOf(toDraft(base.entity), draft) !== undefined;
  return {
    draft,
    isDirty,
    change: (part) => setDraft((before) => ({ ...before, ...part })),
    changeObjects: (change) => setDraft((before) => ({ ...before, objects: change(before.objects) })),
    save: async () => {
      const { id } = base.entity;
      const headers = base.tag === undefined ? {} : { 'if-match': base.tag };
      const body = toPatch(base.entity, draft);
      if (body !== undefined) await api.request(`${SCRIPTS_PATH}/${id}`, { method: 'PATCH', headers, body });
      const fresh = await loadScript(api, id);
      setBase(fresh);
      setDraft(toDraft(fresh.entity));
      const warnings = fresh.entity.ext?.warnings;
      return typeof warnings === 'string' ? warnings : undefined;
    },
  };
};
