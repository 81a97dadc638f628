/** Checks the content of a configuration: shapes, names used twice, references to what is not there, what cannot run. */
import { type Field, integer, key, list, object, text } from '../rest/field.ts';
import { isObject, type Json } from '../rest/json.ts';

export const DOMAIN_NAME = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;
const ROLE_KINDS = ['platform', 'speech', 'layer'];
/** Names that become parts of node names. */
const NODE_WORD = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

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

/** What a content is checked against. */
export type Surroundings = {
  /** Several processes may work on the rows: they lie in PostgreSQL. */
  readonly isShared: boolean;
  /** Names of the domains there are. */
  readonly domains: readonly string[];
};

type Findings = { readonly errors: string[]; readonly warnings: string[] };

/** Every fault found; no error means that the content can become active. Warnings tell what likely was not meant. */
export const checkContent = (content: Json, around: Surroundings): Findings => {
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
  return {
    errors: [
      ...checkNames(whole),
      ...checkReferences(whole),
      ...checkParents(whole, around.domains),
      ...checkStructure(whole, around.isShared),
    ],
    warnings: [...warnings, ...warnOfAliases(whole, around.domains), ...warnOfUnused(whole)],
  };
};

const checkNames = (content: Content): string[] => {
  const { domains, sites, servers, roles } = content;
  return [
    ...(['domains', 'sites', 'servers', 'roles'] as const).flatMap((section) => checkTwice(section, content[section])),
    ...Object.entries({ sites, servers, roles }).flatMap(([section, items]) => checkWords(section, items)),
    ...domains
      .filter(({ name }) => !DOMAIN_NAME.test(name))
      .map(({ name }) => `content.domains: ${name} is no domain name`),
    ...roles
      .filter(({ kind }) => !ROLE_KINDS.includes(String(kind)))
      .map(({ name }) => `content.roles: ${name} has an unknown kind`),
  ];
};

/** Texts that stood in the list before, once for each time. */
const repeatedIn = (items: readonly string[]): string[] => {
  const seen = new Set<string>();
  return items.filter((item) => seen.size === seen.add(item).size);
};

const checkTwice = (section: string, items: readonly Named[]): string[] =>
  repeatedIn(items.map(({ name }) => name)).map((name) => `content.${section}: ${name} is named twice`);

const checkWords = (section: string, items: readonly Named[]): string[] =>
  items
    .filter(({ name }) => !NODE_WORD.test(name))
    .map(({ name }) => `content.${section}: ${name} may hold letters, digits, dots, hyphens and underscores only`);

const namesOf = (items: readonly Named[]): Set<string> => new Set(items.map(({ name }) => name));

const checkReferences = ({ servers, sites, roles, structure, aliases }: Content): string[] => {
  const errors: string[] = [];
  const [siteNames, serverNames, roleNames] = [namesOf(sites), namesOf(servers), namesOf(roles)];
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

/** Parents must be there, or be made by the same content, and must not go round in a circle. */
const checkParents = ({ domains }: Content, existing: readonly string[]): string[] => {
  const parents = new Map(domains.map(({ name, parent }) => [name, parent as string | undefined]));
  const errors: string[] = [];
  for (const [name, parent] of parents) {
    if (!parent) continue;
    if (!parents.has(parent) && !existing.includes(parent)) {
      errors.push(`content.domains: ${name} stands below an unknown domain ${parent}`);
    }
    const seen = new Set([name]);
    let above: string | undefined = parent;
    while (above && !seen.has(above)) {
      seen.add(above);
      above = parents.get(above);
    }
    if (above === name) errors.push(`content.domains: ${name} stands below itself`);
  }
  return errors;
};

/** What could be written but not run. */
const checkStructure = ({ structure, roles }: Content, isShared: boolean): string[] => {
  if (structure.length === 0) return [];
  const byName = new Map(roles.map((role) => [role.name, role]));
  const rowsOf = (kind: string) => structure.filter(({ role }) => byName.get(role)?.kind === kind);
  return [
    ...checkRows(structure.map(({ server, role, index }) => `${role}_${index}@${server}`)),
    ...checkPlatforms(
      rowsOf('platform').map(({ server }) => server),
      isShared,
    ),
    ...checkPorts(rowsOf('speech').map(({ server, role }) => `${server}, port ${speechPortOf(byName.get(role)!)}`)),
  ];
};

const checkRows = (names: readonly string[]): string[] =>
  repeatedIn(names).map((name) => `content.structure: ${name} is named twice`);

const checkPlatforms = (servers: readonly string[], isShared: boolean): string[] => {
  // Whoever made it active could not make another one active afterwards.
  if (servers.length === 0) return ['content.structure: no server runs a role of kind platform'];
  const crowded = new Set(repeatedIn(servers));
  return isShared
    ? []
    : [...crowded].map((server) => `content.structure: several platform nodes on ${server} need storage in PostgreSQL`);
};

const checkPorts = (places: readonly string[]): string[] =>
  repeatedIn(places).map((place) => `content.structure: two speech nodes on ${place}; one needs another server.port`);

const DEFAULT_SPEECH_PORT = 8090;

const speechPortOf = ({ options }: Named): unknown => {
  const own = isObject(options) ? (options['server.port'] ?? (options.server as Json | undefined)?.port) : undefined;
  return own ?? DEFAULT_SPEECH_PORT;
};

const warnOfAliases = ({ aliases, domains }: Content, existing: readonly string[]): string[] => {
  const known = new Set([...namesOf(domains), ...existing]);
  return Object.entries(aliases)
    .filter(([, domain]) => typeof domain === 'string' && !known.has(domain))
    .map(([host, domain]) => `content.aliases: ${host} names the unknown domain ${domain}`);
};

const warnOfUnused = ({ servers, roles, structure }: Content): string[] => {
  if (structure.length === 0) return [];
  const usedServers = new Set(structure.map(({ server }) => server));
  const usedRoles = new Set(structure.map(({ role }) => role));
  return [
    ...servers
      .filter(({ name }) => !usedServers.has(name))
      .map(({ name }) => `content.servers: ${name} is in no line of the structure and runs what its command starts`),
    ...roles
      .filter(({ name }) => !usedRoles.has(name))
      .map(({ name }) => `content.roles: ${name} is in no line of the structure and runs nowhere`),
  ];
};
