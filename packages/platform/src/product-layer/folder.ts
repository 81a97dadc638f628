/** The folder of a site's layers: archives lie in it; what is installed lies in `<md5>/`, and links name it. */
import { mkdir, readdir, rename, rm, stat, symlink } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { createUuid } from '@parley/kit/ids.ts';

const UNPACKED = /^[0-9a-f]{32}$/;
const PART = '.part-';
const LINKS = 'installed';

export const unpackedAt = (folder: string, md5: string): string => join(folder, md5);

export const isUnpacked = async (folder: string, md5: string): Promise<boolean> =>
  (await stat(unpackedAt(folder, md5)).catch(() => undefined))?.isDirectory() === true;

/** An empty folder that becomes `<md5>` when what is in it is whole. */
export const openPart = async (folder: string): Promise<string> => {
  const part = join(folder, `${PART}${createUuid()}`);
  await mkdir(part, { recursive: true, mode: 0o755 });
  return part;
};

/** Puts it in its place in one step; one that is there already is the same. */
export const keepPart = async (folder: string, part: string, md5: string): Promise<void> => {
  try {
    await rename(part, unpackedAt(folder, md5));
  } catch (thrown) {
    if (!(await isUnpacked(folder, md5))) throw thrown;
    await rm(part, { recursive: true, force: true });
  }
};

/** Makes `installed/<domain>/<prefix>` lead to what is installed, in one step; undefined removes it. */
export const switchLink = async (
  folder: string,
  domain: string,
  prefix: string,
  md5: string | undefined,
): Promise<void> => {
  const place = join(folder, LINKS, domain);
  const link = join(place, prefix);
  if (md5 === undefined) {
    await rm(link, { force: true });
    return;
  }
  await mkdir(place, { recursive: true });
  const draft = join(place, `${PART}${createUuid()}`);
  await symlink(join('..', '..', md5), draft);
  await rename(draft, link);
};

/** Names of all links there are, `<domain>/<prefix>`, and of drafts of some. */
export const listLinks = async (folder: string): Promise<string[]> => {
  const entries = await readdir(join(folder, LINKS), { recursive: true, withFileTypes: true }).catch(() => []);
  const links = entries.filter((entry) => entry.isSymbolicLink());
  return links.map(({ parentPath, name }) => join(relative(join(folder, LINKS), parentPath), name));
};

/** `name` as `listLinks` tells it. */
export const dropLink = (folder: string, name: string): Promise<void> => rm(join(folder, LINKS, name), { force: true });

/** Removes what no installed layer lies in, and what was left half-done. */
export const sweep = async (folder: string, used: ReadonlySet<string>): Promise<void> => {
  for (const name of await readdir(folder).catch(() => [])) {
    const isLeft = name.startsWith(PART) || (UNPACKED.test(name) && !used.has(name));
    if (isLeft) await rm(join(folder, name), { recursive: true, force: true });
  }
};
