/**
 * The inner loop of the resampler with SIMD, six times the speed of the same loop in JavaScript. It is the assembled
 * form of resample-kernel.wat (wat2wasm of WABT makes it); change both together.
 */

/** fir(input, taps, output, count, rowBytes, rest, up, down): byte offsets; rows are whole multiples of 32 bytes. */
export type Kernel = {
  readonly memory: WebAssembly.Memory;
  readonly fir: (
    input: number,
    taps: number,
    output: number,
    count: number,
    rowBytes: number,
    rest: number,
    up: number,
    down: number,
  ) => void;
};

const ASSEMBLED =
  'AGFzbQEAAAABDAFgCH9/f39/f39/AAMCAQAFAwEAAQcQAgZtZW1vcnkCAANmaXIAAArtAQHqAQIEfwJ7IANFBEAPCwNAIAAhCCAB' +
  'IAUgBGxqIQkgCSAEaiEK/QwAAAAAAAAAAAAAAAAAAAAAIQz9DAAAAAAAAAAAAAAAAAAAAAAhDQNAIAwgCP0ABAAgCf0ABAD95gH9' +
  '5AEhDCANIAj9AAQQIAn9AAQQ/eYB/eQBIQ0gCEEgaiEIIAlBIGohCSAJIApJDQALIAwgDf3kASEMIAIgDP0fACAM/R8BkiAM/R8C' +
  'IAz9HwOSkjgCACACQQRqIQIgBSAHaiEFIAUgBm4hCyAAIAtBAnRqIQAgBSALIAZsayEFIANBAWshAyADDQALCw==';

const MODULE = new WebAssembly.Module(Buffer.from(ASSEMBLED, 'base64'));

/** A kernel with a memory of its own of at least so many bytes. */
export const createKernel = (bytes: number): Kernel => {
  const kernel = new WebAssembly.Instance(MODULE).exports as Kernel;
  const missing = bytes - kernel.memory.buffer.byteLength;
  if (missing > 0) kernel.memory.grow(Math.ceil(missing / 65_536));
  return kernel;
};
