/** Installs an archive, or puts a newer one in the place of what is installed. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SYSTEM_SPACE } from '../domains/types.ts';
import { isObject, type Json } from '../rest/json.ts';
import { digestArchive } from './archive.ts';
import { planInstall, unite, without } from './bring.ts';
import { refuse } from './fault.ts';
import { isUnpacked, keepPart, openPart } from './folder.ts';
import { MAX_METADATA_BYTES } from './limits.ts';
import type { Manifest } from './manifest.ts';
import { ownedElsewhere, toTime } from './orders.ts';
import { type Current, NOTHING, type Order, type Owned, putCurrent, putLeft, type Rows } from './rows.ts';
import { checkSeen, commit, link, type Run, type RunnerParts, settle, toLine } from './run.ts';
import { checkSignature } from './signature.ts';
import { readManifest, unpack } from './unpack.ts';

export const install = async (parts: RunnerParts, run: Run, signal: AbortSignal): Promise<Order['status']> => {
  const { folder, rows } = parts;
  const { order, trace } = run;
  const { file, md5 } = order;
  const current = await rows.current(order);
  if (order.operation === 'update' && !current) refuse('nothing is installed under this prefix');
  trace.add(`${order.operation} ${file}`);
  const path = join(folder, file);
  const { sha512, sizeBytes, md5: found } = await digestArchive(path, signal);
  if (found !== md5) refuse('the archive was changed after it was ordered');
  if (parts.allowsUnsigned) trace.add('signature: not asked for');
  else await checkSignature(path, file, sha512, parts.vendorKeys);
  if (current?.md5 === md5 && (await isUnpacked(folder, md5))) {
    trace.add('the same is installed');
    await parts.store.commit(SYSTEM_SPACE, await settle(parts, run, { status: 'identical' }));
    return 'identical';
  }
  checkSeen(run, current);
  // It could not be read when this was ordered: that is told before anything is unpacked.
  if (order.manifest === '') await readManifest({ folder, file, sizeBytes });
  const part = await openPart(folder);
  const { manifest, sha256, files, bytes } = await unpack({ folder, file, sizeBytes }, part, signal);
  trace.add(`${manifest.name} ${manifest.version}: ${files} files, ${bytes} bytes`);
  // Whoever ordered it may have been shown another manifest, or none that could be read.
  if (sha256 !== order.manifest) refuse('the manifest is not the one that was checked when this was ordered');
  const metadata = await readMetadata(part, manifest);
  const { parts: written, owned } = await planInstall(
    run.target,
    manifest,
    metadata,
    await claimsOf(rows, order, current),
  );
  await keepPart(folder, part, md5);
  trace.add(toLine(owned));
  const settled = await settle(parts, run, { status: 'installed' });
  const next = toCurrent(parts, run, manifest, owned);
  const left = (await rows.left(order)).filter((id) => !owned.classes.includes(id));
  await commit(parts, run, written, [...settled, putCurrent(next), putLeft(order, left)]);
  await link(parts, run, md5);
  return 'installed';
};

const toCurrent = (
  { clock, server }: RunnerParts,
  { order, trace }: Run,
  manifest: Manifest,
  owned: Owned,
): Current => {
  const { by: _by, isAll: _isAll, manifest: _sha, seen: _seen, isClearing: _clearing, ...shown } = order;
  return {
    ...shown,
    status: 'installed',
    dt: toTime(clock.now()),
    trace: trace.text(),
    name: manifest.name,
    version: manifest.version,
    owned,
    server: server(),
    service: manifest.service ?? null,
  };
};

const claimsOf = async (rows: Rows, order: Order, current: Current | undefined) => {
  const elsewhere = await ownedElsewhere(rows, order);
  const mine = current?.owned ?? NOTHING;
  const left = { ...NOTHING, classes: await rows.left(order) };
  return { known: unite([mine, elsewhere, left]), former: without(mine, elsewhere) };
};

const readMetadata = async (folder: string, { webapps }: Manifest): Promise<Map<string, Json>> => {
  const found = new Map<string, Json>();
  for (const { name, file } of webapps) {
    const bytes = await readFile(join(folder, file));
    const read = bytes.length > MAX_METADATA_BYTES ? undefined : parse(bytes.toString('utf8'));
    found.set(
      name,
      isObject(read) ? read : refuse(`${file}: must be a JSON object of at most ${MAX_METADATA_BYTES} bytes`),
    );
  }
  return found;
};

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
