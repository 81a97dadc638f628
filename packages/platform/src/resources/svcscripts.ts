/** `service/svcscripts`: graphs of elements with their variables. Here they are kept; running them is another part. */
import { ZERO_UUID } from '@parley/kit/ids.ts';
import { cannotApply, problem } from '../codes.ts';
import { anything, defineField, type Field, integer, key, list, object, opts, text, uuid } from '../rest/field.ts';
import { isObject, type Json } from '../rest/json.ts';
import { defineResource, type SaveContext } from '../rest/resource.ts';

const MAX_OBJECTS = 5000;
const MAX_SCRIPT_BYTES = 1_000_000;
const EVERYTHING = [{ methods: ['*'], url: '*' }];
/** Settings whose script decides who gets a session. */
const SIGN_IN_SETTINGS = ['iam_token_svcscript_code', 'iam_external_svcscript_code'];

const stamp = (): Field =>
  defineField('date', { type: 'string', format: 'date-time', readOnly: true }, { generated: true }, (value) => value);

export const svcscripts = defineResource({
  path: 'service/svcscripts',
  kind: 'svcscript',
  summary: 'service scripts',
  unique: ['code'],
  lookup: ['code'],
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
  beforeSave: (draft, previous, context) => {
    draft.name ||= draft.code;
    const scriptdata = isObject(draft.scriptdata) ? draft.scriptdata : {};
    draft.scriptdata = { objects: [], variables: [], scriptVersion: 1, ...scriptdata };
    const project = String(draft.projectid);
    if (project !== ZERO_UUID && !context.domain.get('project', project)) {
      throw cannotApply('projectid', 'unknown project');
    }
    checkObjects(scriptdata.objects);
    guardSignIn(String(draft.code), context);
    if (previous) guardSignIn(String(previous.code), context);
  },
  beforeRemove: ({ code }, context) => {
    guardSignIn(String(code), context);
    for (const point of context.domain.all('integration_point')) {
      const users = ['recv_svcscriptcode', 'recv_svcscriptcode_ws', 'send_svcscriptcode', 'send_svcscriptcode_ws'];
      if (users.some((name) => point[name] === code)) {
        throw cannotApply('code', 'referenced', { by: { integration_point: point.code } });
      }
    }
  },
  stamp: (draft, lwt): Json => ({ ...draft, lwt: `${lwt.slice(0, 19)}Z` }),
});

const checkObjects = (objects: unknown): void => {
  const seen = new Set<unknown>();
  for (const each of Array.isArray(objects) ? objects : []) {
    const oId = isObject(each) ? each.oId : undefined;
    if (oId === undefined) continue;
    if (seen.has(oId)) throw cannotApply('scriptdata.objects', 'oId is used twice', { oId });
    seen.add(oId);
  }
};

/** A script that decides about sign-in is a way to any right. */
const guardSignIn = (code: string, { domain, caller }: SaveContext): void => {
  const decides = SIGN_IN_SETTINGS.some((name) => domain.setting(name)?.value === code);
  if (decides && !caller.covers(EVERYTHING)) {
    throw problem('forbidden', { details: { field: 'code', reason: 'this script decides about sign-in' } });
  }
};
