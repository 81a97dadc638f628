/** The pool's rules with a recognizer made by hand (only for order and time), then with the real one. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Clock } from '@parley/kit/clock.ts';
import { createSilentLog } from '@parley/kit/log.ts';
import { problem } from '../src/core/codes.ts';
import { isUsable, openInstalled, type UsableModel } from '../src/models/installed.ts';
import { parseManifest, readManifest } from '../src/models/manifest.ts';
import { installFolder } from '../src/models/place.ts';
import { createPool, type Pool } from '../src/models/pool.ts';
import type { PoolOptions } from '../src/models/slots.ts';
import { startRecognizer } from '../src/recognizer/host.ts';
import { LoadFault } from '../src/recognizer/load.ts';
import type { EngineModel, Recognizer } from '../src/recognizer/recognizer.ts';

const MIB = 2 ** 20;
const never = new AbortController().signal;

const makeModel = (id: string, revision = '1', rssMib = 100): UsableModel => ({
  id,
  revision,
  dir: `/models/${id}@${revision}`,
  sizeBytes: 1000,
  installedAt: '2026-01-01T00:00:00.000Z',
  manifest: parseManifest({
    id,
    revision,
    kind: 'asr',
    family: 'transducer',
    files: {},
    resources: { approx_rss_mb: rssMib },
  }),
});

/** Time that stands until it is moved. */
const createHand = (): Clock & { move(ms: number): Promise<void> } => {
  let nowMs = 1000;
  const sleepers = new Set<{ at: number; wake: () => void }>();
  return {
    now: () => nowMs,
    delay: (ms, signal) =>
      new Promise((resolve, reject) => {
        const sleeper = { at: nowMs + ms, wake: resolve };
        sleepers.add(sleeper);
        signal?.addEventListener('abort', () => {
          sleepers.delete(sleeper);
          reject(signal.reason);
        });
      }),
    move: async (ms) => {
      nowMs += ms;
      for (const sleeper of sleepers) {
        if (sleeper.at > nowMs) continue;
        sleepers.delete(sleeper);
        sleeper.wake();
      }
      await settle();
    },
  };
};

/** Lets everything that can go on without time passing go on. */
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
};

type Stage = {
  readonly pool: Pool;
  readonly clock: ReturnType<typeof createHand>;
  /** Starts and ends of engines, in order. */
  readonly events: string[];
  readonly quarantined: string[];
};

const EVENT = ({ id, revision }: { id: string; revision: string }): string => `${id}@${revision}`;

const createStage = (
  models: readonly UsableModel[],
  options: Partial<PoolOptions> & { readonly startEngine?: (model: EngineModel) => Promise<void> } = {},
): Stage => {
  const clock = createHand();
  const events: string[] = [];
  const quarantined: string[] = [];
  const start = async (model: EngineModel): Promise<Recognizer> => {
    await options.startEngine?.(model);
    events.push(`+${EVENT(model)}`);
    return {
      facts: { sampleRate: 16_000 } as Recognizer['facts'],
      recognize: async () => ({ text: '', tokens: [] }),
      rssBytes: async () => 100 * MIB,
      pid: 1,
      [Symbol.asyncDispose]: async () => void events.push(`-${EVENT(model)}`),
    };
  };
  const pool = createPool({
    start,
    find: (ref) => models.find((model) => model.id === ref.id && model.revision === ref.revision),
    memoryBytes: 1000 * MIB,
    maxResident: 4,
    acquireTimeoutMs: 30_000,
    idleMs: 0,
    numThreads: 1,
    log: createSilentLog(),
    clock,
    onUnloadable: (ref, reason) => quarantined.push(`${EVENT(ref)}: ${reason}`),
    ...options,
  });
  return { pool, clock, events, quarantined };
};

const ref = (id: string, revision = '1') => ({ id, revision });

