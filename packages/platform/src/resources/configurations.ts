/**
 * `master/configurations`: what the installation shall be made of. Every write is checked: content that passes makes
 * the configuration `valid`, anything else leaves it `initial` with the reason in `ext.errormsg` and keeps a frozen copy
 * of the last content that passed. What is in force is the newest content that passed: an edit that does not pass
 * changes nothing that runs.
 */
import { cannotApply } from '../codes.ts';
import type { Domain, Entity } from '../domains/types.ts';
import { ext, key, object, text, word } from '../rest/field.ts';
import { isObject, type Json } from '../rest/json.ts';
import { defineResource, type Resource } from '../rest/resource.ts';
import { checkContent, type Surroundings } from './configuration-content.ts';

const EMPTY = { general: {}, aliases: {}, domains: [], sites: [], servers: [], roles: [], structure: [] };
const MAX_CONTENT_BYTES = 1_000_000;
/** The last content that passed, of a configuration whose content does not pass now. */
const FROZEN = 'last_valid';

/** Content that passed the check, and the write that brought it. */
export type ContentInForce = { readonly id: string; readonly content: Json; readonly lwt: string };

type Frozen = { readonly content: Json; readonly lwt: string; readonly version: string };

export type ConfigurationsParts = Pick<Surroundings, 'isShared'>;

export const createConfigurations = (parts: ConfigurationsParts): Resource =>
  defineResource({
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
    hidden: [FROZEN],
    beforeSave: (draft, previous, { domains }) => {
      const content = isObject(draft.content) ? draft.content : {};
      draft.content = { ...EMPTY, ...content };
      const { errors, warnings } = checkContent(draft.content as Json, {
        ...parts,
        domains: domains.names(),
      });
      const frozen = errors.length === 0 ? undefined : frozenOf(previous);
      if (frozen) warnings.push(`version ${frozen.version} stays in force while this content does not pass`);
      if (frozen) draft[FROZEN] = frozen;
      else delete draft[FROZEN];
      draft.state = errors.length === 0 ? 'valid' : 'initial';
      const own = isObject(draft.ext) ? draft.ext : {};
      const version = (previous?.ext as Json | undefined)?.version ?? '0';
      draft.ext = { ...own, version, errormsg: toText(errors), warnings: toText(warnings) };
    },
    beforeRemove: (previous, { domain }) => {
      if (contentInForce(domain)?.id === previous.id) throw cannotApply('id', 'the active configuration stays');
    },
    stamp: (draft): Json => {
      const own = draft.ext as Json;
      return { ...draft, ext: { ...own, version: String(Number(own.version) + 1) } };
    },
  });

const MAX_TEXT = 65_000;

const toText = (lines: readonly string[]): string => lines.join('\n').slice(0, MAX_TEXT);

/** The last content of an entity that passed. */
const frozenOf = (entity: Entity | undefined): Frozen | undefined => {
  if (!entity) return undefined;
  if (entity.state !== 'valid') return entity[FROZEN] as Frozen | undefined;
  const { lwt, version } = entity.ext as Json;
  return { content: entity.content as Json, lwt: String(lwt), version: String(version) };
};

/** The newest content that passed, of the active configuration. */
export const contentInForce = (master: Domain): ContentInForce | undefined => {
  let active: ContentInForce | undefined;
  for (const each of master.all('configuration')) {
    const frozen = frozenOf(each);
    if (frozen && (!active || frozen.lwt > active.lwt)) {
      active = { id: String(each.id), content: frozen.content, lwt: frozen.lwt };
    }
  }
  return active;
};
