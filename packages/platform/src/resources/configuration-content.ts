/** Checks the content of a configuration: shapes, names used twice, references to what is not there. */
import { type Field, integer, key, list, object, text } from '../rest/field.ts';
import type { Json } from '../rest/json.ts';

export const DOMAIN_NAME = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;
const ROLE_KINDS = ['platform', 'speech', 'layer'];

const named = (more: Readonly<Record<string, Field>> = {}): Field =>
  list(object({ name: key({ required: true, maxLength: 253 }), ...more }), { maxItems: 1000 });

const SHAPE: Readonly<Record<string, Field>> = {
  general: object(),
  aliases: object(),
  domains: named({ parent: key({ maxLength: 253 }), solution: text() }),
  sites: named(),
  servers: named({ site: key({ required: true }), address: text() }),
  roles: named({ kind: key({ required: true }), options: object() }),
  structure: list(
    object({
      server: key({ required: true }),
      role: key({ required: true }),
      index: integer({ required: true, min: 0 }),
    }),
    {
      maxItems: 10_000,
    },
  ),
};

type Named = { readonly name: string; readonly [key: string]: unknown };
type Content = {
  readonly aliases: Readonly<Record<string, unknown>>;
  readonly domains: readonly Named[];
  readonly sites: readonly Named[];
  readonly servers: readonly Named[];
  readonly roles: readonly Named[];
  readonly structure: readonly { server: string; role: string; index: number }[];
};

/** Every fault found; none means that the content can become active. */
export const checkContent = (content: Json): { errors: string[]; warnings: string[] } => {
  const errors: string[] = [];
  const checked: Json = {};
  for (const [name, field] of Object.entries(SHAPE)) {
    try {
      checked[name] = field.check(content[name] ?? (field.compares === 'list' ? [] : {}), `content.${name}`);
    } catch (thrown) {
      errors.push((thrown as Error).message);
    }
  }
  const warnings = Object.keys(content)
    .filter((name) => !Object.hasOwn(SHAPE, name))
    .map((name) => `content.${name} is not known`);
  if (errors.length > 0) return { errors, warnings };
  const whole = checked as unknown as Content;
  return { errors: [...checkNames(whole), ...checkReferences(whole)], warnings };
};

const checkNames = (content: Content): string[] => {
  const errors: string[] = [];
  for (const section of ['domains', 'sites', 'servers', 'roles'] as const) {
    const seen = new Set<string>();
    for (const { name } of content[section]) {
      if (seen.has(name)) errors.push(`content.${section}: ${name} is named twice`);
      seen.add(name);
    }
  }
  for (const { name } of content.domains) {
    if (!DOMAIN_NAME.test(name)) errors.push(`content.domains: ${name} is no domain name`);
  }
  for (const { name, kind } of content.roles) {
    if (!ROLE_KINDS.includes(String(kind))) errors.push(`content.roles: ${name} has an unknown kind`);
  }
  return errors;
};

const checkReferences = ({ servers, sites, roles, structure, aliases }: Content): string[] => {
  const errors: string[] = [];
  const names = (items: readonly Named[]): Set<string> => new Set(items.map(({ name }) => name));
  const [siteNames, serverNames, roleNames] = [names(sites), names(servers), names(roles)];
  for (const { name, site } of servers) {
    if (!siteNames.has(String(site))) errors.push(`content.servers: ${name} stands on an unknown site`);
  }
  for (const { server, role } of structure) {
    if (!serverNames.has(server)) errors.push(`content.structure: unknown server ${server}`);
    if (!roleNames.has(role)) errors.push(`content.structure: unknown role ${role}`);
  }
  for (const [host, domain] of Object.entries(aliases)) {
    if (typeof domain !== 'string') errors.push(`content.aliases: ${host} must name a domain`);
  }
  return errors;
};
