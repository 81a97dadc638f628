import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isHostAllowed } from './target.ts';

describe('hosts that may be used', () => {
  for (const [host, allowed, is] of [
    ['db.example.org', ['db.example.org'], true],
    ['DB.Example.org.', ['db.example.org'], true],
    ['db.example.org', ['example.org'], false],
    ['db.example.org', ['*.example.org'], true],
    ['example.org', ['*.example.org'], false],
    ['evilexample.org', ['*.example.org'], false],
    ['10.1.2.3', ['10.0.0.0/8'], true],
    ['11.1.2.3', ['10.0.0.0/8'], false],
    ['10.1.2.3', ['10.1.2.3'], true],
    ['10.1.2.30', ['10.1.2.3'], false],
    ['10.1.2.3', ['*.2.3'], false],
    ['fd00::1', ['fd00::/8'], true],
    ['fd00:0:0::1', ['fd00::1'], true],
    ['::ffff:10.1.2.3', ['10.0.0.0/8'], true],
    ['db.example.org', ['0.0.0.0/0', '::/0'], false],
    ['10.1.2.3', ['10.0.0.0/33', '10.0.0.0/x', '/8', ''], false],
    ['/var/run/postgresql', ['/var/run/postgresql'], true],
    ['/var/run/postgresql', ['/var/run'], false],
    ['anything', [], false],
  ] as const) {
    it(`${is ? 'include' : 'leave out'} ${host} where ${allowed.join(', ') || 'none'} is allowed`, () => {
      assert.equal(isHostAllowed(host, allowed), is);
    });
  }
});
