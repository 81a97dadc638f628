/**
 * `master/domains`: the tree of domains, managed in the master. A new domain gets its built-in roles before its row
 * becomes visible; a domain with users is removed only by force, with everything in it.
 */
import { cannotApply } from '../codes.ts';
import type { Entity } from '../domains/types.ts';
import { key, opts, text } from '../rest/field.ts';
import { isObject } from '../rest/json.ts';
import { defineResource, type Resource, type SaveContext } from '../rest/resource.ts';
import { DOMAIN_NAME } from './configuration-content.ts';

export type DomainsResourceParts = {
  /** Writes what every domain must hold. */
  furnish(name: string): Promise<void>;
  /** Removes what a removed domain of this name left behind, if anything; not what another node makes just now. */
  clearLeftovers(name: string): Promise<void>;
};

/** What temporary database accounts of a domain may do at most. */
const DB_LEVELS = ['none', 'read', 'write'];

export const createDomainsResource = (parts: DomainsResourceParts): Resource =>
  defineResource({
    path: 'master/domains',
    kind: 'domain',
    summary: 'domains of the installation',
    domain: 'master',
    unique: ['name'],
    lookup: ['name'],
    licensed: () => 'domains',
    list: ['id', 'name', 'is_master', 'parent', 'solution', 'opts.title', 'opts.comment', 'ext.lwt', 'ext.ct'],
    fields: {
      name: key({ required: true, fixed: true, maxLength: 253 }),
      is_master: {
        ...key({ generated: true }),
        schema: { type: 'boolean', readOnly: true },
        compares: 'boolean',
        check: (value) => value,
      },
      parent: key({ fallback: '', maxLength: 253, description: 'Name of the domain above; empty is the master.' }),
      solution: text({ fallback: '' }),
      opts: opts({ dbaccess: key({ description: DB_LEVELS.join(', ') }) }),
    },
    isExclusive: true,
    prepare: async (body, context, id) => {
      if (context.mode === 'create') await prepareNew(body.name, context, parts);
      if (context.mode === 'remove' && body.force !== true) await requireNoUsers(id, context);
      return body;
    },
    beforeSave: (draft, _previous, context) => {
      const name = String(draft.name);
      if (!DOMAIN_NAME.test(name)) throw cannotApply('name', 'must be a lower-case domain name');
      draft.is_master = name === context.domain.name;
      checkParent(name, String(draft.parent ?? ''), context);
      const level = isObject(draft.opts) ? draft.opts.dbaccess : undefined;
      if (level !== undefined && !DB_LEVELS.includes(String(level))) {
        throw cannotApply('opts.dbaccess', `must be one of ${DB_LEVELS.join(', ')}`);
      }
    },
    beforeRemove: ({ name }, { domain, domains }) => {
      const gone = String(name);
      if (gone === domain.name) throw cannotApply('name', 'the master stays');
      const isBelow = ({ name: other }: Entity): boolean => other !== gone && domains.isBelow(String(other), gone);
      if (domain.select('domain', 'below it', isBelow, 1).length > 0) {
        throw cannotApply('name', 'referenced', { by: 'domains below it' });
      }
    },
  });

const prepareNew = async (
  given: unknown,
  { domains }: Pick<SaveContext, 'domains'>,
  { furnish, clearLeftovers }: DomainsResourceParts,
): Promise<void> => {
  const name = typeof given === 'string' ? given : '';
  if (!DOMAIN_NAME.test(name) || domains.names().includes(name)) return;
  if ((await domains.store.find(domains.master.name, 'domain', 'name', name)) !== undefined) return;
  await clearLeftovers(name);
  await furnish(name);
};

const requireNoUsers = async (
  id: string,
  { domain, domains }: Pick<SaveContext, 'domain' | 'domains'>,
): Promise<void> => {
  const name = domain.get('domain', id)?.name;
  const users = typeof name === 'string' ? await domains.store.count(name, 'user') : 0;
  if (name !== domain.name && users > 0) throw cannotApply('name', 'referenced', { by: `${users} users` });
};

const checkParent = (name: string, parent: string, { domain, domains }: SaveContext): void => {
  if (parent === '') return;
  if (name === domains.master.name) throw cannotApply('parent', 'the master has none');
  const [id] = parent === domain.name ? [] : domain.find('domain', 'name', parent);
  const isThere = parent === domain.name || (id !== undefined && domain.get('domain', id) !== undefined);
  if (!isThere) throw cannotApply('parent', 'unknown domain');
  if (parent === name || domains.isBelow(parent, name)) throw cannotApply('parent', 'makes a circle');
};
