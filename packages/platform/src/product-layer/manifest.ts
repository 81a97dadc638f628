/** `layer.json`: what a layer is and brings. Read from outside and checked whole before anything is believed of it. */
import { checkShape, isObject, type Json } from '../rest/json.ts';
import { checkName } from './archive.ts';
import { refuse } from './fault.ts';

export const MANIFEST_FILE = 'layer.json';

/** Metadata of an application come from a file of the layer and go to these roles. */
export type LayerApp = { readonly name: string; readonly file: string; readonly roles: readonly string[] };

/** One process for all services of the layer. */
export type LayerService = { readonly module: string; readonly port: number };

export type Manifest = {
  readonly name: string;
  readonly version: string;
  /** SHA-256 in hex by path. */
  readonly files: ReadonlyMap<string, string>;
  /** As a role is posted; `parent` names another role. */
  readonly roles: readonly Json[];
  readonly svcscripts: readonly Json[];
  /** As a class is posted; `parent` names another class. */
  readonly classes: readonly Json[];
  readonly webapps: readonly LayerApp[];
  readonly service: LayerService | undefined;
};

const NAME = /^[a-z][a-z0-9_-]{0,47}$/;
const VERSION = /^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$/;
const SHA256 = /^[0-9a-f]{64}$/;
const MODULE = /\.(?:js|mjs|cjs|ts|mts)$/;
const KNOWN = ['name', 'version', 'files', 'roles', 'svcscripts', 'classes', 'webapps', 'service'];
const MAX_ITEMS = 1000;
const MAX_PORT = 65_535;

/** Throws LayerRefused naming what is wrong. */
export const parseManifest = (text: string): Manifest => {
  const read = parseJson(text);
  const unknown = Object.keys(read).find((key) => !KNOWN.includes(key));
  if (unknown !== undefined) refuse(`${MANIFEST_FILE}: ${unknown.slice(0, 60)}: is not known here`);
  const files = readFiles(read.files);
  const webapps = itemsIn(read, 'webapps', 'name').map((app) => readApp(app, files));
  return {
    name: textIn(read, 'name', NAME),
    version: textIn(read, 'version', VERSION),
    files,
    roles: itemsIn(read, 'roles', 'name'),
    svcscripts: itemsIn(read, 'svcscripts', 'code'),
    classes: itemsIn(read, 'classes', 'classname'),
    webapps,
    service: read.service === undefined ? undefined : readService(read.service, files),
  };
};

const parseJson = (text: string): Json => {
  let read: unknown;
  try {
    read = JSON.parse(text);
    checkShape(read);
  } catch (thrown) {
    return refuse(`${MANIFEST_FILE} is not usable JSON: ${(thrown as Error).message.slice(0, 120)}`);
  }
  return isObject(read) ? read : refuse(`${MANIFEST_FILE} is no object`);
};

const textIn = (from: Json, name: string, pattern: RegExp): string => {
  const value = from[name];
  if (typeof value !== 'string' || !pattern.test(value)) {
    return refuse(`${MANIFEST_FILE}: ${name}: must match ${pattern.source}`);
  }
  return value;
};

const listIn = (from: Json, name: string, most = MAX_ITEMS): readonly unknown[] => {
  const value = from[name] ?? [];
  if (!Array.isArray(value) || value.length > most)
    return refuse(`${MANIFEST_FILE}: ${name}: must be a list of at most ${most}`);
  return value;
};

/** Objects that each have a name of their own. */
const itemsIn = (from: Json, list: string, key: string): Json[] => {
  const seen = new Set<string>();
  return listIn(from, list).map((item) => {
    const name = isObject(item) ? item[key] : undefined;
    if (!isObject(item) || typeof name !== 'string' || name === '') {
      return refuse(`${MANIFEST_FILE}: ${list}: each needs a ${key}`);
    }
    if (seen.has(name)) refuse(`${MANIFEST_FILE}: ${list}: ${name.slice(0, 60)} comes twice`);
    if (item.id !== undefined) refuse(`${MANIFEST_FILE}: ${list}: ${name.slice(0, 60)}: ids are given here`);
    seen.add(name);
    return item;
  });
};

const MAX_FILES = 100_000;

const readFiles = (given: unknown): Map<string, string> => {
  const files = new Map<string, string>();
  for (const each of listIn({ files: given }, 'files', MAX_FILES)) {
    const { path, sha256 } = isObject(each) ? each : {};
    if (typeof path !== 'string' || checkName(path) !== path || path === '' || path === MANIFEST_FILE) {
      return refuse(
        `${MANIFEST_FILE}: files: ${(JSON.stringify(path) ?? 'nothing').slice(0, 60)}: is no path of a file`,
      );
    }
    if (typeof sha256 !== 'string' || !SHA256.test(sha256)) {
      return refuse(`${MANIFEST_FILE}: files: ${path}: needs its sha256 in hex`);
    }
    files.set(path, sha256);
  }
  return files;
};

const fileIn = (value: unknown, field: string, files: ReadonlyMap<string, string>): string =>
  typeof value === 'string' && files.has(value)
    ? value
    : refuse(`${MANIFEST_FILE}: ${field}: must be one of the files`);

const readApp = (app: Json, files: ReadonlyMap<string, string>): LayerApp => {
  const roles = listIn(app, 'roles').map((role) =>
    typeof role === 'string' ? role : refuse(`${MANIFEST_FILE}: webapps: roles: must be names`),
  );
  return { name: String(app.name), file: fileIn(app.file, 'webapps: file', files), roles };
};

const readService = (given: unknown, files: ReadonlyMap<string, string>): LayerService => {
  const { module, port = 0 } = isObject(given) ? given : {};
  const path = fileIn(module, 'service: module', files);
  if (!MODULE.test(path)) refuse(`${MANIFEST_FILE}: service: module: must be a JavaScript or TypeScript module`);
  if (typeof port !== 'number' || !Number.isInteger(port) || port < 0 || port > MAX_PORT) {
    return refuse(`${MANIFEST_FILE}: service: port: must be 0 to ${MAX_PORT}`);
  }
  return { module: path, port };
};
