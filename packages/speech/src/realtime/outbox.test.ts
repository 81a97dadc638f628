import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RealtimeEvent } from '../core/realtime.ts';
import { createOutbox } from './outbox.ts';

const text = (itemId: string): RealtimeEvent => ({ type: 'text', itemId, delta: '', text: '', startMs: 0 });
const stopped = (itemId: string): RealtimeEvent => ({ type: 'speech-stopped', itemId, endMs: 0 });

describe('the outbox', () => {
  it('tells an end after the texts that were still to come, and what is later after that', () => {
    const told: string[] = [];
    const ready = new Set<string>();
    const outbox = createOutbox((event) => told.push(`${event.type} ${'itemId' in event ? event.itemId : ''}`));
    outbox.tell(text('a'));
    outbox.holdFor('a', () => ready.has('a'));
    outbox.tell(stopped('a'));
    outbox.tell(text('b'));
    outbox.holdFor('b', () => ready.has('b'));
    outbox.tell(stopped('b'));
    outbox.tell(text('a'));
    outbox.tell(text('b'));
    outbox.tell({ type: 'cleared' });
    assert.deepEqual(told, ['text a', 'text a']);
    ready.add('b');
    outbox.advance();
    assert.equal(told.length, 2);
    ready.add('a');
    outbox.advance();
    assert.deepEqual(told.slice(2), ['speech-stopped a', 'text b', 'text b', 'speech-stopped b', 'cleared ']);
    outbox.tell(text('a'));
    assert.equal(told.at(-1), 'text a');
  });
});
