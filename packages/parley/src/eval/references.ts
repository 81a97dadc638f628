/** Recordings of a folder, at any depth, with what is known of them: the text, words with times, turns of speakers. */
import { readdir, readFile } from 'node:fs/promises';
import { extname, join, relative } from 'node:path';
import { type Named, readCtm, readRttm, readStm, readTrans, readTrn, readUem, type SpokenSpan } from './annotations.ts';
import type { Span, Turn } from './diarization-errors.ts';
import type { TimedWord } from './word-times.ts';

/** What people wrote down of one recording; times are seconds. */
export type Reference = {
  readonly text?: string;
  readonly words?: readonly TimedWord[];
  readonly turns?: readonly Turn[];
  /** What is scored of the speakers; the whole recording when not given. */
  readonly scored?: readonly Span[];
  /** What is left out of the score of the words. */
  readonly ignored: readonly Span[];
};

/** `name` is the path below the folder. */
export type Recording = { readonly name: string; readonly path: string; readonly reference: Reference };

/** A file that could not be used, and why. */
export type Fault = { readonly file: string; readonly reason: string };

export type Found = { readonly recordings: readonly Recording[]; readonly faults: readonly Fault[] };

const AUDIO: ReadonlySet<string> = new Set([
  ...['.wav', '.flac', '.mp3', '.ogg', '.oga', '.opus', '.m4a', '.mp4', '.aac', '.webm', '.weba', '.amr', '.3gp'],
  ...['.wma', '.aif', '.aiff', '.aifc', '.caf', '.au', '.wv', '.mka', '.mkv', '.mov'],
]);
const TRANS = '.trans.txt';

/** What the reference files of one folder say, by recording (its name without ending). */
type Notes = {
  readonly texts: Map<string, string>;
  readonly spoken: Map<string, SpokenSpan[]>;
  readonly words: Map<string, TimedWord[]>;
  readonly turns: Map<string, Turn[]>;
  readonly scored: Map<string, Span[]>;
};

/** Puts into the notes what one file says; returns the recordings it names. */
type Reader = (notes: Notes, text: string) => readonly Named<unknown>[];

const takeTexts =
  (read: (text: string) => readonly Named<string>[]): Reader =>
  ({ texts }, text) => {
    const named = read(text);
    for (const { id, value } of named) texts.set(id, value);
    return named;
  };

const takeLists =
  <T>(pick: (notes: Notes) => Map<string, T[]>, read: (text: string) => readonly Named<T>[]) =>
  (stem: string | undefined): Reader =>
  (notes, text) => {
    // A file named as a recording is about that one, whatever its lines call it.
    const named = read(text).map(({ id, value }) => ({ id: stem ?? id, value }));
    for (const { id, value } of named) {
      const list = pick(notes).get(id);
      if (list) list.push(value);
      else pick(notes).set(id, [value]);
    }
    return named;
  };

const LISTS: Readonly<Record<string, (stem: string | undefined) => Reader>> = {
  '.stm': takeLists((notes) => notes.spoken, readStm),
  '.ctm': takeLists((notes) => notes.words, readCtm),
  '.rttm': takeLists((notes) => notes.turns, readRttm),
  '.uem': takeLists((notes) => notes.scored, readUem),
};

/** How a file is to be read; undefined for what is no reference. */
const readerOf = (file: string, stems: ReadonlySet<string>): Reader | undefined => {
  const lower = file.toLowerCase();
  const ending = extname(lower);
  const stem = stemOf(file);
  if (lower.endsWith(TRANS)) return takeTexts(readTrans);
  if (ending === '.trn') return takeTexts(readTrn);
  if (ending === '.txt')
    return stems.has(stem) ? takeTexts((text) => [{ id: stem, value: text.replace(/^\ufeff/, '') }]) : undefined;
  return LISTS[ending]?.(stems.has(stem) ? stem : undefined);
};

const stemOf = (file: string): string => file.slice(0, file.length - extname(file).length);

const byStart = <T extends Span>(spans: readonly T[]): T[] => spans.toSorted((a, b) => a.start - b.start);

/** The text of a plain file goes before that of STM, and that before the words of CTM. */
const toReference = (notes: Notes, stem: string): Reference => {
  const spoken = byStart(notes.spoken.get(stem) ?? []);
  const words = notes.words.has(stem) ? byStart(notes.words.get(stem)!) : undefined;
  const text =
    notes.texts.get(stem) ??
    (spoken.length > 0 ? spoken.map((span) => span.text).join(' ') : words?.map(({ word }) => word).join(' '));
  const turns = notes.turns.get(stem);
  const scored = notes.scored.get(stem);
  return {
    ...(text !== undefined && { text }),
    ...(words && { words }),
    ...(turns && { turns }),
    ...(scored && { scored }),
    ignored: notes.texts.has(stem) ? [] : spoken.filter(({ ignored }) => ignored),
  };
};

const readFolder = async (folder: string, files: readonly string[]): Promise<Found> => {
  const audio = files.filter((file) => AUDIO.has(extname(file).toLowerCase()));
  const stems = new Set(audio.map(stemOf));
  const notes: Notes = {
    texts: new Map(),
    spoken: new Map(),
    words: new Map(),
    turns: new Map(),
    scored: new Map(),
  };
  const faults: Fault[] = [];
  for (const file of files) {
    const read = readerOf(file, stems);
    if (!read) continue;
    try {
      const named = read(notes, await readFile(join(folder, file), 'utf8'));
      const missing = new Set(named.map(({ id }) => id).filter((id) => !stems.has(id)));
      for (const id of missing) faults.push({ file, reason: `there is no recording ${id} beside it.` });
    } catch (thrown) {
      faults.push({ file, reason: (thrown as Error).message });
    }
  }
  const recordings = audio.map((file) => ({
    name: file,
    path: join(folder, file),
    reference: toReference(notes, stemOf(file)),
  }));
  return { recordings, faults };
};

/**
 * The recordings below `dir` in order of their names. Files that cannot be read, and references to recordings that are
 * not there, come as faults. Rejects with an Error when there is no such folder.
 */
export const findRecordings = async (dir: string): Promise<Found> => {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true }).catch((cause: NodeJS.ErrnoException) => {
    throw new Error(`${dir} cannot be read: ${cause.code === 'ENOENT' ? 'there is no such folder' : cause.code}.`);
  });
  const folders = Map.groupBy(
    entries.filter((entry) => !entry.isDirectory()),
    ({ parentPath }) => parentPath,
  );
  const found: Found[] = [];
  for (const [folder, files] of [...folders].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const near = relative(dir, folder);
    const one = await readFolder(folder, files.map(({ name }) => name).sort());
    found.push({
      recordings: one.recordings.map((each) => ({ ...each, name: join(near, each.name) })),
      faults: one.faults.map((each) => ({ ...each, file: join(near, each.file) })),
    });
  }
  return { recordings: found.flatMap((one) => one.recordings), faults: found.flatMap((one) => one.faults) };
};
