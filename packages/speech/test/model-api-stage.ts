/** What the tests of the model API share: fixture models as a host serves them, catalogs of ours, event streams. */
import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { within } from '@parley/kit/testing/wait.ts';
import type { Host } from './models-host.ts';
import { makeTarGz, makeZip, serve, sha256, startHost } from './models-host.ts';
import { ADMIN_KEY, type FixtureModel, type TestSpeech, testdataPath } from './start-test-speech.ts';

export type Entry = Record<string, unknown> & { readonly id: string; readonly revision: string };
export type Answer = Record<string, unknown> & {
  readonly state?: string;
  readonly revision?: string;
  readonly code?: string;
};

/** A fixture model under another name, packed as catalogs have it: one folder in a tar.gz, or flat in a zip. */
export const packFixture = async (
  fixture: FixtureModel,
  more: Readonly<Record<string, unknown>> = {},
  kind: 'tar.gz' | 'zip' = 'tar.gz',
): Promise<{ readonly bytes: Buffer; entry(url: string): Entry }> => {
  const dir = testdataPath(`models/${fixture}`);
  const manifest = JSON.parse(await readFile(join(dir, 'model.json'), 'utf8'));
  const names = (await readdir(dir)).filter((name) => name !== 'model.json');
  const files = await Promise.all(names.map(async (name) => ({ name, content: await readFile(join(dir, name)) })));
  const bytes =
    kind === 'zip' ? makeZip(files) : await makeTarGz(files.map((file) => ({ ...file, name: `model/${file.name}` })));
  return {
    bytes,
    entry: (url) => ({ ...manifest, demonstration: false, ...more, source: sourceOf(url, bytes, kind) }),
  };
};

export const sourceOf = (url: string, bytes: Buffer, archive: string): Record<string, unknown> => ({
  url,
  sha256: sha256(bytes),
  size_bytes: bytes.length,
  archive,
});

/** An entry of a supporting model, which needs no engine to be installed. */
export const supporting = (id: string, source: Record<string, unknown>, more: Record<string, unknown> = {}): Entry => ({
  id,
  revision: '1',
  kind: 'vad',
  family: 'silero',
  languages: ['multi'],
  files: { model: 'model.onnx' },
  license: 'MIT',
  commercial_use: 'yes',
  source,
  ...more,
});

export const catalogText = (models: readonly Entry[]): string => JSON.stringify({ version: 1, models });

/** A host that serves each path's bytes, with Range. */
export const startFiles = (files: Readonly<Record<string, Buffer>>): Promise<Host> =>
  startHost((request, response) => {
    const bytes = files[request.url ?? ''];
    if (bytes) serve(bytes, request, response);
    else response.writeHead(404).end();
  });

/** A port that nothing else has, so that a host can be named before it is there. */
export const freePort = async (): Promise<number> => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
};

export type Told = { readonly id: number; readonly event: string; readonly data: Record<string, unknown> };

/** Reads an event stream, event by event, to its end. */
export async function* readEvents(response: Response): AsyncGenerator<Told> {
  let text = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    for (let at = text.indexOf('\n\n'); at >= 0; at = text.indexOf('\n\n')) {
      const fields = new Map(
        text
          .slice(0, at)
          .split('\n')
          .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)] as const),
      );
      text = text.slice(at + 2);
      if (!fields.has('event')) continue;
      yield { id: Number(fields.get('id')), event: fields.get('event')!, data: JSON.parse(fields.get('data')!) };
    }
  }
}

export const allEvents = (response: Response): Promise<Told[]> =>
  within(Array.fromAsync(readEvents(response)), 'the end of the event stream', 60_000);

/** One operation on a model, as an administrator unless told otherwise. */
export const operate = (
  service: Pick<TestSpeech, 'fetch'>,
  path: string,
  fields?: Readonly<Record<string, unknown>>,
  init: RequestInit & { key?: string } = {},
): Promise<Response> =>
  service.fetch(`/api/v1/models/${path}`, {
    method: 'POST',
    key: ADMIN_KEY,
    ...(fields && { body: JSON.stringify(fields), headers: { 'content-type': 'application/json' } }),
    ...init,
  });

export const json = async (answer: Response | Promise<Response>): Promise<Answer> =>
  (await (await answer).json()) as Answer;

/** Status and code of a refusal, or status and state of a record. */
export const gist = async (answer: Promise<Response>): Promise<string> => {
  const response = await answer;
  const body = await json(response);
  return `${response.status} ${body.code ?? body.state}`;
};

export const listed = async (service: TestSpeech, what: 'models' | 'catalog', id: string): Promise<Answer[]> => {
  const { data } = (await (await service.fetch(`/api/v1/${what}`)).json()) as { data: Answer[] };
  return data.filter((one) => one.id === id);
};

/** Asks again and again, for what only the service can bring about. */
export const until = async <T>(ask: () => Promise<T>, accept: (answer: T) => boolean, what: string): Promise<T> => {
  const look = async (): Promise<T> => {
    for (;;) {
      const answer = await ask();
      if (accept(answer)) return answer;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  return within(look(), what, 30_000);
};

/** Names in the models folder, hidden ones too, and what partial downloads there are. */
export const leftIn = async (dataDir: string): Promise<string[]> => {
  const names = await readdir(join(dataDir, 'models'));
  const parts = await readdir(join(dataDir, 'models', '.downloads')).catch(() => []);
  return [...names.filter((name) => name !== '.downloads'), ...parts].sort();
};
