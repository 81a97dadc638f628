/** `service/integration_points`: channels of integration; each is known to the outside by a token made here. */
import { randomInt } from 'node:crypto';
import { cannotApply } from '../codes.ts';
import { bool, key, opts, text } from '../rest/field.ts';
import { isObject } from '../rest/json.ts';
import { defineResource } from '../rest/resource.ts';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 190 bits. */
const TOKEN_LENGTH = 32;
const TYPE = /^[a-z0-9_]+$/;
const SCRIPT_FIELDS = ['recv_svcscriptcode', 'recv_svcscriptcode_ws', 'send_svcscriptcode', 'send_svcscriptcode_ws'];

const createToken = (): string => Array.from({ length: TOKEN_LENGTH }, () => BASE62[randomInt(BASE62.length)]).join('');

export const integrationPoints = defineResource({
  path: 'service/integration_points',
  kind: 'integration_point',
  summary: 'integration channels',
  unique: ['code', 'token_local'],
  lookup: ['code', 'token_local'],
  licensed: ({ type }) => (type === 'public' ? 'webservice_public' : 'webservice_subscr'),
  // Both spellings of the specification, so that a client finds the one it reads.
  list: [
    'id',
    'code',
    'type',
    'tokenlocal',
    'tokenremote',
    'tokenremote2',
    'token_local',
    'token_remote',
    'token_remote2',
    'recv_svcscriptcode',
    'recv_svcscriptcode_ws',
    'send_svcscriptcode',
    'send_svcscriptcode_ws',
    'opts.title',
    'opts.allow_files_api',
    'opts.issync',
    'ext.lwt',
    'ext.ct',
  ],
  fields: {
    code: key({ required: true }),
    type: key({ required: true, description: '`public` or another kind of channel.' }),
    token_local: key({ generated: true, alias: 'tokenlocal', description: 'Made by the platform.' }),
    token_remote: text({ fallback: '', alias: 'tokenremote' }),
    token_remote2: text({ fallback: '', alias: 'tokenremote2' }),
    url: text({ fallback: '' }),
    recv_svcscriptcode: key({ fallback: '' }),
    recv_svcscriptcode_ws: key({ fallback: '' }),
    send_svcscriptcode: key({ fallback: '' }),
    send_svcscriptcode_ws: key({ fallback: '' }),
    opts: opts({ allow_files_api: bool(), issync: bool() }),
  },
  beforeSave: (draft, previous, { domain }) => {
    if (!TYPE.test(String(draft.type))) throw cannotApply('type', 'must be lower-case letters, digits and _');
    for (const name of SCRIPT_FIELDS) {
      const code = String(draft[name] ?? '');
      const [script] = code === '' ? [] : domain.find('svcscript', 'code', code);
      // Looked at, so that it must still be there, under this code, when the point is written.
      if (code !== '' && !(script && domain.get('svcscript', script))) throw cannotApply(name, 'unknown script');
    }
    const given = isObject(draft.opts) ? draft.opts : {};
    draft.opts = { title: '', comment: '', allow_files_api: false, issync: false, ...given };
    draft.token_local = previous ? previous.token_local : createToken();
  },
});
