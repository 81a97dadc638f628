/** Sessions at the pace of speech: what each says, and when each piece of it is due. Shared by service and bare engine. */
import { readFileSync } from 'node:fs';
import { testdata } from './service.ts';

export const RATE = 16_000;
/** Sound in one message, ms. */
const PIECE_MS = 40;
const PIECE_SAMPLES = (RATE * PIECE_MS) / 1000;
/** Sessions do not begin at the same moment. */
const STAGGER_MS = 37;
const PAUSE_SEC = 1.2;
const HEADER_BYTES = 44;
/** `close-menu` is left out: the small model mishears it now and then, whoever feeds it. */
const NAMES = ['transfer-digits', 'hello-operator', 'cancel-payment', 'account-balance', 'transfer-sales-wait'];

export type Script = { readonly samples: Int16Array; readonly texts: readonly string[] };

/** Recordings one after the other, with pauses, for at least so many seconds of sound and whole at the end. */
export const writeScript = (session: number, seconds: number): Script => {
  const lines = readFileSync(testdata('speech/transcription'), 'utf8').trim().split('\n');
  const texts = new Map(lines.map((line) => /^(.*) \((.*)\)$/.exec(line)!).map(([, text, name]) => [name!, text!]));
  const parts: Int16Array[] = [new Int16Array(0.5 * RATE)];
  const said: string[] = [];
  let length = 0;
  for (let turn = 0; length < seconds * RATE; turn += 1) {
    const name = NAMES[(session + turn) % NAMES.length]!;
    const bytes = readFileSync(testdata(`speech/${name}.wav`));
    const speech = new Int16Array(new Uint8Array(bytes.subarray(HEADER_BYTES)).buffer);
    parts.push(speech, new Int16Array(PAUSE_SEC * RATE));
    said.push(texts.get(name)!);
    length += speech.length + PAUSE_SEC * RATE;
  }
  return { samples: Int16Array.from(parts.flatMap((part) => [...part])), texts: said };
};

/** Calls `onPiece` for every piece of every session when it is due; resolves after the last one. */
export const pace = async (
  scripts: readonly Script[],
  onPiece: (session: number, samples: Int16Array, endSample: number) => void,
): Promise<void> => {
  const startMs = performance.now();
  const places = scripts.map(() => 0);
  const dueMs = (session: number): number =>
    startMs + session * STAGGER_MS + (places[session]! / PIECE_SAMPLES + 1) * PIECE_MS;
  for (;;) {
    const open = scripts
      .map((_, session) => session)
      .filter((session) => places[session]! < scripts[session]!.samples.length);
    if (open.length === 0) return;
    const now = performance.now();
    const waitMs = Math.min(...open.map(dueMs)) - now;
    if (waitMs > 0) {
      await new Promise((resolve) => setTimeout(resolve, waitMs));
      continue;
    }
    for (const session of open.filter((one) => dueMs(one) <= now)) {
      const { samples } = scripts[session]!;
      const from = places[session]!;
      places[session] = Math.min(samples.length, from + PIECE_SAMPLES);
      onPiece(session, samples.slice(from, places[session]), places[session]!);
    }
  }
};
