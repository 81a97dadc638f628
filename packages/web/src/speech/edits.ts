/** Corrections of a result, kept by this browser under the job's id; the oldest are forgotten. */
import { useCallback, useState } from 'react';
import { readStored, writeStored } from '../shared/hooks.ts';
import { type Edits, NO_EDITS } from './transcript.ts';

const INDEX_NAME = 'parley-edits';
const MAX_KEPT = 50;

const nameOf = (jobId: string): string => `${INDEX_NAME}-${jobId}`;
const isIds = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');
const isRecord = (value: unknown): boolean => typeof value === 'object' && value !== null;
const isEdits = (value: unknown): value is Edits =>
  isRecord(value) && isRecord((value as Edits).words) && isRecord((value as Edits).speakers);

const keep = (jobId: string, edits: Edits): void => {
  const ids = [jobId, ...(readStored(INDEX_NAME, isIds) ?? []).filter((one) => one !== jobId)];
  for (const old of ids.splice(MAX_KEPT)) localStorage.removeItem(nameOf(old));
  writeStored(INDEX_NAME, ids);
  writeStored(nameOf(jobId), edits);
};

export type Editing = {
  readonly edits: Edits;
  /** The text as it was recognised takes the correction away. */
  readonly setWord: (index: number, text: string, recognised: string) => void;
  readonly setSpeaker: (speaker: string, name: string) => void;
  readonly reset: () => void;
};

const withEntry = (entries: Readonly<Record<string, string>>, name: string, value: string | undefined) => {
  const { [name]: _before, ...rest } = entries;
  return value === undefined ? rest : { ...rest, [name]: value };
};

export const useEdits = (jobId: string): Editing => {
  const [edits, setEdits] = useState<Edits>(() => readStored(nameOf(jobId), isEdits) ?? NO_EDITS);
  const change = useCallback(
    (make: (before: Edits) => Edits) =>
      setEdits((before) => {
        const after = make(before);
        keep(jobId, after);
        return after;
      }),
    [jobId],
  );
  return {
    edits,
    setWord: useCallback(
      (index, text, recognised) =>
        change((before) => ({
          ...before,
          words: withEntry(before.words, String(index), text === recognised ? undefined : text),
        })),
      [change],
    ),
    setSpeaker: useCallback(
      (speaker, name) =>
        change((before) => ({ ...before, speakers: withEntry(before.speakers, speaker, name.trim() || undefined) })),
      [change],
    ),
    reset: useCallback(() => change(() => NO_EDITS), [change]),
  };
};
