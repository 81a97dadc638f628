/** The platform without its network: domains in memory, resources, the writer. start.ts puts HTTP in front of it. */
import { performance } from 'node:perf_hooks';
import { systemClock } from '@parley/kit/clock.ts';
import type { Log } from '@parley/kit/log.ts';
import type { Store } from '@parley/kit/store/store.ts';
import type { Ban } from './auth/ban.ts';
import { createPasswords, type Passwords } from './auth/password.ts';
import { createSystemCaller } from './auth/system-caller.ts';
import { type LoadedDomains, openDomains } from './domains/domains.ts';
import { createMemoryCap } from './domains/memory-cap.ts';
import { openSecretBox, type SecretBox } from './domains/secrets.ts';
import type { Domain } from './domains/types.ts';
import type { SipAccount, SipAccounts } from './endpoints/own-user.ts';
import { furnishDomain } from './first-run.ts';
import { createLicences, type Licences } from './licence/licence.ts';
import { clearModelRows, type Model, openModel } from './model/model.ts';
import { createResources, type Resources, type ResourcesParts } from './resources/all.ts';
import { contentInForce } from './resources/configurations.ts';
import type { UsersParts } from './resources/users.ts';
import { type Engine, memoryOf } from './rest/engine.ts';
import { isObject, type Json } from './rest/json.ts';
import { createPatternCache } from './rest/regex.ts';
import { createWriter } from './rest/save.ts';
import { createStamper } from './rest/stamp.ts';
import { ELEMENTS } from './scripts/elements/all.ts';
import type { Sandbox } from './scripts/sandbox.ts';
import { createSandbox } from './scripts/sandbox-pool.ts';
import { createScriptChecks } from './scripts/validate.ts';
import type { PlatformSettings } from './settings.ts';

export type Platform = AsyncDisposable & {
  readonly engine: Engine;
  readonly resources: Resources;
  readonly passwords: Passwords;
  readonly secrets: SecretBox;
  readonly model: Model;
  /** Where expressions of scripts run. */
  readonly licences: Licences;
  readonly sandbox: Sandbox;
  readonly sipAccounts: SipAccounts;
  /** Removes everything of a domain that is no more; who asks again while it runs waits for the same. */
  clearDomain(name: string): Promise<void>;
  /** The domain that the active configuration names for a host. */
  aliasOf(host: string): string | undefined;
  saveHash(home: Domain, userId: string, hash: string): Promise<void>;
  /** Passwords checked by resources count as attempts from now on. */
  useBan(ban: Ban): void;
};

const MAX_SIP_ACCOUNTS = 1000;

/** What is made after the resources that need it. */
type Late = { engine?: Engine; ban?: Ban; licences?: Licences };

/** A resource's check of a password, through the ban once there is one. */
const createVerify =
  (passwords: Passwords, late: Late): UsersParts['verify'] =>
  ({ home, login, address }, phc, password) => {
    const check = () => passwords.verify(phc, password);
    return late.ban ? late.ban.attempt({ domain: home.name, login, address }, check) : check();
  };

