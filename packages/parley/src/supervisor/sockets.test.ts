import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, it } from 'node:test';
import { createSockets } from './sockets.ts';

const place = (port: number, owner = 'platform') => ({ owner, host: '127.0.0.1', port });

describe('sockets that a supervisor holds', () => {
  for (const isShared of [true, false]) {
    it(`are the same each time, one for each owner (${isShared ? 'processes' : 'one process'})`, async () => {
      await using sockets = createSockets(isShared);
      const first = await sockets.hold(place(0));
      assert.ok(first);
      assert.equal(await sockets.hold(place(0)), first);
      assert.notEqual(await sockets.hold(place(0, 'speech')), first);
    });

    it(`are none where the port is taken (${isShared ? 'processes' : 'one process'})`, async () => {
      await using other = createServer();
      other.listen(0, '127.0.0.1');
      await once(other, 'listening');
      const { port } = other.address() as AddressInfo;
      await using sockets = createSockets(isShared);
      assert.equal(await sockets.hold(place(port)), undefined);
      const closed = once(other, 'close');
      other.close();
      await closed;
      assert.ok(await sockets.hold(place(port)), 'looked at anew each time');
    });
  }

  it('are none for an address that is not ours', async () => {
    await using sockets = createSockets(true);
    assert.equal(await sockets.hold({ owner: 'platform', host: '192.0.2.77', port: 0 }), undefined);
    assert.equal(await sockets.hold({ owner: 'platform', host: 'no-such-host.invalid', port: 0 }), undefined);
  });
});
