/** A disk of a few bytes that a test can fill: a tmpfs, where mounting is allowed. */
import { execFileSync } from 'node:child_process';
import { mkdir } from 'node:fs/promises';

export type SmallDisk = { readonly path: string; unmount(): void } | { readonly skipped: string };

/** Mounts it at a new folder; `skipped` says why there is none. */
export const mountSmallDisk = async (path: string, sizeBytes: number): Promise<SmallDisk> => {
  await mkdir(path);
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return { skipped: 'mounting needs Linux and root' };
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeBytes},mode=0700`, 'tmpfs', path], { stdio: 'pipe' });
  } catch (thrown) {
    const said = String((thrown as { stderr?: Buffer }).stderr ?? '').trim();
    return { skipped: `mounting is not allowed here (${said})` };
  }
  // Lazily: a process that is just ending may still hold a file.
  return { path, unmount: () => void execFileSync('umount', ['-l', path], { stdio: 'pipe' }) };
};
