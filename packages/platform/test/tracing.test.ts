/** Traces of the platform as a real OTLP/HTTP receiver gets them. */
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { attributeOf, startOtlpReceiver } from '@parley/kit/testing/otlp.ts';
import { eventually, within } from '@parley/kit/testing/wait.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const PASSWORD = 'Administrator-1';
const CALLER = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };

describe('traces of the platform', () => {
  it('go from the request to the commit, and hold nothing of what the caller sent', async () => {
    await using receiver = await startOtlpReceiver();
    const folder = await mkdtemp(join(tmpdir(), 'parley-traced-'));
    const settings = ['platform.port=0', 'platform.log.level=fatal', `admin_password=${PASSWORD}`];
    const child = fork(MAIN, ['--data-dir', folder, ...settings.flatMap((setting) => ['--set', setting])], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: {
        ...process.env,
        NODE_COMPILE_CACHE: `${folder}-compile-cache`,
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        OTEL_BSP_SCHEDULE_DELAY: '50',
        OTEL_SERVICE_NAME: 'our-platform',
      },
    });
    const ended = once(child, 'exit');
    try {
      const url = await within(
        new Promise<string>((resolve) => {
          child.on('message', ({ type, url }: { type?: string; url?: string }) => type === 'ready' && resolve(url!));
        }),
        'the platform',
      );
      const answer = await fetch(`${url}/rest/v1/iam/sessions?secret=query`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', traceparent: `00-${CALLER.traceId}-${CALLER.spanId}-01` },
        body: JSON.stringify({ login: 'admin', pwd: PASSWORD }),
      });
      assert.ok(answer.ok, await answer.text());
      const spansOf = (name: string) =>
        receiver.spans().filter((span) => span.name === name && span.traceId === CALLER.traceId);
      await eventually('the request', () => spansOf('POST /rest/v1/iam/sessions').length > 0);
      const [request] = spansOf('POST /rest/v1/iam/sessions');
      assert.equal(request!.parentSpanId, CALLER.spanId);
      assert.equal(attributeOf(request!, 'http.route'), '/rest/v1/iam/sessions');
      assert.ok(spansOf('commit').some(({ parentSpanId }) => parentSpanId === request!.spanId));
      assert.deepEqual([...receiver.services()], ['our-platform']);
      const all = JSON.stringify(receiver.spans());
      assert.ok(!all.includes(PASSWORD) && !all.includes('secret'));
    } finally {
      child.kill('SIGKILL');
      await ended;
      await rm(folder, { recursive: true, force: true });
      await rm(`${folder}-compile-cache`, { recursive: true, force: true });
    }
  });
});
