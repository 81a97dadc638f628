/**
 * Telephone audio for a model that was trained on 16 kHz speech. Sound that ends near 4 kHz leaves the upper half of the
 * model's features empty, which it never saw in training. The empty band is given a faint image of the lower one, as
 * speech has it: weaker the higher it lies, over a floor of soft noise. Word error without → with it: 36 real telephone
 * prompts (257 words) 68 → 55 %; five readings (71 words) cut to 8 kHz 32 → 39 %, as µ-law of 300-3400 Hz 37 → 37 %. A
 * full mirror image 6 dB louder gave 56, 41 and 49 %.
 */

/** Bands that end at or below this are filled, Hz. */
const NARROWBAND_HZ = 4100;
/** Of the image, before it is weakened with height. */
const IMAGE_GAIN = 0.5;
/** Peak of the noise, 16-bit steps. */
const NOISE_PEAK = 20;
const LOUDEST = 32_767;
/** Numerical Recipes' generator: the same noise every time, so that the same sound gives the same words. */
const NOISE_FACTOR = 1_664_525;
const NOISE_STEP = 1_013_904_223;
const NOISE_RANGE = 2 ** 32;

export const isNarrowband = (bandHz: number): boolean => bandHz > 0 && bandHz <= NARROWBAND_HZ;

/**
 * Samples at 16 kHz whose band above 4 kHz is filled. Turning every second sample over mirrors a spectrum about a
 * quarter of the rate, so that 0-4 kHz lands in 8-4 kHz; two averages of neighbours then weaken it by cos²(πf/16000).
 */
export const fillUpperBand = (samples: Int16Array): Int16Array => {
  const filled = new Int16Array(samples.length);
  let [one, two, noise] = [0, 0, 1];
  for (let index = 0; index < samples.length; index += 1) {
    const sample = samples[index]!;
    const mirrored = index % 2 === 0 ? sample : -sample;
    const image = (mirrored + 2 * one + two) / 4;
    [one, two] = [mirrored, one];
    noise = (Math.imul(noise, NOISE_FACTOR) + NOISE_STEP) >>> 0;
    const soft = (noise / NOISE_RANGE - 0.5) * 2 * NOISE_PEAK;
    filled[index] = Math.max(-LOUDEST, Math.min(LOUDEST, Math.round(sample + IMAGE_GAIN * image + soft)));
  }
  return filled;
};
