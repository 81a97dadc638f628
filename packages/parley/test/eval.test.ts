/** `parley eval` as people call it: the real command over recordings of the fixtures, with the fixture models. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { processEnvironment } from '@parley/kit/settings.ts';
import { createDataDir, testdata } from '../../../tools/soak/service.ts';
import { startTestSpeech, USER_KEY } from '../../speech/test/start-test-speech.ts';

const BIN = fileURLToPath(new URL('../bin/parley.js', import.meta.url));

type Ran = { readonly code: number | null; readonly out: string; readonly err: string };
type Report = {
  readonly models: readonly string[];
  readonly files: readonly (Readonly<Record<string, number>> & {
    readonly file: string;
    readonly word_times?: { readonly words: number; readonly start: { readonly median: number } };
    readonly diarization?: Readonly<Record<string, number>>;
  })[];
  readonly errors: readonly { readonly file: string; readonly error: string }[];
  readonly total: Readonly<Record<string, unknown>>;
};

/** The command run to its end; `TMPDIR` is a folder of its own, so that what it leaves behind is seen. */
const runEval = async (scratch: string, ...args: readonly string[]): Promise<Ran> => {
  const child = spawn(process.execPath, [BIN, 'eval', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: scratch,
    env: { ...processEnvironment(), TMPDIR: scratch },
  });
  const ended = once(child, 'exit') as Promise<[number | null]>;
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { code, out, err };
};

const reportOf = ({ code, out, err }: Ran, wantedCode = 0): Report => {
  assert.equal(code, wantedCode, out + err);
  return JSON.parse(out) as Report;
};

