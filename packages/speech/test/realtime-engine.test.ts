/** Sessions over the real streaming engine process: many at once, its death, and that nothing is left open. */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createSilentLog } from '@parley/kit/log.ts';
import { failOnLeaks } from '@parley/kit/testing/leaks.ts';
import { createLatch, within } from '@parley/kit/testing/wait.ts';
import { problem } from '../src/core/codes.ts';
import type { RealtimeConfig, RealtimeEvent, RealtimeSession } from '../src/core/realtime.ts';
import type { Caller, ModelInfo } from '../src/core/types.ts';
import { createScheduler } from '../src/pipeline/scheduler.ts';
import { createRealtime } from '../src/realtime/realtime.ts';
import type { Recognizer } from '../src/recognizer/recognizer.ts';
import type { StreamingRecognizer } from '../src/recognizer/streaming.ts';
import { startStreamingRecognizer } from '../src/recognizer/streaming-host.ts';
import { joined, pcmAt, RATE, say } from './realtime-client.ts';
import { copyModel, never, readModel, waitUntil } from './recognizer-fixtures.ts';

failOnLeaks();

const DIGITS = 'transfer three five seven nine';
const CALLER: Caller = { keyId: 'k', name: 'k', admin: false, priority: 'batch', models: ['*'] };
const MODEL = {
  id: 'live',
  revision: '1',
  streaming: true,
  languages: ['en'],
  capabilities: {},
} as unknown as ModelInfo;
const FINAL: ModelInfo = { ...MODEL, id: 'final', streaming: false };
const CONFIG: RealtimeConfig = {
  format: { encoding: 'pcm16', rate: RATE },
  turnDetection: { threshold: 0.5, prefixPaddingMs: 300, silenceDurationMs: 500 },
  language: undefined,
  hotwords: [],
  punctuate: undefined,
  itn: undefined,
};
const MANUAL: RealtimeConfig = { ...CONFIG, turnDetection: null };
const LIMITS = { maxSessions: 64, maxSessionMs: 0, idleMs: 0, noAudioMs: 0, pingMs: 0 };

const startEngine = async (): Promise<StreamingRecognizer> =>
  startStreamingRecognizer(await readModel('online-transducer'), { log: createSilentLog(), startTimeoutMs: 30_000 });

/** Counts the streams that are open in a recogniser. */
const counting = (recognizer: StreamingRecognizer) => {
  const live = new Set<object>();
  return {
    live,
    recognizer: {
      ...recognizer,
      openStream: (listener, options) => {
        const one = {};
        live.add(one);
        const stream = recognizer.openStream(
          {
            ...listener,
            onFinal: (recognition) => {
              live.delete(one);
              listener.onFinal(recognition);
            },
            onLost: (reason) => {
              live.delete(one);
              listener.onLost(reason);
            },
          },
          options,
        );
        return {
          ...stream,
          close: () => {
            live.delete(one);
            stream.close();
          },
        };
      },
    } satisfies StreamingRecognizer,
  };
};

