import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { clearCookie, hasCookie, readCookies, setCookie } from './cookie.ts';
import type { SessionData } from './session-rows.ts';

const asking = (cookie?: string, protocol = 'http'): FastifyRequest =>
  ({ headers: cookie === undefined ? {} : { cookie }, protocol }) as unknown as FastifyRequest;

/** What the answer would set. */
const set = (write: (reply: FastifyReply) => void): string => {
  let sent = '';
  write({ header: (_name: string, value: string) => (sent = value) } as unknown as FastifyReply);
  return sent;
};

describe('the cookie of a session', () => {
  it('is read wherever it stands, at most four times, and never one that was cleared', () => {
    assert.deepEqual(readCookies(asking()), []);
    assert.deepEqual(readCookies(asking('a=1; RSession=x; XRSession=y; RSession="z"')), ['x', 'z']);
    assert.deepEqual(readCookies(asking('RSession=deleted; RSession=; RSession=x')), ['x']);
    const five = [1, 2, 3, 4, 5].map((n) => `RSession=${n}`).join('; ');
    assert.deepEqual(readCookies(asking(five)), ['1', '2', '3', '4']);
    assert.equal(hasCookie(asking('a=1; RSession=deleted')), true);
    assert.equal(hasCookie(asking('a=1; XRSession=x')), false);
  });

  it('is Secure over TLS, and everywhere where the operator says so', () => {
    const session = { seen_ms: 0, idle_ms: 60_000, until_ms: 90_000 } as SessionData;
    const sentTo = (protocol: string, secure: 'auto' | 'always'): string =>
      set((reply) => setCookie(asking(undefined, protocol), reply, 't', session, secure));
    const plain = 'RSession=t; Path=/; Expires=Thu, 01 Jan 1970 00:01:00 GMT; HttpOnly; SameSite=Strict';
    assert.equal(sentTo('http', 'auto'), plain);
    assert.equal(sentTo('https', 'auto'), `${plain}; Secure`);
    assert.equal(sentTo('http', 'always'), `${plain}; Secure`);
    assert.match(
      set((reply) => clearCookie(asking(), reply, 'always')),
      /^RSession=deleted; .*1970 00:00:00 GMT; HttpOnly; SameSite=Strict; Secure$/,
    );
  });
});
