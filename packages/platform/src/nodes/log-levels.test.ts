import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NODE_LOG_LEVELS, parseNodeLogLevel, toLogLevel, toNodeLogLevel } from './log-levels.ts';

describe('log levels of nodes', () => {
  it('are names or numbers, and any other number is the highest', () => {
    assert.deepEqual([0, 1, 2, 3, 4, 5, 6].map(parseNodeLogLevel), NODE_LOG_LEVELS.slice(0, 7));
    assert.deepEqual([7, -1, 2.5, '9', '4', 'info', 'highest'].map(parseNodeLogLevel), [
      ...['highest', 'highest', 'highest', 'highest', 'info', 'info', 'highest'],
    ]);
    assert.deepEqual(['loud', '', null, true, ['info']].map(parseNodeLogLevel), Array(5).fill(undefined));
  });

  it('say more the higher they are', () => {
    const order = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace', 'trace'];
    assert.deepEqual(NODE_LOG_LEVELS.map(toLogLevel), order);
    assert.deepEqual(order.slice(0, 7).map(toNodeLogLevel), NODE_LOG_LEVELS.slice(0, 7));
  });
});
