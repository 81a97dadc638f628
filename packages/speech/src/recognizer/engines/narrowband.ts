/**
 * Telephone audio for a PocketSphinx model that was trained on 16 kHz speech. Sound that ends near 4 kHz has other
 * cepstra than the model's, so its means and variances are moved to where narrowband speech lies: one linear map of the
 * 13 cepstra (MLLR, Leggetter and Woodland 1995) for the static, delta and second-delta streams alike, fitted by
 * `tools/narrowband/fit.py` on 196 telephone prompts at 16 kHz against the same through 8 kHz, G.711 and AMR.
 * Words that differ from those of the 16 kHz sound, without → with it: 60 prompts left out of the fit 48 → 20 %; five
 * readings by other voices 22 → 15 % (G.711), 25 → 15 % (8 kHz), 46 → 31 % (AMR at 12.2 kbit/s).
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Bands that end at or below this are narrow, Hz. */
const NARROWBAND_HZ = 4100;

export const isNarrowband = (bandHz: number): boolean => bandHz > 0 && bandHz <= NARROWBAND_HZ;

/** In PocketSphinx's MLLR format. */
export const NARROWBAND_TRANSFORM = join(import.meta.dirname, 'narrowband.mllr');

/** The front end that the transform was fitted for. With another it would mean nothing, or not fit the model's streams. */
const FRONT_END: readonly string[] = [
  '-lowerf 130',
  '-upperf 6800',
  '-nfilt 25',
  '-transform dct',
  '-lifter 22',
  '-feat 1s_c_d_dd',
  '-svspec 0-12/13-25/26-38',
  '-cmn batch',
];

/** Whether the acoustic model in this folder has the front end that the transform was fitted for. */
export const takesNarrowband = async (hmm: string): Promise<boolean> => {
  const lines = (await readFile(join(hmm, 'feat.params'), 'utf8')).split('\n').map((line) => line.trim());
  return FRONT_END.every((parameter) => lines.includes(parameter));
};
