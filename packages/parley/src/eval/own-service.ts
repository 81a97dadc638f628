/** A speech service of one's own for the length of an evaluation: on a temporary folder and a free port of this machine. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { CommandLine } from '@parley/kit/command-line.ts';
import { createLog } from '@parley/kit/log.ts';
import { readSettings } from '@parley/kit/settings.ts';
import { isUsable, openInstalled } from '@parley/speech/models/installed.ts';
import { isTranscriber } from '@parley/speech/models/resolve.ts';
import { SPEECH_SETTINGS } from '@parley/speech/settings.ts';
import { startSpeech } from '@parley/speech/start.ts';
import type { Place } from './client.ts';

const KEY_BYTES = 24;

/**
 * Starts the service with this installation's settings and models. What it writes is gone when it is disposed. Rejects
 * with an Error when no model is installed.
 */
export const startOwnService = async (line: CommandLine, signal: AbortSignal): Promise<Place & AsyncDisposable> => {
  await using stack = new AsyncDisposableStack();
  const { values } = readSettings(SPEECH_SETTINGS, { section: 'speech', ...line });
  const modelsDir = resolve(values['asr.models_dir'] || join(values.data_dir, 'models'));
  const dataDir = await mkdtemp(join(tmpdir(), 'parley-eval-'));
  stack.defer(() => rm(dataDir, { recursive: true, force: true }));
  const log = createLog('parley', 'error');
  const installed = await openInstalled({ modelsDir, dataDir, log });
  await installed.refresh();
  // Else the service would put its demonstration model there.
  if (!installed.list().filter(isUsable).some(isTranscriber))
    throw new Error(`No model is installed in ${modelsDir}. See: models list, models pull ID.`);
  const key = randomBytes(KEY_BYTES).toString('hex');
  const own = {
    data_dir: dataDir,
    host: '127.0.0.1',
    'storage.url': '',
    'speech.server.port': '0',
    'speech.server.tls.cert': '',
    'speech.server.tls.key': '',
    'speech.auth.mode': 'apikey',
    'speech.auth.keys_file': '',
    'speech.auth.user_key': key,
    'speech.spool.url': '',
    'speech.asr.models_dir': modelsDir,
    'speech.registry.first_start': 'demo',
    'speech.metrics.addr': '',
  };
  const settings = readSettings(SPEECH_SETTINGS, { section: 'speech', ...line, flags: { ...line.flags, ...own } });
  const running = stack.use(await startSpeech(settings, log, { signal }));
  const owned = stack.move();
  return { url: running.url, key, [Symbol.asyncDispose]: () => owned.disposeAsync() };
};