describe('the pool', () => {
  it('loads once for all who ask at the same time', async () => {
    const { pool, events } = createStage([makeModel('a')]);
    const leases = await Promise.all([1, 2, 3].map(() => pool.acquire(ref('a'), never)));
    assert.deepEqual(events, ['+a@1']);
    assert.equal(pool.residence(ref('a')).leases, 3);
    for (const lease of leases) await lease[Symbol.asyncDispose]();
    for (const lease of leases) await lease[Symbol.asyncDispose]();
    assert.equal(pool.residence(ref('a')).leases, 0);
    await pool[Symbol.asyncDispose]();
    assert.deepEqual(events, ['+a@1', '-a@1']);
  });

  it('sends the least recently used model out when one more would be too many', async () => {
    const { pool, clock, events } = createStage([makeModel('a'), makeModel('b'), makeModel('c')], { maxResident: 2 });
    for (const id of ['a', 'b']) {
      await pool.load(ref(id), never);
      await clock.move(1);
    }
    await pool.load(ref('a'), never);
    await pool.load(ref('c'), never);
    assert.deepEqual(events, ['+a@1', '+b@1', '-b@1', '+c@1']);
    await pool[Symbol.asyncDispose]();
  });

  it('keeps within the memory budget by what the models really take', async () => {
    const { pool, events } = createStage([makeModel('a', '1', 1), makeModel('b', '1', 150)], {
      memoryBytes: 200 * MIB,
    });
    await pool.load(ref('a'), never);
    await pool.load(ref('b'), never);
    assert.deepEqual(events, ['+a@1', '-a@1', '+b@1']);
    await pool[Symbol.asyncDispose]();
  });

  it('loads one model alone even when it is larger than the budget', async () => {
    const { pool, events } = createStage([makeModel('a', '1', 5000)]);
    await pool.load(ref('a'), never);
    assert.deepEqual(events, ['+a@1']);
    await pool[Symbol.asyncDispose]();
  });

  it('never unloads what is borrowed or pinned; whoever finds no room is told to come back', async () => {
    const models = ['a', 'b', 'c'].map((id) => makeModel(id));
    const { pool, clock, events } = createStage(models, { maxResident: 2 });
    const lease = await pool.acquire(ref('a'), never);
    assert.equal(await pool.pin(ref('b'), undefined, never), true);
    const waiting = pool.acquire(ref('c'), never);
    waiting.catch(() => undefined);
    await settle();
    await clock.move(30_000);
    await assert.rejects(waiting, { code: 'model_unavailable', retryAfterSec: 5 });
    assert.deepEqual(events, ['+a@1', '+b@1']);
    await lease[Symbol.asyncDispose]();
    await pool[Symbol.asyncDispose]();
  });

  it('gives the room to a waiter as soon as a lease ends', async () => {
    const { pool, events } = createStage([makeModel('a'), makeModel('b')], { maxResident: 1 });
    const lease = await pool.acquire(ref('a'), never);
    const waiting = pool.acquire(ref('b'), never);
    await settle();
    assert.deepEqual(events, ['+a@1']);
    await lease[Symbol.asyncDispose]();
    await (await waiting)[Symbol.asyncDispose]();
    assert.deepEqual(events, ['+a@1', '-a@1', '+b@1']);
    await pool[Symbol.asyncDispose]();
  });

  it('lets an idle model go after its time, not one in use or pinned', async () => {
    const models = ['a', 'b', 'c'].map((id) => makeModel(id));
    const { pool, clock, events } = createStage(models, { idleMs: 1000 });
    await pool.load(ref('a'), never);
    await pool.pin(ref('b'), true, never);
    const lease = await pool.acquire(ref('c'), never);
    await clock.move(999);
    assert.equal(events.includes('-a@1'), false);
    await clock.move(1);
    assert.deepEqual(events.slice(3), ['-a@1']);
    await lease[Symbol.asyncDispose]();
    await settle();
    await clock.move(1000);
    assert.deepEqual(events.slice(3), ['-a@1', '-c@1']);
    assert.equal(pool.residence(ref('b')).state?.name, 'resident');
    await pool[Symbol.asyncDispose]();
  });

  it('turns a pin over, and keeps a pinned model from being unloaded unless forced', async () => {
    const { pool, events } = createStage([makeModel('a')]);
    assert.equal(await pool.pin(ref('a'), undefined, never), true);
    await assert.rejects(pool.unload(ref('a'), { force: false, signal: never }), { code: 'model_pinned' });
    assert.equal(await pool.pin(ref('a'), undefined, never), false);
    await pool.unload(ref('a'), { force: false, signal: never });
    assert.deepEqual(events, ['+a@1', '-a@1']);
    await pool.unload(ref('a'), { force: false, signal: never });
    assert.equal(await pool.pin(ref('a'), false, never), false);
    await pool[Symbol.asyncDispose]();
  });

  it('drains a model that is unloaded while borrowed', async () => {
    const { pool, events } = createStage([makeModel('a')]);
    const lease = await pool.acquire(ref('a'), never);
    const unloaded = pool.unload(ref('a'), { force: false, signal: never });
    await settle();
    assert.equal(pool.residence(ref('a')).state?.name, 'draining');
    await lease[Symbol.asyncDispose]();
    await unloaded;
    assert.deepEqual(events, ['+a@1', '-a@1']);
    await pool[Symbol.asyncDispose]();
  });

  it('swaps a model without dropping a lease and carries its pin over', async () => {
    const { pool, clock, events } = createStage([makeModel('a', '1'), makeModel('a', '2')], { maxResident: 1 });
    await pool.pin(ref('a', '1'), true, never);
    const old = await pool.acquire(ref('a', '1'), never);
    await pool.swap(ref('a', '1'), ref('a', '2'), never);
    assert.equal(pool.residentRevision('a'), '2');
    const late = await pool.acquire(ref('a', '1'), never);
    assert.equal(late.recognizer, old.recognizer);
    await late[Symbol.asyncDispose]();
    await settle();
    await clock.move(2000);
    assert.deepEqual(events, ['+a@1', '+a@2']);
    await old[Symbol.asyncDispose]();
    await settle();
    assert.deepEqual(events, ['+a@1', '+a@2', '-a@1']);
    const state = pool.residence(ref('a', '2')).state;
    assert.equal(state?.name === 'resident' && state.pinned, true);
    await pool[Symbol.asyncDispose]();
  });

  it('swaps a revision for a fresh instance of itself', async () => {
    const { pool, clock, events } = createStage([makeModel('a')]);
    await pool.load(ref('a'), never);
    await pool.swap(ref('a'), ref('a'), never);
    await settle();
    await clock.move(2000);
    assert.deepEqual(events, ['+a@1', '+a@1', '-a@1']);
    assert.equal(pool.residence(ref('a')).state?.name, 'resident');
    await pool[Symbol.asyncDispose]();
  });

  it('keeps the old one serving when the new one cannot be loaded', async () => {
    const startEngine = async ({ revision }: EngineModel): Promise<void> => {
      if (revision === '2') throw problem('model_unavailable', 'no');
    };
    const { pool, events, quarantined } = createStage([makeModel('a', '1'), makeModel('a', '2')], { startEngine });
    await pool.load(ref('a', '1'), never);
    await assert.rejects(pool.swap(ref('a', '1'), ref('a', '2'), never), { code: 'model_unavailable' });
    assert.equal(pool.residentRevision('a'), '1');
    assert.deepEqual(events, ['+a@1']);
    assert.deepEqual(quarantined, []);
    await pool[Symbol.asyncDispose]();
  });

  it('tells of a model that kills its process, and tries again for the next request', async () => {
    let deaths = 1;
    const startEngine = async (): Promise<void> => {
      if (deaths-- > 0)
        throw problem('model_unavailable', 'gone', { cause: new LoadFault('SIGABRT: bad protobuf', true) });
    };
    const { pool, events, quarantined } = createStage([makeModel('a')], { startEngine });
    await assert.rejects(pool.acquire(ref('a'), never), { code: 'model_unavailable' });
    assert.deepEqual(quarantined, ['a@1: SIGABRT: bad protobuf']);
    await pool.load(ref('a'), never);
    assert.deepEqual(events, ['+a@1']);
    await pool[Symbol.asyncDispose]();
  });

  it('leaves when the caller does, and finishes the load for the others', async () => {
    const gate = Promise.withResolvers<void>();
    const { pool, events } = createStage([makeModel('a')], { startEngine: () => gate.promise });
    const controller = new AbortController();
    const gone = pool.acquire(ref('a'), controller.signal);
    const stays = pool.acquire(ref('a'), never);
    controller.abort(new Error('hung up'));
    await assert.rejects(gone, { message: 'hung up' });
    gate.resolve();
    await (await stays)[Symbol.asyncDispose]();
    assert.deepEqual(events, ['+a@1']);
    await pool[Symbol.asyncDispose]();
  });

  it('tells a request that the model is still loading, while an administrator waits for it', async () => {
    const gate = Promise.withResolvers<void>();
    const { pool, clock } = createStage([makeModel('a')], { startEngine: () => gate.promise });
    const loading = pool.load(ref('a'), never);
    const waiting = pool.acquire(ref('a'), never);
    waiting.catch(() => undefined);
    await settle();
    await clock.move(30_000);
    await assert.rejects(waiting, { code: 'model_unavailable', message: /still being loaded/ });
    gate.resolve();
    await loading;
    await pool[Symbol.asyncDispose]();
  });

  it('keeps a pin that was set while the next revision was loading', async () => {
    const held = Promise.withResolvers<void>();
    const startEngine = ({ revision }: EngineModel): Promise<void> =>
      revision === '2' ? held.promise : Promise.resolve();
    const { pool, clock } = createStage([makeModel('a'), makeModel('a', '2')], { startEngine });
    await pool.load(ref('a'), never);
    const swapping = pool.swap(ref('a'), ref('a', '2'), never);
    await pool.pin(ref('a'), true, never);
    held.resolve();
    await swapping;
    const { state } = pool.residence(ref('a', '2'));
    assert.equal(state?.name === 'resident' && state.pinned, true);
    await clock.move(5000);
    await pool[Symbol.asyncDispose]();
  });

  it('keeps a model that is wanted again while it drains', async () => {
    const { pool, events } = createStage([makeModel('a')]);
    const lease = await pool.acquire(ref('a'), never);
    const unloading = pool.unload(ref('a'), { force: false, signal: never });
    await settle();
    assert.equal(pool.residence(ref('a')).state?.name, 'draining');
    assert.equal(await pool.pin(ref('a'), true, never), true);
    await unloading;
    await lease[Symbol.asyncDispose]();
    await settle();
    const { state } = pool.residence(ref('a'));
    assert.equal(state?.name === 'resident' && state.pinned, true);
    assert.deepEqual(events, ['+a@1']);
    await pool[Symbol.asyncDispose]();
  });

  it('unloads what a swap left draining too', async () => {
    const { pool, events } = createStage([makeModel('a')]);
    await pool.load(ref('a'), never);
    await pool.swap(ref('a'), ref('a'), never);
    assert.deepEqual(pool.residentRevisions('a'), ['1']);
    await pool.unload(ref('a'), { force: false, signal: never });
    assert.deepEqual(events, ['+a@1', '+a@1', '-a@1', '-a@1']);
    assert.deepEqual(pool.residentRevisions('a'), []);
    await pool[Symbol.asyncDispose]();
  });

  it('refuses a model that is not installed', async () => {
    const { pool } = createStage([]);
    await assert.rejects(pool.acquire(ref('a'), never), { code: 'model_not_found' });
    await pool[Symbol.asyncDispose]();
  });
});

