/**
 * What must be there before anybody can sign in: the master domain's row, built-in roles in every domain, and the
 * first administrator. Every step looks first, so that a start that was cut short is finished by the next.
 */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSystemCaller } from './auth/system-caller.ts';
import type { DomainMemory } from './domains/memory.ts';
import type { Kind } from './domains/types.ts';
import type { Property } from './model/properties.ts';
import { systemClasses } from './model/system-classes.ts';
import { createEntity } from './rest/create.ts';
import { readInput } from './rest/draft.ts';
import type { Engine } from './rest/engine.ts';
import type { Json } from './rest/json.ts';
import { patchEntity } from './rest/patch.ts';
import type { Resource } from './rest/resource.ts';

export type FirstRunParts = {
  readonly engine: Pick<Engine, 'domains' | 'writer'>;
  readonly resources: Readonly<Record<'users' | 'roles' | 'classes' | 'domains' | 'configurations', Resource>>;
};

export type FirstAdministrator = {
  readonly login: string;
  /** Empty makes a random one. */
  readonly password: string;
  readonly dataDir: string;
  /** Shows a line to whoever sits at the terminal; absent when nobody does. */
  readonly tell?: (line: string) => void;
};

const BUILT_IN_ROLES: readonly Json[] = [
  {
    name: 'admin',
    description: 'May do everything.',
    routes: [{ methods: ['*'], url: '*' }],
    opts: { title: 'Administrator', system: true },
  },
  {
    name: 'user',
    description: 'Own account only.',
    routes: [{ methods: ['*'], url: '/rest/v1/user/*' }],
    opts: { title: 'User', system: true },
  },
];

const PASSWORD_FILE = 'admin-password.txt';

/** Makes what is missing under a key; what is there stays as it is. */
const makeMissing = async (
  { engine }: FirstRunParts,
  resource: Resource,
  domain: DomainMemory,
  key: string,
  bodies: readonly Json[],
): Promise<void> => {
  const caller = createSystemCaller(domain);
  for (const body of bodies) {
    const holders = await domain.read((rows) => rows.find(resource.kind as Kind, key, String(body[key])));
    if (holders.length > 0) continue;
    try {
      await createEntity(engine, resource, { domain, caller, input: readInput(resource, body, false) });
    } catch (thrown) {
      // Another node makes the same at the same moment.
      if ((thrown as { status?: number }).status !== 409) throw thrown;
    }
  }
};

/** Built-in roles and classes of a domain. */
export const furnishDomain = async (parts: FirstRunParts, domain: DomainMemory): Promise<void> => {
  await makeMissing(parts, parts.resources.roles, domain, 'name', BUILT_IN_ROLES);
  await makeMissing(parts, parts.resources.classes, domain, 'classname', systemClasses(domain.isMaster));
};

/** Adds to the built-in classes of a domain the properties that a newer platform gave them. */
const completeClasses = async ({ engine, resources }: FirstRunParts, domain: DomainMemory): Promise<void> => {
  const caller = createSystemCaller(domain);
  for (const { classname, properties } of systemClasses(domain.isMaster)) {
    const [id = ''] = domain.find('class', 'classname', String(classname));
    const present = (domain.get('class', id)?.properties ?? []) as readonly Property[];
    const names = new Set(present.map(({ name }) => name));
    const missing = (properties as readonly Property[]).filter(({ name }) => !names.has(name));
    if (missing.length === 0) continue;
    const input = readInput(resources.classes, { properties: [...present, ...missing] }, false);
    await patchEntity(engine, resources.classes, { domain, caller, id, input });
  }
};

/** Brings the installation to where its administrator can sign in. */
export const firstRun = async (parts: FirstRunParts, administrator: FirstAdministrator): Promise<void> => {
  const { master } = parts.engine.domains;
  const { domains, configurations, users } = parts.resources;
  await makeMissing(parts, domains, master, 'name', [{ name: master.name }]);
  await furnishDomain(parts, master);
  await completeClasses(parts, master);
  if (master.size('configuration') === 0) {
    await makeMissing(parts, configurations, master, 'name', [{ name: 'default' }]);
  }
  if ((await master.read((rows) => rows.size('user'))) > 0) return;
  const chosen = administrator.password;
  const pwd = chosen === '' ? randomBytes(18).toString('base64url') : chosen;
  const { login } = administrator;
  await makeMissing(parts, users, master, 'login', [
    { login, name: 'Administrator', pwd, opts: { roles: ['admin'], domains: ['*'] } },
  ]);
  if (chosen === '') showOnce(administrator, pwd);
};

const showOnce = ({ login, dataDir, tell }: FirstAdministrator, pwd: string): void => {
  const file = join(dataDir, PASSWORD_FILE);
  writeFileSync(file, `${login}\n${pwd}\n`, { mode: 0o600 });
  tell?.(`The first administrator is "${login}" with the password ${pwd} (also in ${file}; remove it once read).`);
};
