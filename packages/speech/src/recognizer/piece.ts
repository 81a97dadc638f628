/** Samples that another process laid down as a file. */
import { closeSync, openSync, readSync } from 'node:fs';
import { EngineRefusal } from './engines/engine.ts';
import type { LaidUtterance, Utterance } from './recognizer.ts';

const fill = (samples: Int16Array, path: string): boolean => {
  const file = openSync(path, 'r');
  try {
    const bytes = new Uint8Array(samples.buffer);
    let at = 0;
    for (let got = -1; got !== 0 && at < bytes.length; at += got)
      got = readSync(file, bytes, at, bytes.length - at, at);
    return at === bytes.length;
  } finally {
    closeSync(file);
  }
};

/** The utterance with its samples in memory. Throws EngineRefusal when its file is not there or not whole. */
export const readPiece = ({ samples: laid, ...rest }: LaidUtterance): Utterance => {
  if (laid instanceof Int16Array) return { ...rest, samples: laid };
  const samples = new Int16Array(laid.length);
  let isWhole = false;
  try {
    isWhole = fill(samples, laid.path);
  } catch {
    // Told below, without the path: callers read it.
  }
  if (!isWhole) throw new EngineRefusal('The samples of a segment cannot be read.');
  return { ...rest, samples };
};