const createSessions = (recognizer: StreamingRecognizer, final?: Recognizer) => {
  let leases = 0;
  const realtime = createRealtime({
    resolve: async () => MODEL,
    resolveFinal: async () => FINAL,
    lease: async ({ id }) => {
      leases += 1;
      return {
        recognizer: id === FINAL.id ? final! : recognizer,
        [Symbol.asyncDispose]: async () => {
          leases -= 1;
        },
      };
    },
    scheduler: createScheduler(() => 1),
    finalModel: final ? FINAL.id : '',
    maxUtteranceSec: 20,
    text: { punctuatorFor: () => undefined, byDefault: { punctuate: false, itn: false } },
    hotwords: { enabled: true, defaultScore: 1.5 },
    limits: LIMITS,
    maxBufferedSec: 30,
    log: createSilentLog(),
  });
  const open = async (config: RealtimeConfig = CONFIG) => {
    const place = await realtime.reserve(CALLER, { model: undefined, finalModel: undefined }, never);
    const events: RealtimeEvent[] = [];
    let wake = Promise.withResolvers<void>();
    const session = await place.open(config, (event) => {
      events.push(event);
      wake.resolve();
      wake = Promise.withResolvers();
    });
    const find = async <T extends RealtimeEvent['type']>(type: T, count = 1) => {
      for (;;) {
        const found = events.filter((event) => event.type === type);
        if (found.length >= count) return found[count - 1] as Extract<RealtimeEvent, { type: T }>;
        await wake.promise;
      }
    };
    return {
      session,
      events,
      wait: <T extends RealtimeEvent['type']>(type: T, count = 1) => within(find(type, count), type),
      [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
    };
  };
  return { open, active: realtime.active, leases: () => leases };
};

const speak = async (session: RealtimeSession, samples: Int16Array): Promise<void> => {
  const bytes = pcmAt(samples, RATE);
  for (let at = 0; at < bytes.length; at += 3200) await session.append(bytes.subarray(at, at + 3200));
};

describe('streams of one model', () => {
  it('are decoded together, each to its own text', async () => {
    await using engine = await startEngine();
    const { recognizer, live } = counting(engine);
    const { open, active, leases } = createSessions(recognizer);
    const names = ['transfer-digits', 'hello-operator', 'cancel-payment', 'account-balance'];
    const texts = [DIGITS, 'hello operator', 'cancel payment goodbye', 'account balance one two six'];
    const sounds = await Promise.all(names.map((name) => say(name)));
    const sessions = await Promise.all(Array.from({ length: 16 }, () => open()));
    assert.deepEqual([active(), leases()], [16, 16]);
    await Promise.all(sessions.map(({ session }, index) => speak(session, sounds[index % 4]!)));
    const heard = await Promise.all(sessions.map(({ wait }) => wait('completed')));
    assert.deepEqual(
      heard.map(({ transcript }) => transcript),
      sessions.map((_, index) => texts[index % 4]),
    );
    await Promise.all(sessions.map((one) => one[Symbol.asyncDispose]()));
    assert.deepEqual([active(), leases(), live.size], [0, 0, 0]);
  });

  it('are closed wherever a session ends', async () => {
    await using engine = await startEngine();
    const { recognizer, live } = counting(engine);
    const { open, active, leases } = createSessions(recognizer);
    const digits = await say('transfer-digits');
    const steps: ((session: RealtimeSession) => Promise<unknown>)[] = [
      async () => undefined,
      (session) => speak(session, digits.subarray(0, 1.5 * RATE)),
      (session) => speak(session, digits.subarray(0, 1.5 * RATE)).then(() => session.clear()),
      (session) => speak(session, digits.subarray(0, 1.5 * RATE)).then(() => session.commit()),
      (session) => speak(session, joined(digits, digits)),
      async (session) => void session.append(pcmAt(joined(digits, digits), RATE)),
    ];
    for (const [index, step] of steps.entries()) {
      await using one = await open(index % 2 === 0 ? CONFIG : MANUAL);
      await step(one.session);
      await one[Symbol.asyncDispose]();
      assert.deepEqual([active(), leases(), live.size], [0, 0, 0], `step ${index}`);
    }
  });
});

describe('when the engine dies', () => {
  it('tells the sessions that were speaking, and hears their utterance once more', async () => {
    await using engine = await startEngine();
    const { open } = createSessions(engine);
    const digits = await say('transfer-digits');
    await using speaking = await open();
    await using silent = await open();
    await speak(speaking.session, digits.subarray(0, 2 * RATE));
    await speaking.wait('text');
    process.kill(engine.pid!, 'SIGKILL');
    const { problem: told } = await speaking.wait('error');
    assert.equal(told.code, 'inference_failed');
    await speak(speaking.session, digits.subarray(2 * RATE));
    assert.equal((await speaking.wait('completed')).transcript, DIGITS);
    const deltas = speaking.events.flatMap((event) => (event.type === 'text' ? event.delta : []));
    assert.equal(deltas.join(''), DIGITS);
    await speak(silent.session, digits);
    assert.equal((await silent.wait('completed')).transcript, DIGITS);
    assert.ok(!silent.events.some(({ type }) => type === 'error'));
  });

  it('gives an utterance up at the second death, and goes on with the next', async () => {
    await using engine = await startEngine();
    const { open } = createSessions(engine);
    const digits = await say('transfer-digits');
    await using one = await open(MANUAL);
    await speak(one.session, digits);
    await one.wait('text');
    const { pid } = engine;
    process.kill(pid!, 'SIGKILL');
    await one.wait('error');
    await waitUntil(() => (engine.pid === pid ? undefined : engine.pid), 'the next engine');
    process.kill(engine.pid!, 'SIGKILL');
    await one.session.commit();
    assert.equal((await one.wait('failed')).problem.code, 'inference_failed');
    await speak(one.session, digits);
    await one.session.commit();
    assert.equal((await one.wait('completed')).transcript, DIGITS);
  });

  it('refuses a model that cannot be loaded, with the reason', async () => {
    await using copy = await copyModel('online-transducer');
    await rm(copy.model.files.joiner!);
    await assert.rejects(
      startStreamingRecognizer(copy.model, { log: createSilentLog(), startTimeoutMs: 30_000 }),
      (thrown: { code: string; cause: Error }) =>
        thrown.code === 'model_unavailable' && thrown.cause.message.includes('joiner is missing'),
    );
    const stop = new AbortController();
    const starting = startStreamingRecognizer(await readModel('online-transducer'), {
      log: createSilentLog(),
      startTimeoutMs: 30_000,
      signal: stop.signal,
    });
    stop.abort(new Error('not wanted'));
    await assert.rejects(starting, /not wanted/);
  });
});

describe('a client that is ahead of the engine', () => {
  it('waits for room, and every sample is heard', async () => {
    await using engine = await startEngine();
    // An engine that is busy elsewhere: what is pushed stays undecoded until the latch opens.
    const latch = createLatch();
    const held: (() => void)[] = [];
    const slow: StreamingRecognizer = {
      ...engine,
      openStream: (listener, options) => {
        const stream = engine.openStream(listener, options);
        const later = (work: () => void): void => void (latch.isOpen() ? work() : held.push(work));
        return {
          push: (samples, rate) => later(() => stream.push(samples, rate)),
          finish: () => later(() => stream.finish()),
          close: () => stream.close(),
        };
      },
    };
    const { open } = createSessions(slow);
    await using one = await open(MANUAL);
    const digits = await say('transfer-digits');
    const long = joined(...Array.from({ length: 10 }, () => digits));
    let done = false;
    const spoken = speak(one.session, long).then(() => {
      done = true;
    });
    for (let turn = 0; turn < 50; turn++) await nextTurn();
    assert.equal(done, false);
    latch.open();
    for (const work of held) work();
    await within(spoken, 'room');
    await one.session.commit();
    assert.equal((await one.wait('completed')).transcript, Array.from({ length: 10 }, () => DIGITS).join(' '));
  });
});

describe('a final model that fails', () => {
  it('leaves the live text standing, with a warning', async () => {
    await using engine = await startEngine();
    const broken: Recognizer = {
      ...engine,
      recognize: async () => {
        throw problem('inference_failed', 'It cannot.');
      },
    };
    // What a recogniser is, is told by its streams.
    Reflect.deleteProperty(broken, 'openStream');
    const { open, leases } = createSessions(engine, broken);
    await using one = await open();
    await speak(one.session, await say('transfer-digits'));
    assert.equal((await one.wait('completed')).transcript, DIGITS);
    assert.equal((await one.wait('warning')).warning.code, 'postprocessing_degraded');
    await one.session.useModels({ model: 'live', finalModel: null });
    assert.equal(leases(), 1);
    assert.equal(one.session.models().finalModel, undefined);
  });
});
