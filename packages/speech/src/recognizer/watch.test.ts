import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import type { EngineChild } from './child.ts';
import type { ToEngine } from './messages.ts';
import { watchChild } from './watch.ts';

const BEAT_MS = 1000;
const MIB = 2 ** 20;

/** A process's end of the line that notes what it is told. */
const createEnd = () => {
  const asked: number[] = [];
  const killed: string[] = [];
  const child: EngineChild = {
    pid: 1,
    gone: new Promise(() => undefined),
    send: (message: ToEngine) => {
      if (message.kind === 'ping') asked.push(message.id);
      return true;
    },
    kill: (why) => {
      killed.push(why);
    },
  };
  return { child, asked, killed };
};

const settle = () => new Promise((resolve) => process.nextTick(resolve));

describe('watching an engine process', () => {
  it('ends it when it has not answered several times', (context) => {
    mock.timers.enable({ apis: ['setInterval'] });
    context.after(() => mock.timers.reset());
    const { child, killed } = createEnd();
    const watch = watchChild(child, { heartbeatMs: BEAT_MS, memoryLimitBytes: 0, onTooLarge: () => undefined });
    mock.timers.tick(6 * BEAT_MS);
    assert.deepEqual(killed, []);
    mock.timers.tick(BEAT_MS);
    assert.match(killed[0]!, /did not answer for 6 s/);
    watch.stop();
  });

  it('asks for a fresh one when it holds too much after some work', async (context) => {
    mock.timers.enable({ apis: ['setInterval'] });
    context.after(() => mock.timers.reset());
    const { child, asked } = createEnd();
    let tooLarge = 0;
    const watch = watchChild(child, {
      heartbeatMs: BEAT_MS,
      memoryLimitBytes: 200 * MIB,
      onTooLarge: () => {
        tooLarge += 1;
      },
    });
    const answer = async (rssBytes: number) => {
      watch.onPong({ kind: 'pong', id: asked.at(-1)!, rssBytes });
      await settle();
      mock.timers.tick(BEAT_MS);
    };
    await answer(100 * MIB);
    await answer(300 * MIB);
    assert.equal(tooLarge, 0);
    for (let count = 0; count < 50; count += 1) watch.countServed();
    await answer(199 * MIB);
    assert.equal(tooLarge, 0);
    await answer(300 * MIB);
    assert.equal(tooLarge, 1);
    watch.stop();
  });

  it('tells 0 for a process that goes before it answers', async () => {
    const { child } = createEnd();
    const watch = watchChild(child, { heartbeatMs: BEAT_MS, memoryLimitBytes: 0, onTooLarge: () => undefined });
    const rss = watch.rssBytes();
    watch.stop();
    assert.equal(await rss, 0);
  });
});
