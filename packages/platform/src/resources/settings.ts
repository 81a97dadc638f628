/** `domain/settings`: values of a domain by key. A PATCH makes a setting only when its key is one the platform knows. */
import { cannotApply, problem } from '../codes.ts';
import { anything, type Field, integer, key, list, object, text } from '../rest/field.ts';
import { isSame } from '../rest/json.ts';
import { defineResource } from '../rest/resource.ts';

const EVERYTHING = [{ methods: ['*'], url: '*' }];
const ONE_DAY_SEC = 86_400;
const seconds = (max: number): Field => integer({ min: 1, max });

/** The known keys with the shape of their values; further members are kept. */
const REGISTRY: Readonly<Record<string, Field>> = {
  iam_token_svcscript_code: object({ value: key() }),
  iam_external_svcscript_code: object({ value: key() }),
  iam_session: object({
    cookie_idle_sec: seconds(30 * ONE_DAY_SEC),
    cookie_max_sec: seconds(365 * ONE_DAY_SEC),
    token_idle_sec: seconds(365 * ONE_DAY_SEC),
    token_max_sec: seconds(3650 * ONE_DAY_SEC),
  }),
  iam_ban: object({ limit: integer({ min: 1, max: 1000 }), window_sec: seconds(ONE_DAY_SEC) }),
  iam_password_policy: object({ min_length: integer({ min: 1, max: 256 }), max_length: integer({ min: 1, max: 256 }) }),
  iam_invite_mail: object({ subject: text(), text: text({ maxLength: 65_536 }), html: text({ maxLength: 65_536 }) }),
  public_url: object({ value: text() }),
  license_ownership: object(),
  journal: object({ days: integer({ min: 0, max: 36_500 }) }),
  dbusers: object({ hosts: list(key({ maxLength: 255 }), { maxItems: 1000 }) }),
  mail: object(),
  sms_http: object(),
  limits: object(),
  webapps_meta: object(),
  svcscript_rights: object({ value: anything() }),
};

/** Keys whose value decides who gets which rights, or where links and codes that open an account go. */
const GUARDED = new Set([
  'public_url',
  'iam_invite_mail',
  'sms_http',
  'iam_token_svcscript_code',
  'iam_external_svcscript_code',
  'svcscript_rights',
]);

/** Counts of licensed items: what limits are held against. */
const COUNTERS = 'license_ownership';

const isKnownSetting = (name: string): boolean => Object.hasOwn(REGISTRY, name);

const value = object({}, { fallback: {}, maxBytes: 262_144, description: 'An object; a scalar stands under `value`.' });

/** The shapes of known keys for who describes the collection. */
const shapes = Object.fromEntries(Object.entries(REGISTRY).map(([name, { schema }]) => [name, schema]));

export const settings = defineResource({
  path: 'domain/settings',
  kind: 'setting',
  summary: 'settings of the domain',
  id: 'key',
  verbs: ['list', 'read', 'patch'],
  unique: ['key'],
  list: ['key'],
  fields: {
    key: key({ required: true, fixed: true }),
    value: { ...value, schema: { ...value.schema, 'x-by-key': shapes } },
  },
  patchMakes: isKnownSetting,
  beforeSave: (draft, previous, { caller, domain }) => {
    const name = String(draft.key);
    if (name === COUNTERS && domain.isMaster && !isSame(draft.value, previous?.value)) {
      throw cannotApply('value', 'is counted by the platform');
    }
    const schema = isKnownSetting(name) ? REGISTRY[name] : undefined;
    if (schema) draft.value = schema.check(draft.value, 'value');
    if (GUARDED.has(name) && !isSame(draft.value, previous?.value) && !caller.covers(EVERYTHING)) {
      throw problem('forbidden', { details: { field: 'value', reason: 'not covered by your own roles' } });
    }
  },
});
