/* Runs in the audio thread: hands the microphone's samples over as 16-bit integers, a fifth of a second at a time. */
const SAMPLES_PER_MESSAGE = 4800;

class Microphone extends AudioWorkletProcessor {
  constructor() {
    super();
    this.waiting = new Int16Array(SAMPLES_PER_MESSAGE);
    this.filled = 0;
  }

  process([input]) {
    for (const sample of input?.[0] ?? []) {
      this.waiting[this.filled] = Math.max(-1, Math.min(1, sample)) * 32767;
      this.filled += 1;
      if (this.filled < SAMPLES_PER_MESSAGE) continue;
      this.port.postMessage(this.waiting.slice());
      this.filled = 0;
    }
    return true;
  }
}

registerProcessor('microphone', Microphone);
