/** The databases a domain may be given accounts in: its storages of type `postgresql`, with how to reach them. */
import { BlockList, isIP } from 'node:net';
import { cannotApply } from '../codes.ts';
import type { SecretBox } from '../domains/secrets.ts';
import type { Domain, Entity } from '../domains/types.ts';
import { isObject } from '../rest/json.ts';

export type Target = {
  /** Key of the storage. */
  readonly instance: string;
  /** A name, an address, or the folder of a socket. */
  readonly host: string;
  readonly port: number;
  readonly login: string;
  /** As the storage keeps it: sealed. */
  readonly pwd: string;
  readonly database: string;
};

const DEFAULT_PORT = 5432;
/** The database of descriptors, which the specification leaves out. */
const EXCLUDED_DATABASE = 'dc';

/** The target a storage names; undefined for other types and for the excluded database. */
const targetOf = (storage: Entity): Target | undefined => {
  const { type, instance, params } = storage;
  if (type !== 'postgresql' || !isObject(params)) return undefined;
  const text = (name: string): string => (typeof params[name] === 'string' ? params[name].trim() : '');
  const login = text('login');
  const target = {
    instance: String(instance),
    host: text('host') || 'localhost',
    port: typeof params.port === 'number' ? params.port : DEFAULT_PORT,
    login,
    pwd: typeof params.pwd === 'string' ? params.pwd : '',
    // A database that is not named is the one of the login's name, as every client of PostgreSQL has it.
    database: text('database') || login,
  };
  return isExcluded(target.database) ? undefined : target;
};

export const isExcluded = (database: string): boolean => database === EXCLUDED_DATABASE;

/** Every target of a domain, by the key of its storage. */
export const targetsOf = (domain: Domain): Target[] =>
  [...domain.all('storage')]
    .flatMap((storage) => targetOf(storage) ?? [])
    .sort((left, right) => (left.instance < right.instance ? -1 : 1));

export const findTarget = (domain: Domain, instance: string): Target | undefined => {
  const [id] = domain.find('storage', 'instance', instance);
  const storage = id === undefined ? undefined : domain.get('storage', id);
  return storage && targetOf(storage);
};

export const passwordOf = ({ pwd }: Target, secrets: SecretBox): string =>
  secrets.isSealed(pwd) ? secrets.open(pwd) : pwd;

/**
 * Whether the master's setting `dbusers.hosts` lets this host be used. Entries are names (`*.example.org` for all
 * below), addresses, networks (`10.0.0.0/8`) and folders of sockets. Addresses and networks speak of hosts that are
 * written as addresses: what a name stands for may change between the check and the use.
 */
export const isHostAllowed = (host: string, allowed: readonly string[]): boolean => {
  const name = host.toLowerCase().replace(/\.$/, '');
  return allowed.some((entry) => {
    const wanted = entry.trim().toLowerCase();
    if (wanted.startsWith('*.')) return isIP(name) === 0 && name.endsWith(wanted.slice(1));
    return name === wanted || isInNetwork(name, wanted);
  });
};

const isInNetwork = (address: string, network: string): boolean => {
  const [base = '', bits] = network.split('/');
  const family = isIP(base);
  if (isIP(address) === 0 || family === 0) return false;
  const list = new BlockList();
  const kind = family === 6 ? 'ipv6' : 'ipv4';
  const length = bits === undefined ? (family === 6 ? 128 : 32) : Number(bits);
  if (!Number.isInteger(length) || length < 0 || length > (family === 6 ? 128 : 32)) return false;
  list.addSubnet(base, length, kind);
  return list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
};

/** 422 when the master's setting names hosts and this is none of them. */
export const checkHost = (master: Domain, { host }: Target): void => {
  const allowed = master.setting('dbusers')?.hosts;
  if (allowed === undefined || allowed === null) return;
  const names = Array.isArray(allowed) ? allowed.filter((each): each is string => typeof each === 'string') : [];
  if (!isHostAllowed(host, names)) throw cannotApply('host', 'host_not_allowed');
};
