/** Header values made to hurt whoever parses them: each gets a plain refusal, none a 500, a hang or a crash. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { ADMIN_PASSWORD, startTestPlatform, type TestPlatform } from './start-test-platform.ts';

const LONG = 12_000;

describe('hostile headers', () => {
  let platform: TestPlatform;
  let cookie: string;
  before(async () => {
    platform = await startTestPlatform();
    cookie = await platform.cookieOf('admin', ADMIN_PASSWORD);
  });
  after(() => platform[Symbol.asyncDispose]());

  let sent = 0;
  /** Each from an address of its own, so that no ban answers first. */
  const statusOf = async (headers: Record<string, string>, method = 'PATCH'): Promise<number> => {
    sent += 1;
    const address = `10.${sent >> 16}.${(sent >> 8) & 255}.${sent & 255}`;
    const answer = await platform.as(headers).call(method, 'user/ext', { address, body: { a: 1 } });
    return answer.status;
  };

  it('are refused as credentials', async () => {
    for (const value of [
      `Bearer ${' '.repeat(LONG)}x`,
      `Bearer ${' '.repeat(LONG)}x y`,
      `Bearer ${'x'.repeat(LONG)} ${' '.repeat(100)}!`,
      `Bearer rt1_${'A'.repeat(LONG)}`,
      'bearer'.repeat(2000),
      'Bearer __proto__',
      'Bearer ../../etc',
      `Basic ${'='.repeat(LONG)}`,
    ]) {
      assert.equal(await statusOf({ authorization: value }), 401, value.slice(0, 40));
    }
    for (const value of [
      'RSession='.repeat(1300),
      `${'RSession=x; '.repeat(1000)}`,
      `RSession="${'"'.repeat(LONG)}`,
      `${';'.repeat(LONG)}RSession=x`,
      `${' '.repeat(LONG)}RSession = x`,
      'RSession=%00%ff; RSession',
      '='.repeat(LONG),
    ]) {
      assert.equal(await statusOf({ cookie: value }), 401, value.slice(0, 40));
    }
  });

  it('leave a session of this site beside them in force', async () => {
    assert.equal(await statusOf({ cookie: `RSession=tossed; ${cookie}; RSession=deleted` }), 200);
  });

  it('are refused as content types and origins', async () => {
    for (const type of [
      `${';'.repeat(LONG)}`,
      `application/json${';charset='.repeat(1000)}x`,
      `a/${'b'.repeat(LONG)}`,
      '/',
      ',',
      'multipart/form-data; boundary=',
    ]) {
      assert.equal(await statusOf({ cookie, 'content-type': type }), 415, type.slice(0, 40));
    }
    for (const origin of [
      'http://'.repeat(1000),
      `http://${'a.'.repeat(5000)}`,
      'http://[::1',
      '\\\\evil',
      'http://evil#127.0.0.1',
    ])
      assert.equal(await statusOf({ cookie, origin }), 403, origin.slice(0, 40));
  });

  it('of any characters are never a fault of ours', async () => {
    const value = fc.string({ unit: fc.constantFrom(...' ;=",\\/:@%#?&[]{}*rRBbearSsion1_\t~'), maxLength: 60 });
    const names = fc.constantFrom(
      'authorization',
      'cookie',
      'origin',
      'sec-fetch-site',
      'content-type',
      'if-match',
      'x-forwarded-host',
      'prefer',
    );
    await fc.assert(
      fc.asyncProperty(names, value, fc.boolean(), async (name, text, isSignedIn) => {
        const headers = { ...(isSignedIn && name !== 'cookie' ? { cookie } : {}), [name]: text };
        const status = await statusOf(headers);
        assert.ok(status < 500, `${name}: ${text} → ${status}`);
      }),
      { numRuns: 300 },
    );
  });
});
