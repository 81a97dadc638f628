import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { plannedNodes } from './plan.ts';

const content = {
  servers: [
    { name: 'a', site: 's' },
    { name: 'b', site: 's' },
  ],
  roles: [
    { name: 'api', kind: 'platform', options: { port: 9000 } },
    { name: 'ear', kind: 'speech' },
  ],
  structure: [
    { server: 'a', role: 'api', index: 1 },
    { server: 'a', role: 'api', index: 2 },
    { server: 'b', role: 'api', index: 3 },
    { server: 'b', role: 'ear', index: 7 },
  ],
};
const kinds = ['platform', 'speech'];
const namesAt = (server: string, alive?: string[], allowed = kinds) =>
  plannedNodes({ content, server, kinds: allowed, alive: alive && new Set(alive) }).map(({ name }) => name);

describe('the plan of a server', () => {
  it('is what its command starts while the structure does not name it', () => {
    const names = (given: object | undefined) =>
      plannedNodes({ content: given as never, server: 'x', kinds, alive: undefined }).map(({ name }) => name);
    assert.deepEqual(names(undefined), ['platform_1', 'speech_1']);
    assert.deepEqual(names({ structure: [] }), ['platform_1', 'speech_1']);
    assert.deepEqual(names(content), ['platform_1', 'speech_1']);
  });

  it('is its lines of the structure, with the options of their roles', () => {
    assert.deepEqual(namesAt('a'), ['api_1', 'api_2']);
    assert.deepEqual(namesAt('b'), ['api_3', 'ear_7']);
    assert.deepEqual(namesAt('b', undefined, ['platform']), ['api_3']);
    assert.equal(plannedNodes({ content, server: 'a', kinds, alive: undefined })[0]?.options.port, 9000);
  });

  it('takes over a role whose servers are all dead, and only then', () => {
    assert.deepEqual(namesAt('a', ['a', 'b']), ['api_1', 'api_2']);
    assert.deepEqual(namesAt('a', ['a']), ['api_1', 'api_2', 'ear_7']);
    assert.deepEqual(namesAt('b', ['b']), ['api_3', 'ear_7'], 'its own platform node still serves');
    assert.deepEqual(namesAt('c', ['a', 'c']), ['platform_1', 'speech_1'], 'one server stands in, the first');
    assert.deepEqual(namesAt('c', ['c', 'd']), ['platform_1', 'speech_1', 'api_1', 'ear_7']);
    assert.deepEqual(namesAt('d', ['c', 'd']), ['platform_1', 'speech_1']);
  });
});
