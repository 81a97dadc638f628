/** What strangers do with the speech service: recordings in every format and dialect, jobs, models. */
import { openAsBlob, readdirSync } from 'node:fs';
import { basename } from 'node:path';
import type { Random } from '../../fuzz/random.ts';
import { joinWav } from '../receiver.ts';
import { testdata } from '../service.ts';
import type { Answer, Question } from './client.ts';
import { followJob } from './follow.ts';
import type { KeptJob } from './ledger.ts';
import type { Lane, LoadContext } from './load.ts';
import { talk } from './realtime.ts';
import { KEY } from './stage.ts';

const AUTHORIZED = { authorization: `Bearer ${KEY}` };
export const OFFLINE_MODEL = 'demo-transducer-en';

type Ask = Omit<Question, 'url' | 'body' | 'headers'> & {
  readonly path: string;
  readonly form?: FormData | URLSearchParams;
  readonly headers?: Readonly<Record<string, string>>;
};

/** A call of the speech service with the administrative key. */
export const askSpeech = (
  { client, stage }: Pick<LoadContext, 'client' | 'stage'>,
  { path, form, headers = {}, ...question }: Ask,
): Promise<Answer | undefined> =>
  client.ask({
    ...question,
    url: `${stage.speechUrl}${path}`,
    headers: { ...AUTHORIZED, ...headers },
    ...(form === undefined ? {} : { body: form }),
  });

/** GSM needs ffmpeg, which is not everywhere. */
const NEEDS_FFMPEG = 'words-gsm.wav';
const RECORDINGS = ['audio', 'speech'].flatMap((folder) =>
  readdirSync(testdata(folder))
    .filter((name) => name.includes('.') && name !== NEEDS_FFMPEG)
    .map((name) => testdata(`${folder}/${name}`)),
);

type Dialect = {
  readonly name: string;
  readonly path: string;
  readonly field: string;
  readonly more: readonly [string, string][];
};

const DIALECTS: readonly Dialect[] = [
  { name: 'native', path: '/api/v1/transcribe', field: 'file', more: [] },
  { name: 'native words', path: '/api/v1/transcribe', field: 'file', more: [['word_timestamps', 'true']] },
  { name: 'compat', path: '/v1/audio/transcriptions', field: 'file', more: [['model', 'whisper-1']] },
  {
    name: 'compat stream',
    path: '/v1/audio/transcriptions',
    field: 'file',
    more: [
      ['model', 'whisper-1'],
      ['stream', 'true'],
    ],
  },
  { name: 'legacy', path: '/asr?output=json', field: 'audio_file', more: [] },
];

/** The text of an answer of any dialect; undefined when there is none. */
const textOf = (body: unknown): string | undefined => {
  if (typeof body !== 'string') return (body as { text?: string }).text;
  const json = /^data: (.*transcript\.text\.done.*)$/m.exec(body)?.[1] ?? body;
  return (JSON.parse(json) as { text?: string }).text;
};

const transcribe = async (context: LoadContext): Promise<void> => {
  const { random, ledger, stage } = context;
  const path = random.pick(RECORDINGS);
  const dialect = random.pick(DIALECTS);
  const form = new FormData();
  for (const [name, value] of dialect.more) form.append(name, value);
  form.append(dialect.field, await openAsBlob(path), basename(path));
  const what = `speech ${dialect.name}`;
  const answer = await askSpeech(context, { what, method: 'POST', path: dialect.path, form });
  if (answer?.status !== 200) return;
  const text = textOf(answer.body)?.trim();
  if (!text) return ledger.fault(`${what}: no text of ${basename(path)}`);
  const before = ledger.texts.get(path);
  if (before === undefined) {
    ledger.texts.set(path, text);
    stage.logs.forbid(text);
  } else if (before !== text) ledger.fault(`${what}: another text of ${basename(path)} than before`);
};

const jobForm = async (random: Random, webhookHost: string): Promise<FormData> => {
  const form = new FormData();
  const path = random.pick(RECORDINGS);
  if (random.chance(0.4)) form.append('file', await joinWav(1 + random.int(8)), 'joined.wav');
  else form.append('file', await openAsBlob(path), basename(path));
  form.append('webhook_url', `http://${webhookHost}/hook`);
  return form;
};

const submit = async (context: LoadContext): Promise<void> => {
  const { random, ledger, stage, serial } = context;
  const form = await jobForm(random, stage.receiver.host);
  const headers = { 'idempotency-key': `mixed-${serial()}` };
  const question = { what: 'speech job', method: 'POST', path: '/api/v1/jobs', form, headers, expect: [202] };
  const answer = await askSpeech(context, question);
  // Whether it was accepted is not known; the same key must lead to one job, whichever answer comes.
  const again = answer === undefined || random.chance(0.1) ? await askSpeech(context, question) : undefined;
  const accepted = [answer, again].filter((one) => one?.status === 202).map((one) => String(one?.body.id));
  if (new Set(accepted).size > 1) ledger.fault('speech job: two jobs of one Idempotency-Key');
  const [id] = accepted;
  if (id === undefined) return;
  const job: KeptJob = { id, status: undefined, isFollowed: false };
  ledger.jobs.set(id, job);
  if (random.chance(0.2))
    await askSpeech(context, { what: 'speech job cancel', method: 'DELETE', path: `/api/v1/jobs/${id}` });
  if (random.chance(0.5)) await followJob(context, job);
  else if (random.chance(0.3)) await askSpeech(context, { what: 'speech job read', path: `/api/v1/jobs/${id}` });
};

const look = async (context: LoadContext): Promise<void> => {
  const path = context.random.pick([
    '/api/v1/jobs?limit=20&include=result',
    '/api/v1/models',
    '/v1/models',
    '/api/v1/config',
    '/readyz',
  ]);
  await askSpeech(context, { what: 'speech look', path });
};

/** Loads, unloads, pins and swaps: 409 and 202 are answers like others while somebody else is at the model. */
const manage = async (context: LoadContext): Promise<void> => {
  const { random } = context;
  const operation = random.pick(['load', 'load', 'pin', 'reload', 'reload', 'unload']);
  const form = new URLSearchParams();
  if (operation === 'unload') form.set('force', 'true');
  if (operation === 'pin') form.set('pinned', 'false');
  if (operation === 'reload') form.set('revision', random.pick(context.stage.revisions));
  const what = `speech model ${operation}`;
  const path = `/api/v1/models/${OFFLINE_MODEL}/${operation}`;
  await askSpeech(context, { what, method: 'POST', path, form, expect: [200, 202, 409] });
};

export const SPEECH_LANES: readonly Lane[] = [
  {
    lanes: 2,
    pauseMs: 250,
    operations: [
      { weight: 6, run: transcribe },
      { weight: 1, run: look },
    ],
  },
  { lanes: 2, pauseMs: 500, operations: [{ weight: 1, run: submit }] },
  { lanes: 1, pauseMs: 800, operations: [{ weight: 1, run: talk }] },
  { lanes: 1, pauseMs: 3000, operations: [{ weight: 1, run: manage }] },
];
