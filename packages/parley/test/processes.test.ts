/** kill -9 of each process of a server at work, engines included: the others go on, and nothing outlives the supervisor. */
import assert from 'node:assert/strict';
import { openAsBlob } from 'node:fs';
import { rm } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { rolesOf, treeOf } from '../../../tools/soak/process-tree.ts';
import { createDataDir, KEY, testdata } from '../../../tools/soak/service.ts';
import { type Administrator, eventually, isAlive, type ParleyProcess, startParley } from './parley-process.ts';

describe('the processes of a server', () => {
  let dataDir: string;
  let parley: ParleyProcess;
  let admin: Administrator;
  before(async () => {
    dataDir = (await createDataDir()).path;
    parley = await startParley('start', { 'speech.auth.admin_key': KEY, 'supervisor.server': 'main' }, dataDir);
    admin = await parley.signIn();
  });
  after(async () => {
    await parley?.[Symbol.asyncDispose]();
    await rm(dataDir, { recursive: true, force: true });
  });

  const transcribe = async (): Promise<number> => {
    const body = new FormData();
    body.set('file', await openAsBlob(testdata('audio/words.wav')), 'words.wav');
    const url = `${await parley.url('speech')}/api/v1/transcribe`;
    // Nobody listens while speech is started again; what was under way then breaks off.
    const answer = await fetch(url, { method: 'POST', headers: { authorization: `Bearer ${KEY}` }, body }).catch(
      () => undefined,
    );
    await answer?.arrayBuffer().catch(() => undefined);
    return answer?.status ?? 0;
  };
  const pidsOf = (role: string): number[] =>
    rolesOf(parley.pid).flatMap((each) => (each.role === role && each.pid !== parley.pid ? [each.pid] : []));
  const recognizes = () => eventually(transcribe, (status) => status === 200, 'speech to recognize');
  const nodesAnswer = async (): Promise<number> => (await admin.call('GET', 'master/nodes')).status;

  for (const role of ['engine', 'media', 'speech']) {
    it(`go on without ${role}, which is there again`, async () => {
      await recognizes();
      const before_ = pidsOf(role);
      assert.ok(before_.length > 0, `${role} runs`);
      const below = before_.flatMap(treeOf);
      for (const pid of before_) process.kill(pid, 'SIGKILL');
      assert.equal(await nodesAnswer(), 200);
      await recognizes();
      assert.ok(pidsOf(role).every((pid) => !before_.includes(pid)));
      await eventually(
        () => below.filter(isAlive),
        (left) => left.length === 0,
        'what it had started to end',
      );
    });
  }

  it('all end when the supervisor is killed', async () => {
    await recognizes();
    const all = treeOf(parley.pid);
    for (const role of ['engine', 'media', 'speech', 'platform']) assert.ok(pidsOf(role).length > 0, role);
    process.kill(parley.pid, 'SIGKILL');
    await eventually(
      () => all.filter(isAlive),
      (left) => left.length === 0,
      'every process to end',
    );
  });
});
