/** `service/svcscripts`: graphs of elements with their variables, checked when they are saved. scripts/ runs them. */
import { ZERO_UUID } from '@parley/kit/ids.ts';
import { cannotApply } from '../codes.ts';
import type { Entity } from '../domains/types.ts';
import { anything, defineField, type Field, integer, key, list, object, opts, text, uuid } from '../rest/field.ts';
import { isObject, type Json } from '../rest/json.ts';
import { defineResource, type Resource, type SaveContext } from '../rest/resource.ts';
import type { ScriptChecks } from '../scripts/validate.ts';
import { guardScript } from './script-guard.ts';

const MAX_OBJECTS = 5000;
const MAX_SCRIPT_BYTES = 1_000_000;
const stamp = (): Field =>
  defineField('date', { type: 'string', format: 'date-time', readOnly: true }, { generated: true }, (value) => value);

export const createSvcscripts = ({ check, compile }: ScriptChecks): Resource =>
  defineResource({
    path: 'service/svcscripts',
    kind: 'svcscript',
    summary: 'service scripts',
    unique: ['code'],
    lookup: ['code'],
    licensed: () => 'svcscripts',
    list: ['id', 'code', 'name', 'projectid', 'ext.lwt', 'ext.ct'],
    fields: {
      code: key({ required: true }),
      name: text({ maxLength: 128, fallback: '' }),
      scriptdata: object(
        {
          objects: list(anything(), { maxItems: MAX_OBJECTS }),
          variables: list(anything(), { maxItems: MAX_OBJECTS }),
          scriptVersion: integer(),
        },
        { fallback: { objects: [], variables: [], scriptVersion: 1 }, maxBytes: MAX_SCRIPT_BYTES },
      ),
      projectid: uuid({ fallback: ZERO_UUID }),
      lwt: stamp(),
      opts: opts({ loglevel: integer(), variables: object() }),
    },
    // Integration points name scripts by their code.
    isExclusive: (mode, body, held) =>
      mode === 'remove' || (held !== undefined && (body.code ?? held.code) !== held.code),
    prepare: async (body) => {
      // Compiling takes longer than an entity may be locked.
      await compile(body.scriptdata);
      return body;
    },
    beforeSave: (draft, previous, context) => {
      if (previous && previous.code !== draft.code) requireUnused(previous, context);
      draft.name ||= draft.code;
      const scriptdata = isObject(draft.scriptdata) ? draft.scriptdata : {};
      draft.scriptdata = { objects: [], variables: [], scriptVersion: 1, ...scriptdata };
      const project = String(draft.projectid);
      if (project !== ZERO_UUID && !context.domain.get('project', project)) {
        throw cannotApply('projectid', 'unknown project');
      }
      warn(draft, check(draft));
      guardScript(draft, previous, context);
    },
    beforeRemove: (previous, context) => {
      guardScript(undefined, previous, context);
      requireUnused(previous, context);
    },
    stamp: (draft, lwt): Json => ({ ...draft, lwt: `${lwt.slice(0, 19)}Z` }),
  });

const NAMING_FIELDS = ['recv_svcscriptcode', 'recv_svcscriptcode_ws', 'send_svcscriptcode', 'send_svcscriptcode_ws'];

/** 422 while an integration point names the script. */
const requireUnused = ({ code }: Entity, { domain }: SaveContext): void => {
  for (const point of domain.all('integration_point')) {
    if (NAMING_FIELDS.some((name) => point[name] === code)) {
      throw cannotApply('code', 'referenced', { by: { integration_point: point.code } });
    }
  }
};

/** What is odd about a script that was taken all the same stands in `ext.warnings`. */
const warn = (draft: Json, warning: string | undefined): void => {
  const { warnings: _before, ...ext } = isObject(draft.ext) ? draft.ext : {};
  draft.ext = warning === undefined ? ext : { ...ext, warnings: warning };
};
