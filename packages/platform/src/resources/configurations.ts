/**
 * `master/configurations`: what the installation shall be made of. Every write is checked: content that passes makes
 * the configuration `valid`, anything else leaves it `initial` with the reason in `ext.errormsg`. The active one is
 * the newest valid; it stays in force while an edit is not valid.
 */
import { cannotApply } from '../codes.ts';
import type { Domain, Entity } from '../domains/types.ts';
import { ext, key, object, text, word } from '../rest/field.ts';
import { isObject, type Json } from '../rest/json.ts';
import { defineResource } from '../rest/resource.ts';
import { checkContent } from './configuration-content.ts';

const EMPTY = { general: {}, aliases: {}, domains: [], sites: [], servers: [], roles: [], structure: [] };
const MAX_CONTENT_BYTES = 1_000_000;

export const configurations = defineResource({
  path: 'master/configurations',
  kind: 'configuration',
  summary: 'configurations of the installation',
  domain: 'master',
  unique: ['name'],
  list: ['id', 'name', 'state', 'ext.lwt', 'ext.ct', 'ext.version'],
  fields: {
    name: key({ required: true }),
    state: word({ words: ['initial', 'valid'], generated: true }),
    content: object({}, { fallback: EMPTY, maxBytes: MAX_CONTENT_BYTES }),
    ext: ext({ version: text(), warnings: text({ maxLength: 65_536 }), errormsg: text({ maxLength: 65_536 }) }),
  },
  isExclusive: true,
  beforeSave: (draft, previous) => {
    const content = isObject(draft.content) ? draft.content : {};
    draft.content = { ...EMPTY, ...content };
    const { errors, warnings } = checkContent(draft.content as Json);
    draft.state = errors.length === 0 ? 'valid' : 'initial';
    const own = isObject(draft.ext) ? draft.ext : {};
    const version = (previous?.ext as Json | undefined)?.version ?? '0';
    draft.ext = { ...own, version, errormsg: errors.join('\n'), warnings: warnings.join('\n') };
  },
  beforeRemove: (previous, { domain }) => {
    if (activeConfiguration(domain)?.id === previous.id) throw cannotApply('id', 'the active configuration stays');
  },
  stamp: (draft): Json => {
    const own = draft.ext as Json;
    return { ...draft, ext: { ...own, version: String(Number(own.version) + 1) } };
  },
});

/** The newest valid configuration of the master domain. */
export const activeConfiguration = (master: Domain): Entity | undefined => {
  let active: Entity | undefined;
  for (const each of master.all('configuration')) {
    if (each.state === 'valid' && (!active || lwtOf(each) > lwtOf(active))) active = each;
  }
  return active;
};

const lwtOf = (entity: Entity): string => String((entity.ext as Json | undefined)?.lwt ?? '');
