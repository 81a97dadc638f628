/** A real OTLP/HTTP receiver for tests: takes what the exporter posts, and tells of the spans in it. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';

type Attribute = { key: string; value: { stringValue?: string; intValue?: number | string; doubleValue?: number } };
/** A span as OTLP/JSON has it. */
export type TracedSpan = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Attribute[];
  links: { traceId: string; spanId: string }[];
  status: { code: number };
};
type Exported = {
  resourceSpans: { resource: { attributes: Attribute[] }; scopeSpans: { spans: TracedSpan[] }[] }[];
};

export type OtlpReceiver = AsyncDisposable & {
  readonly url: string;
  readonly paths: readonly string[];
  spans(): TracedSpan[];
  /** `service.name` of all who sent something. */
  services(): ReadonlySet<string | undefined>;
};

/** Starts the receiver on a free port. */
export const startOtlpReceiver = async (): Promise<OtlpReceiver> => {
  const exported: Exported[] = [];
  const paths: string[] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request));
    const plain = request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
    paths.push(request.url ?? '');
    exported.push(JSON.parse(plain.toString()));
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    paths,
    spans: () => exported.flatMap((one) => one.resourceSpans).flatMap((one) => one.scopeSpans.flatMap((s) => s.spans)),
    services: () =>
      new Set(
        exported
          .flatMap((one) => one.resourceSpans)
          .flatMap(({ resource }) => resource.attributes)
          .filter(({ key }) => key === 'service.name')
          .map(({ value }) => value.stringValue),
      ),
    [Symbol.asyncDispose]: () => {
      server.closeAllConnections();
      return new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
};

/** The value of an attribute. */
export const attributeOf = (span: TracedSpan, key: string): string | number | undefined => {
  const value = span.attributes.find((one) => one.key === key)?.value;
  return value?.stringValue ?? value?.intValue ?? value?.doubleValue;
};
