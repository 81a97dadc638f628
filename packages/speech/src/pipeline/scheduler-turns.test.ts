import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Recognizer } from '../recognizer/recognizer.ts';
import { createScheduler, type Ticket } from './scheduler.ts';

it('gives batch every eighth turn while interactive work keeps coming, though it may not take the short ones’ slot', async () => {
  const scheduler = createScheduler(() => 1);
  const recognizer = {} as Recognizer;
  const { signal } = new AbortController();
  const order: string[] = [];
  const endings: (() => void)[] = [];
  const submit = (name: string, ticket: Ticket): void =>
    void scheduler.submit(
      recognizer,
      ticket,
      () => {
        order.push(name);
        return new Promise<void>((resolve) => endings.push(resolve));
      },
      signal,
    );
  const interactive = { requestId: 'i', keyId: 'a', priority: 'interactive', canWait: true } as const;
  for (let n = 0; n < 24; n += 1) submit('interactive', interactive);
  for (let n = 0; n < 3; n += 1) submit('batch', { requestId: 'b', keyId: 'b', priority: 'batch', canWait: true });
  for (let turn = 0; turn < 26; turn += 1) {
    endings.shift()!();
    await new Promise(setImmediate);
  }
  endings.shift()!();
  assert.deepEqual(
    order.flatMap((name, at) => (name === 'batch' ? [at] : [])),
    [7, 15, 23],
  );
});
