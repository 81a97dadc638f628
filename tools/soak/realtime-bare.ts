/**
 * The bare engine at the same pace, in a process of its own: sherpa-onnx with the same model, all streams decoded
 * together, each utterance begun where the service began it. Tells when the first text of each was there.
 */
import { loadSherpa } from '../../packages/speech/src/recognizer/engines/sherpa-addon.ts';
import { pace, RATE, writeScript } from './realtime-pace.ts';
import { testdata } from './service.ts';

/** Places of utterances in samples of their session. */
export type BareUtterance = { readonly start: number; readonly end: number };
export type BareTask = { readonly seconds: number; readonly sessions: readonly (readonly BareUtterance[])[] };
/** ms from the moment the session's first sample was due; missing where no text came. */
export type BareResult = readonly (readonly (number | undefined)[])[];

const run = async ({ seconds, sessions }: BareTask): Promise<BareResult> => {
  const dir = testdata('models/online-transducer');
  const recognizer = new (loadSherpa().OnlineRecognizer)({
    featConfig: { sampleRate: RATE, featureDim: 80 },
    modelConfig: {
      transducer: { encoder: `${dir}/encoder.onnx`, decoder: `${dir}/decoder.onnx`, joiner: `${dir}/joiner.onnx` },
      tokens: `${dir}/tokens.txt`,
      numThreads: 1,
      debug: 0,
      provider: 'cpu',
    },
    decodingMethod: 'greedy_search',
    maxActivePaths: 4,
    enableEndpoint: false,
    rule1MinTrailingSilence: 10,
    rule2MinTrailingSilence: 10,
    rule3MinUtteranceLength: 1000,
  });
  const scripts = sessions.map((_, session) => writeScript(session, seconds));
  const firstMs: (number | undefined)[][] = sessions.map(() => []);
  const live = sessions.map(() => ({ index: 0, fed: 0, stream: recognizer.createStream() }));
  const begunMs: number[] = [];
  const decode = (): void => {
    for (;;) {
      const ready = live.filter(({ stream }) => recognizer.isReady(stream));
      if (ready.length === 0) return;
      recognizer.decodeStreams(ready.map(({ stream }) => stream));
      for (const one of ready) {
        const session = live.indexOf(one);
        if (firstMs[session]![one.index] !== undefined || recognizer.getResult(one.stream).text.trim() === '') continue;
        firstMs[session]![one.index] = performance.now() - begunMs[session]!;
      }
    }
  };
  await pace(scripts, (session, samples, endSample) => {
    begunMs[session] ??= performance.now() - (samples.length * 1000) / RATE;
    const one = live[session]!;
    const place = sessions[session]![one.index];
    if (!place) return;
    const from = Math.max(place.start, one.fed);
    if (endSample > from) {
      const heard = scripts[session]!.samples.subarray(from, endSample);
      one.stream.acceptWaveform({ samples: Float32Array.from(heard, (value) => value / 32_768), sampleRate: RATE });
      one.fed = endSample;
      decode();
    }
    if (endSample < place.end) return;
    live[session] = { index: one.index + 1, fed: one.fed, stream: recognizer.createStream() };
  });
  return firstMs;
};

process.once('message', async (task: BareTask) => {
  const result = await run(task);
  process.send!(result, () => process.disconnect());
});