/** Loads the master domain and puts the engine together. The store stays its owner's. */
export const openPlatform = async (values: PlatformSettings, store: Store, log: Log): Promise<Platform> => {
  await using stack = new AsyncDisposableStack();
  const passwords = createPasswords();
  const secrets = openSecretBox(values.secret_key, values.data_dir);
  // Resources are named before the engine that serves them is made: what they need of it is asked for later.
  const late: Late = {};
  const domainsOf = (): LoadedDomains => late.engine!.domains;
  const fileRoots = [values.data_dir, ...values['files.roots']];
  const stamp = createStamper(() => performance.timeOrigin + performance.now());
  const model = stack.use(
    openModel({ ...modelParts(values), store, secrets, log, fileRoots, stamp, domains: domainsOf }),
  );
  const sandbox = stack.use(createSandbox({ log }));
  const clearing = createClearing(domainsOf, model, () => late.licences!.quota.recount());
  const resources = createResources({
    storages: { roots: fileRoots },
    users: {
      hash: passwords.hash,
      verify: createVerify(passwords, late),
      importsHashes: values['export.secrets'],
      requiresOldPassword: values['iam.require_old_pwd'],
    },
    classes: model.ofClasses,
    scripts: createScriptChecks(ELEMENTS, sandbox),
    domains: {
      furnish: async (name) => furnishDomain({ engine: late.engine!, resources }, await domainsOf().prepare(name)),
      clearLeftovers: (name) => clearing.leftovers(name, store),
    },
    configurations: { isShared: store.driver === 'postgres' },
  } satisfies ResourcesParts);
  const domains = stack.use(
    await openDomains({
      store,
      kinds: resources.all,
      log,
      cap: createMemoryCap({ maxRows: values['memory.max_rows'], maxBytes: values['memory.max_bytes'] }),
      masterName: values['bootstrap.domain'],
    }),
  );
  const licences = createLicences({ ...licenceParts(values), store, secrets, log, domains: () => domains, stamp });
  const { quota } = licences;
  const writer = createWriter({ domains, resources: resources.all, secrets, clock: systemClock, quota, stamp });
  const engine: Engine = {
    domains,
    writer,
    patterns: createPatternCache(),
    limits: { defaultLimit: values['list.default_limit'], maxLimit: values['list.max_limit'] },
    isStrict: values.strict_fields,
    exportsSecrets: values['export.secrets'],
  };
  Object.assign(late, { engine, licences });
  const owned = stack.move();
  return {
    engine,
    resources,
    passwords,
    secrets,
    model,
    sandbox,
    licences,
    clearDomain: clearing.run,
    sipAccounts: { of: (home, userId) => sipAccountsOf(engine, model, home, userId) },
    aliasOf: (host) => aliasIn(domains.master, host),
    useBan: (ban) => {
      late.ban = ban;
    },
    saveHash: (home, userId, hash) => saveHash(engine, resources, home, userId, hash),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
};

const licenceParts = (values: PlatformSettings) => ({ clock: systemClock, vendorKeys: values['license.vendor_keys'] });

const modelParts = (values: PlatformSettings) => ({
  clock: systemClock,
  dataDir: values.data_dir,
  maxFileBytes: values['files.max_bytes'],
});

const createClearing = (domainsOf: () => LoadedDomains, model: Model, recount: () => Promise<void>) => {
  const running = new Map<string, Promise<void>>();
  const clear = async (name: string): Promise<void> => {
    await clearModelRows(model, await domainsOf().prepare(name));
    await domainsOf().clear(name);
    // Its rows went without being counted one by one.
    await recount();
  };
  const run = (name: string): Promise<void> => {
    const known = running.get(name);
    if (known !== undefined) return known;
    const job = clear(name).finally(() => running.delete(name));
    running.set(name, job);
    return job;
  };
  return {
    run,
    leftovers: async (name: string, store: Store): Promise<void> => {
      await running.get(name);
      // Roles and classes are what every new domain begins with, and another node may be making them now.
      for (const kind of LEFTOVER_KINDS) {
        if ((await store.count(name, kind)) > 0) return run(name);
      }
    },
  };
};

const LEFTOVER_KINDS = [
  'user',
  'group',
  'contact',
  'contactgroup',
  'storage',
  'svcscript',
  'integration_point',
  'setting',
];

const aliasIn = (master: Domain, host: string): string | undefined => {
  const aliases = contentInForce(master)?.content.aliases;
  const name = isObject(aliases) ? aliases[host] : undefined;
  return typeof name === 'string' ? name : undefined;
};

/** The same password under a new hash: no right changes hands. */
const saveHash = async (
  engine: Engine,
  { users }: Resources,
  home: Domain,
  userId: string,
  hash: string,
): Promise<void> => {
  await engine.writer.write({
    resource: users,
    domain: memoryOf(engine, home),
    caller: createSystemCaller(home),
    id: userId,
    mode: 'patch',
    body: {},
    form: (previous) => previous && ({ ...previous, pwd: hash } as Json),
  });
};

/** Class whose rows, if it is there, are the SIP accounts of users. */
const SIP_CLASS = ['telephony', 'SipAccounts'];

const sipAccountsOf = async (engine: Engine, model: Model, home: Domain, userId: string): Promise<SipAccount[]> => {
  const domain = memoryOf(engine, home);
  const found = model.classes.find(domain, SIP_CLASS);
  if (!found || found.model.mode === 'abstract' || !found.model.pushable.has('user_id')) return [];
  const rows = await model.source.open(domain, found.model);
  const accounts = await rows.query({ where: [{ path: 'user_id', op: '=', value: userId }], limit: MAX_SIP_ACCOUNTS });
  return accounts
    .filter(({ data }) => data.user_id === userId)
    .map(({ id, data }) => ({ id, login: String(data.login ?? ''), phonenumber: String(data.phonenumber ?? '') }));
};
