/**
 * Settings as data: declared once, read once from file, environment and flags, checked, frozen, printable without
 * secrets. This is the only file that reads the environment.
 */
import { readFileSync } from 'node:fs';
import { parse as parseYaml } from 'yaml';

/** One setting. `parse` takes what file, environment or flag gave and throws a sentence when it cannot be used. */
export type Setting<T> = {
  readonly kind: string;
  readonly fallback: T;
  readonly describe: string;
  readonly secret: boolean;
  /** Fixed environment names that tools outside rely on; tried before the regular name. */
  readonly env: readonly string[];
  /** True when the key stands at the top of the file instead of under the service's section. */
  readonly shared: boolean;
  parse(raw: unknown): T;
};

export type Declaration = Readonly<Record<string, Setting<unknown>>>;
export type Values<D extends Declaration> = { readonly [K in keyof D]: D[K] extends Setting<infer T> ? T : never };
export type Source = 'default' | 'file' | 'env' | 'flag';
export type Settings<D extends Declaration> = {
  readonly values: Values<D>;
  readonly sources: { readonly [K in keyof D]: Source };
};

/** Where settings come from. `section` names the service's part of the file and of the environment names. */
export type Sources = {
  section: string;
  env: Readonly<Record<string, string | undefined>>;
  file?: Readonly<Record<string, unknown>> | undefined;
  /** By full key: `speech.asr.default_model`, or the bare key of a shared setting. */
  flags?: Readonly<Record<string, string>> | undefined;
};

/** `PARLEY_<SECTION>_<KEY>`; a shared key has no section. */
export const envNameOf = (section: string, key: string, shared: boolean): string =>
  `PARLEY_${shared ? '' : `${section}_`}${key}`.toUpperCase().replaceAll(/[.-]/g, '_');

/**
 * Reads every declared setting: flags, then environment, then file, then default. Throws one Error that lists every
 * setting that could not be used, each with the place it came from.
 */
export const readSettings = <D extends Declaration>(declaration: D, from: Sources): Settings<D> => {
  const values: Record<string, unknown> = {};
  const sources: Record<string, Source> = {};
  const faults: string[] = [];
  for (const [key, declared] of Object.entries(declaration)) {
    const found = findRaw(key, declared, from);
    sources[key] = found.source;
    if (found.source === 'default') {
      values[key] = declared.fallback;
      continue;
    }
    try {
      values[key] = declared.parse(found.raw);
    } catch (thrown) {
      faults.push(`${found.where}: ${key} ${thrown instanceof Error ? thrown.message : 'cannot be used'}`);
    }
  }
  if (faults.length > 0) throw new Error(`Settings that cannot be used:\n  ${faults.join('\n  ')}`);
  return Object.freeze({ values: Object.freeze(values), sources: Object.freeze(sources) }) as Settings<D>;
};

type Found = { source: Source; raw?: unknown; where: string };

const findRaw = (key: string, declared: Setting<unknown>, from: Sources): Found => {
  const full = declared.shared ? key : `${from.section}.${key}`;
  const flagged = from.flags?.[full];
  if (flagged !== undefined) return { source: 'flag', raw: flagged, where: `flag --set ${full}` };
  for (const name of [...declared.env, envNameOf(from.section, key, declared.shared)]) {
    const raw = from.env[name];
    // An empty variable is how compose files say "not set".
    if (raw !== undefined && raw !== '') return { source: 'env', raw, where: `environment ${name}` };
  }
  const raw = readPath(from.file ?? {}, full);
  return raw === undefined || raw === null
    ? { source: 'default', where: 'default' }
    : { source: 'file', raw, where: 'file' };
};

const readPath = (tree: unknown, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>(
      (node, part) =>
        typeof node === 'object' && node !== null && Object.hasOwn(node, part)
          ? (node as Record<string, unknown>)[part]
          : undefined,
      tree,
    );

/** Reads and parses `parley.yaml`; an absent file is an empty one, a broken one an Error that names it. */
export const readSettingsFile = (path: string): Record<string, unknown> => {
  let content: string;
  try {
    content = readFileSync(path, 'utf8');
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new Error(`Cannot read ${path}: ${(thrown as Error).message}`, { cause: thrown });
  }
  const tree: unknown = parseYaml(content);
  if (tree === null || tree === undefined) return {};
  if (typeof tree !== 'object' || Array.isArray(tree)) throw new Error(`${path} must hold settings by name.`);
  return tree as Record<string, unknown>;
};

/** The environment of this process, for the composition's outermost layer only. */
export const processEnvironment = (): Readonly<Record<string, string | undefined>> => process.env;

const REDACTED = '[redacted]';

const isEmpty = (value: unknown): boolean => value === '' || (Array.isArray(value) && value.length === 0);

/** A URL with the password of its user part struck out; other text, and a URL without one, comes back as it is. */
const redactUrl = (value: string): string => {
  const url = URL.parse(value);
  if (!url || url.password === '') return value;
  url.password = 'redacted';
  return url.href;
};

/** The same for every text of a list or a mapping. */
const redactUrls = (value: unknown): unknown => {
  if (typeof value === 'string') return redactUrl(value);
  if (Array.isArray(value)) return value.map(redactUrls);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, redactUrls(each)]));
};

/**
 * The effective settings as a nested tree, secrets replaced by `[redacted]`, with `_sources` telling where each came
 * from. Every text that is a URL loses its password.
 */
export const printSettings = <D extends Declaration>(
  declaration: D,
  settings: Settings<D>,
): Record<string, unknown> => {
  const tree: Record<string, unknown> = {};
  for (const [key, declared] of Object.entries(declaration)) {
    const value = settings.values[key];
    const shown = declared.secret && !isEmpty(value) ? REDACTED : redactUrls(value);
    placeAt(tree, key.split('.'), shown);
  }
  return { ...tree, _sources: { ...settings.sources } };
};

const placeAt = (tree: Record<string, unknown>, path: readonly string[], value: unknown): void => {
  const [head, ...rest] = path as [string, ...string[]];
  if (rest.length === 0) {
    tree[head] = value;
    return;
  }
  tree[head] ??= {};
  placeAt(tree[head] as Record<string, unknown>, rest, value);
};
