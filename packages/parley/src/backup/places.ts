/** Where an installation keeps what it must not lose, read from its settings. */
import { existsSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import type { CommandLine } from '@parley/kit/command-line.ts';
import { readSettings } from '@parley/kit/settings.ts';
import { isPostgres } from '@parley/kit/store/open.ts';
import { PLATFORM_SETTINGS } from '@parley/platform/settings.ts';
import { readSpoolPlace } from '@parley/speech/jobs/spool-place.ts';
import { SPEECH_SETTINGS } from '@parley/speech/settings.ts';

export type StorePlace = {
  /** Its folder in the archive: `platform`, `speech`, or `shared` for one of both. */
  readonly name: string;
  readonly place: string;
};

/** A folder or file outside the data folder; `name` is its folder in the archive. */
export type OutsidePlace = { readonly name: string; readonly path: string };

export type Places = {
  readonly dataDir: string;
  readonly stores: readonly StorePlace[];
  readonly outside: readonly OutsidePlace[];
  /** Where models lie. */
  readonly modelsDir: string;
  /** The folder of waiting uploads; undefined for a bucket. */
  readonly spoolDir: string | undefined;
  /** The file with settings; undefined where there is none. */
  readonly settingsFile: string | undefined;
  /** Sentences about what lies elsewhere and has to be kept by other means. */
  readonly elsewhere: readonly string[];
};

type Line = Pick<CommandLine, 'env' | 'file' | 'flags' | 'shared'>;

/** Throws an Error for settings that cannot be used. */
export const readPlaces = (line: Line): Places => {
  const speech = readSettings(SPEECH_SETTINGS, { section: 'speech', ...line }).values;
  const platform = readSettings(PLATFORM_SETTINGS, { section: 'platform', ...line }).values;
  const dataDir = resolve(platform.data_dir);
  const storage = platform['storage.url'];
  const spool = readSpoolPlace({
    url: speech['spool.url'],
    endpoint: speech['spool.endpoint'],
    region: speech['spool.region'],
    accessKey: speech['spool.access_key'],
    secretKey: speech['spool.secret_key'],
    dataDir,
  });
  const modelsDir = resolve(speech['asr.models_dir'] || join(dataDir, 'models'));
  const spoolDir = spool.kind === 'folder' ? resolve(spool.dir) : undefined;
  const keysFile = speech['auth.keys_file'];
  const outside = [
    ...(spoolDir === undefined ? [] : [{ name: 'spool', path: spoolDir }]),
    { name: 'models', path: modelsDir },
    ...(keysFile === '' ? [] : [{ name: 'keys', path: resolve(keysFile) }]),
  ].filter(({ path }) => !isInside(dataDir, path));
  return {
    dataDir,
    stores: storesOf(storage, dataDir),
    outside,
    modelsDir,
    spoolDir,
    settingsFile: settingsFileOf(line),
    elsewhere: [
      ...(platform.secret_key === '' ? [] : ['The setting secret_key: without it secrets in the rows cannot be read.']),
      ...(spool.kind === 'bucket' ? [`Uploads of unfinished jobs in ${spool.name}.`] : []),
      ...(platform['files.roots'].length === 0 ? [] : ['Attached files below files.roots.']),
    ],
  };
};

const storesOf = (storage: string, dataDir: string): StorePlace[] => {
  if (storage !== '') return [{ name: 'shared', place: isPostgres(storage) ? storage : resolve(storage) }];
  return ['platform', 'speech'].map((name) => ({ name, place: join(dataDir, `${name}.sqlite`) }));
};

const settingsFileOf = ({ shared, env }: Line): string | undefined => {
  const flag = shared.findLast((option) => option.startsWith('--config='));
  const path = resolve(flag?.slice('--config='.length) ?? (env.PARLEY_CONFIG || 'parley.yaml'));
  return existsSync(path) ? path : undefined;
};

/** Whether a path is a folder or lies below it. */
export const isInside = (folder: string, path: string): boolean => {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith('../');
};