const FIXTURE = fileURLToPath(new URL('../../../testdata/models/offline-transducer', import.meta.url));

describe('the pool with the real recognizer', () => {
  const open = async (dataDir: string) => {
    const log = createSilentLog();
    const installed = await openInstalled({ modelsDir: join(dataDir, 'models'), dataDir, log });
    const manifest = await readManifest(FIXTURE);
    const models = [
      await installFolder(FIXTURE, manifest, installed),
      await installFolder(FIXTURE, { ...manifest, revision: 'next' }, installed),
    ] as const;
    const pool = createPool({
      start: (engineModel) => startRecognizer(engineModel, { log, startTimeoutMs: 60_000 }),
      find: ({ id, revision }) => [installed.find(id, revision)].find(isUsable),
      memoryBytes: 2000 * MIB,
      maxResident: 2,
      acquireTimeoutMs: 60_000,
      idleMs: 60_000,
      numThreads: 1,
      log,
    });
    return { pool, models };
  };
  const silence = { samples: new Int16Array(8000), sampleRate: 16_000, bandHz: 8000 };

  it('lends the demonstration model, drops nobody over four swaps, and leaves no process behind', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'parley-pool-'));
    const {
      pool,
      models: [first, second],
    } = await open(dataDir);
    const pids = new Set<number | undefined>();
    let served = 0;
    let over = false;
    const serving = { ref: first };
    const work = async (): Promise<void> => {
      while (!over) {
        await using lease = await pool.acquire(serving.ref, never);
        pids.add(lease.recognizer.pid);
        assert.equal(typeof (await lease.recognizer.recognize(silence, {}, never)).text, 'string');
        served += 1;
      }
    };
    const workers = Promise.all([work(), work(), work()]);
    workers.catch(() => {
      over = true;
    });
    for (const next of [second, first, first, second]) {
      await pool.swap(serving.ref, next, never);
      serving.ref = next;
      const before = served;
      while (!over && served < before + 5) await new Promise(setImmediate);
    }
    over = true;
    await workers;
    assert.ok(pool.residence(second).rssBytes > 10 * MIB);
    assert.equal(pool.residentRevision(first.id), 'next');
    assert.ok(pids.size >= 4);
    await pool[Symbol.asyncDispose]();
    for (const pid of pids) assert.throws(() => process.kill(pid ?? 0, 0), { code: 'ESRCH' });
    await rm(dataDir, { recursive: true, force: true });
  });
});
