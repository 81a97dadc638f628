/** Traces as a real OTLP/HTTP receiver gets them from a service in a process of its own. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { attributeOf, type OtlpReceiver, startOtlpReceiver, type TracedSpan } from '@parley/kit/testing/otlp.ts';
import { eventually } from '@parley/kit/testing/wait.ts';
import { wantsTraces } from '@parley/kit/tracing.ts';
import { createDataDir, KEY, type SoakService, startService, testdata } from '../../../tools/soak/service.ts';

const headers = { authorization: `Bearer ${KEY}` };
const CALLER = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };

describe('traces', () => {
  const stack = new AsyncDisposableStack();
  let receiver: OtlpReceiver;
  let service: SoakService;
  let form: () => FormData;

  before(async () => {
    receiver = stack.use(await startOtlpReceiver());
    const dir = await createDataDir();
    stack.defer(dir.remove);
    service = await startService(
      dir.path,
      {},
      { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_BSP_SCHEDULE_DELAY: '50' },
    );
    stack.defer(service.kill);
    const wav = new Blob([await readFile(testdata('audio/words.wav'))]);
    form = () => {
      const made = new FormData();
      made.append('file', wav, 'secret-name.wav');
      return made;
    };
  });
  after(() => stack.disposeAsync());

  const spansOf = (traceId: string): TracedSpan[] => receiver.spans().filter((span) => span.traceId === traceId);
  const named = (spans: readonly TracedSpan[], name: string): TracedSpan[] =>
    spans.filter((span) => span.name === name);

  it("go from the caller's own span through the request down to the engine process", async () => {
    const traceparent = `00-${CALLER.traceId}-${CALLER.spanId}-01`;
    const response = await fetch(`${service.url}/api/v1/transcribe?secret=query`, {
      method: 'POST',
      body: form(),
      headers: { ...headers, traceparent },
    });
    assert.equal(response.status, 200, await response.text());
    await eventually('the request', () => named(spansOf(CALLER.traceId), 'POST /api/v1/transcribe').length > 0);
    const spans = spansOf(CALLER.traceId);
    const [request] = named(spans, 'POST /api/v1/transcribe') as [TracedSpan];
    assert.equal(request.parentSpanId, CALLER.spanId);
    assert.equal(attributeOf(request, 'http.route'), '/api/v1/transcribe');
    assert.equal(Number(attributeOf(request, 'http.response.status_code')), 200);
    for (const name of ['decode', 'finish']) {
      assert.deepEqual(
        named(spans, name).map(({ parentSpanId }) => parentSpanId),
        [request.spanId],
        name,
      );
    }
    const segments = named(spans, 'recognize segment');
    assert.ok(segments.length > 0);
    assert.ok(segments.every(({ parentSpanId }) => parentSpanId === request.spanId));
    assert.equal(named(spans, 'wait').length, segments.length);
    // The first request also waits for its model to be warmed up.
    const engines = named(spans, 'engine').filter(({ parentSpanId }) => parentSpanId !== request.spanId);
    assert.deepEqual(engines.map(({ parentSpanId }) => parentSpanId).sort(), segments.map((s) => s.spanId).sort());
    for (const engine of engines) {
      assert.ok(BigInt(engine.startTimeUnixNano) <= BigInt(engine.endTimeUnixNano));
      assert.ok(Number(attributeOf(engine, 'process.pid')) !== service.pid);
    }
    assert.deepEqual([...receiver.services()], ['parley-speech']);
    assert.ok(receiver.paths.every((path) => path === '/v1/traces'));
    assert.ok(!JSON.stringify(receiver.spans()).includes('secret'), 'nothing of what the caller sent');
  });

  it("give a job's run a trace of its own, linked to the request that brought it", async () => {
    const response = await fetch(`${service.url}/api/v1/jobs`, { method: 'POST', body: form(), headers });
    assert.equal(response.status, 202);
    const job = (await response.json()) as { id: string };
    await eventually('the job', () => named(receiver.spans(), 'job').length > 0);
    const [run] = named(receiver.spans(), 'job') as [TracedSpan];
    await eventually('the request', () => named(receiver.spans(), 'POST /api/v1/jobs').length > 0);
    const [request] = named(receiver.spans(), 'POST /api/v1/jobs') as [TracedSpan];
    assert.notEqual(run.traceId, request.traceId);
    assert.deepEqual(
      run.links.map(({ traceId, spanId }) => [traceId, spanId]),
      [[request.traceId, request.spanId]],
    );
    assert.equal(attributeOf(run, 'parley.job.id'), job.id);
    assert.ok(named(spansOf(run.traceId), 'engine').length > 0);
  });

  it('mark what failed, without its words', async () => {
    const response = await fetch(`${service.url}/api/v1/models`, { headers: { authorization: 'Bearer wrong' } });
    assert.equal(response.status, 401);
    await response.text();
    await eventually('the request', () => named(receiver.spans(), 'GET /api/v1/models').length > 0);
    const [request] = named(receiver.spans(), 'GET /api/v1/models') as [TracedSpan];
    assert.equal(Number(attributeOf(request, 'http.response.status_code')), 401);
    assert.notEqual(request.status.code, 2, "a caller's fault is none of the server's");
  });

  it('are sent only when the variables say so', () => {
    assert.equal(wantsTraces({}), false);
    assert.equal(wantsTraces({ OTEL_TRACES_EXPORTER: 'otlp' }), true);
    assert.equal(wantsTraces({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://x/v1/traces' }), true);
    assert.equal(wantsTraces({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x', OTEL_TRACES_EXPORTER: 'none' }), false);
    assert.equal(wantsTraces({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x', OTEL_SDK_DISABLED: 'true' }), false);
    assert.equal(wantsTraces({ OTEL_EXPORTER_OTLP_ENDPOINT: '' }), false);
  });
});
