/** Runs in the audio thread: hands the microphone's samples over as 16-bit integers, a tenth of a second at a time. */
const SAMPLES_PER_MESSAGE = 2400;
const FULL_SCALE = 32_767;

declare class AudioWorkletProcessor {
  readonly port: MessagePort;
}
declare const registerProcessor: (name: string, processor: unknown) => void;

class Microphone extends AudioWorkletProcessor {
  readonly waiting = new Int16Array(SAMPLES_PER_MESSAGE);
  filled = 0;

  process([input]: readonly (readonly Float32Array[])[]): boolean {
    for (const sample of input?.[0] ?? []) {
      this.waiting[this.filled] = Math.max(-1, Math.min(1, sample)) * FULL_SCALE;
      this.filled += 1;
      if (this.filled < SAMPLES_PER_MESSAGE) continue;
      this.port.postMessage(this.waiting.slice());
      this.filled = 0;
    }
    return true;
  }
}

registerProcessor('microphone', Microphone);