describe('parley eval', () => {
  let root: string;
  let scratch: string;
  let data: Awaited<ReturnType<typeof createDataDir>>;
  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'parley-eval-test-'));
    scratch = join(root, 'scratch');
    await mkdir(scratch);
    data = await createDataDir(['offline-transducer', 'diarization']);
  });
  after(async () => {
    await data.remove();
    await rm(root, { recursive: true, force: true });
  });

  /** A folder of recordings by their names, and files by their text. */
  const createSet = async (
    name: string,
    recordings: Readonly<Record<string, string>>,
    files: Readonly<Record<string, string>>,
  ): Promise<string> => {
    const dir = join(root, name);
    for (const [to, from] of Object.entries(recordings)) {
      await mkdir(join(dir, to, '..'), { recursive: true });
      await copyFile(testdata(from), join(dir, to));
    }
    for (const [to, content] of Object.entries(files)) await writeFile(join(dir, to), content);
    return dir;
  };

  it('scores the recordings of a folder with a service of its own, and leaves nothing behind', async () => {
    const speech = (await readdir(testdata('speech'))).filter((name) => name.endsWith('.wav'));
    const transcription = await readFile(testdata('speech/transcription'), 'utf8');
    const dir = await createSet('all', Object.fromEntries(speech.map((name) => [name, `speech/${name}`])), {
      'all.trn': transcription,
      'README.txt': 'No recording has this name.',
    });
    const ran = await runEval(scratch, dir, '--data-dir', data.path);
    assert.equal(ran.code, 0, ran.err);
    assert.equal(ran.err, '');
    assert.match(ran.out, /^FILE +WORDS +SUB +DEL +INS +WER +CER +AUDIO +DECODE +RTF\n/);
    assert.match(ran.out, /^close-menu\.wav +6 +0 +0 +0 +0\.00 % +0\.00 % +3\.653 s /m);
    assert.match(ran.out, /^TOTAL \(6\) +24 +0 +0 +0 /m);
    assert.match(ran.out, /^WER 0\.00 %, 95 % interval 0\.00 % to 0\.00 %; CER 0\.00 %$/m);
    assert.match(ran.out, /^Latency: half within \d+\.\d+ s, /m);
    assert.deepEqual(await readdir(scratch), []);
  });

  it('finds references in all their forms, and counts errors in JSON', async () => {
    const dir = await createSet(
      'forms',
      {
        '84/121/84-121-0.wav': 'speech/hello-operator.wav',
        '84/121/84-121-1.wav': 'speech/cancel-payment.wav',
        'menu.wav': 'speech/close-menu.wav',
        'balance.wav': 'speech/account-balance.wav',
        'sales.wav': 'speech/transfer-sales-wait.wav',
      },
      {
        '84/121/84-121.trans.txt': '84-121-0 HELLO OPERATOR\n84-121-1 CANCEL THE PAYMENT GOODBYE\n',
        'menu.txt': 'Close mobile menu:\nno help, agents!\n',
        // Only what is said before 1.5 s is scored: the rest is not there for the score.
        'balance.stm': 'x 1 anna 0 1.5 account\nx 1 anna 1.5 60 ignore_time_segment_in_scoring\n',
        'set.ctm': 'sales 1 0.1 0.4 transfer\nsales 1 0.6 0.4 sails\nsales 1 1.2 0.3 wait\n',
      },
    );
    const report = reportOf(await runEval(scratch, dir, '--data-dir', data.path, '--json', '--parallel', '2'));
    const counts = report.files.map(({ file, words, substitutions, deletions, insertions }) => [
      file,
      words,
      substitutions,
      deletions,
      insertions,
    ]);
    assert.deepEqual(counts.slice(1), [
      ['menu.wav', 6, 1, 0, 0],
      ['sales.wav', 3, 1, 0, 0],
      [join('84', '121', '84-121-0.wav'), 2, 0, 0, 0],
      [join('84', '121', '84-121-1.wav'), 4, 0, 1, 0],
    ]);
    const [balance, menu, sales] = report.files;
    assert.deepEqual([balance!.file, balance!.words, balance!.substitutions], ['balance.wav', 1, 0]);
    assert.equal(menu!.wer, 0.166667);
    assert.equal(sales!.word_times?.words, 2);
    assert.deepEqual(report.errors, []);
    assert.deepEqual(report.models, ['demo-transducer-en@2026-11-21']);
    const exact = reportOf(await runEval(scratch, dir, '--data-dir', data.path, '--json', '--normalize', 'none'));
    assert.deepEqual(
      exact.files.filter(({ file }) => file.startsWith('84')).map(({ substitutions }) => substitutions),
      [2, 3],
    );
  });

  it('names what it cannot use, scores the rest and says so with its exit code', async () => {
    const dir = await createSet(
      'faults',
      { 'good.wav': 'speech/close-menu.wav', 'orphan.mp3': 'audio/words.mp3' },
      {
        'good.txt': 'close mobile menu no help agent',
        'broken.wav': 'this is no sound',
        'broken.txt': 'close',
        'more.ctm': 'good 1 soon 1 close',
        'other.trans.txt': 'absent-1 NOT HERE',
      },
    );
    const ran = await runEval(scratch, dir, '--data-dir', data.path);
    assert.equal(ran.code, 1);
    assert.match(ran.out, /^good\.wav +6 +0 +0 +0 /m);
    assert.match(ran.out, /^Files that could not be used, named above: 4$/m);
    assert.deepEqual(ran.err.trim().split('\n').sort(), [
      'parley: broken.wav: The format of the audio is not known here.',
      'parley: more.ctm: line 1: the start is not a number of seconds.',
      'parley: orphan.mp3: there is no reference for it (.txt, .trans.txt, .trn, .stm or .ctm).',
      'parley: other.trans.txt: there is no recording absent-1 beside it.',
    ]);
  });

  it('says in one sentence what makes it useless', async () => {
    const dir = await createSet('one', { 'a.wav': 'speech/close-menu.wav' }, { 'a.txt': 'close' });
    const own = ['--data-dir', data.path];
    for (const [args, said] of [
      [[], /^parley: eval wants DIR /],
      [[join(root, 'nowhere')], /^parley: .* cannot be read: there is no such folder\.\n$/],
      [[scratch], /^parley: .* holds no recordings\.\n$/],
      [[dir, ...own, '--model', 'absent'], /^parley: The model "absent" is not installed\.\n$/],
      [[dir, ...own, '--normalize', 'much'], /^parley: --normalize must be one of: basic, none\.\n$/],
      [[dir, ...own, '--collar=-1'], /^parley: --collar must be a number from 0 to 10\.\n$/],
      [[dir, ...own, '--key', 'x'], /^parley: A key needs --url\.\n$/],
      [[dir, '--url', 'nonsense'], /^parley: nonsense is not an address; /],
      [[dir, '--url', 'http://127.0.0.1:1'], /^parley: The service does not answer at http:\/\/127\.0\.0\.1:1\.\n$/],
      [[dir, '--data-dir', join(root, 'empty')], /^parley: No model is installed in /],
    ] as const) {
      const ran = await runEval(scratch, ...args);
      assert.deepEqual([ran.code, ran.out], [1, ''], args.join(' '));
      assert.match(ran.err, said);
    }
  });

  it('asks a running service with a key', async () => {
    const dir = await createSet('remote', { 'a.wav': 'speech/close-menu.wav' }, { 'a.txt': 'close mobile menu' });
    const keyFile = join(root, 'key');
    await writeFile(keyFile, `${USER_KEY}\n`);
    await using speech = await startTestSpeech();
    const report = reportOf(await runEval(scratch, dir, '--url', speech.url, '--key-file', keyFile, '--json'));
    assert.equal(report.files[0]!.insertions, 3);
    const refused = await runEval(scratch, dir, '--url', speech.url, '--key', 'sk-wrong-0123456789');
    assert.equal(refused.code, 1);
    assert.match(refused.err, /^parley: .*key.*\n$/i);
    const apart = await runEval(scratch, dir, '--url', speech.url, '--key', USER_KEY, '--diarize');
    assert.equal(apart.code, 1, 'a service without models of speakers');
    assert.match(apart.err, /^parley: a\.wav: .*speaker/im);
  });

  it('tells how well speakers are told apart', async () => {
    const turns = [
      ['anna', 0, 2.65],
      ['boris', 3.05, 2.78],
      ['anna', 6.22, 2.71],
      ['boris', 9.33, 2.55],
    ] as const;
    const rttm = turns.map(([who, at, sec]) => `SPEAKER two 1 ${at} ${sec} <NA> <NA> ${who} <NA> <NA>`).join('\n');
    const dir = await createSet('speakers', { 'two.wav': 'audio/two-voices.wav' }, { 'two.rttm': rttm });
    const ask = async (...more: string[]) =>
      reportOf(await runEval(scratch, dir, '--data-dir', data.path, '--diarize', '--json', ...more)).files[0]!
        .diarization!;
    const usual = await ask();
    // 10.69 s of turns less eight collars within them.
    assert.ok(Math.abs(usual.scored_seconds! - (10.69 - 8 * 0.25)) < 0.01, JSON.stringify(usual));
    assert.ok(usual.der! < 0.05, JSON.stringify(usual));
    const strict = await ask('--collar', '0');
    assert.ok(Math.abs(strict.scored_seconds! - 10.69) < 0.01, JSON.stringify(strict));
    assert.ok(strict.der! > usual.der!, JSON.stringify(strict));
    const plain = await runEval(scratch, dir, '--data-dir', data.path);
    assert.match(plain.err, /^parley: two\.wav: its reference has only turns of speakers: give --diarize\.\n$/);
  });
});
