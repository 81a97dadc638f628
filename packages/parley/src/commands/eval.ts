/** `parley eval`: word, character and speaker error rates and times of a service over recordings with references. */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { Command, CommandContext } from '../command.ts';
import { checkService, type Place } from '../eval/client.ts';
import { evaluate, type Options, type Score, warmUp } from '../eval/evaluate.ts';
import { NORMALIZATIONS, type Normalization } from '../eval/normalize.ts';
import { startOwnService } from '../eval/own-service.ts';
import { type Fault, findRecordings } from '../eval/references.ts';
import { renderHead, renderScore, renderTotal, toJson, totalOf } from '../eval/report.ts';

const USAGE =
  'DIR [--model ID] [--language L] [--url URL --key KEY|--key-file FILE] [--normalize basic|none] [--parallel N] ' +
  '[--diarize [--num-speakers N] [--collar SECONDS] [--skip-overlap]] [--json]';

const DEFAULT_COLLAR_SEC = '0.25';
const MAX_PARALLEL = 32;

const parse = (args: readonly string[]) =>
  parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      model: { type: 'string' },
      language: { type: 'string' },
      url: { type: 'string' },
      key: { type: 'string' },
      'key-file': { type: 'string' },
      diarize: { type: 'boolean', default: false },
      'num-speakers': { type: 'string' },
      collar: { type: 'string', default: DEFAULT_COLLAR_SEC },
      'skip-overlap': { type: 'boolean', default: false },
      normalize: { type: 'string', default: 'basic' },
      parallel: { type: 'string', default: '1' },
      json: { type: 'boolean', default: false },
    },
  });

type Values = ReturnType<typeof parse>['values'];

const toNumber = (name: string, text: string, { min, max, whole }: { min: number; max: number; whole: boolean }) => {
  const value = Number(text);
  const isGood = text.trim() !== '' && value >= min && value <= max && (!whole || Number.isInteger(value));
  if (!isGood) throw new Error(`--${name} must be a ${whole ? 'whole ' : ''}number from ${min} to ${max}.`);
  return value;
};

const isNormalization = (text: string): text is Normalization => (NORMALIZATIONS as readonly string[]).includes(text);

const toOptions = (values: Values): Options => {
  const { normalize, diarize } = values;
  if (!isNormalization(normalize)) throw new Error(`--normalize must be one of: ${NORMALIZATIONS.join(', ')}.`);
  const speakers = { collarSec: toNumber('collar', values.collar, { min: 0, max: 10, whole: false }) };
  const count = values['num-speakers'];
  if (count !== undefined) toNumber('num-speakers', count, { min: 0, max: 32, whole: true });
  return {
    fields: {
      ...(values.model !== undefined && { model: values.model }),
      ...(values.language !== undefined && { language: values.language }),
      ...(diarize && { diarize: 'true' }),
      ...(count !== undefined && { num_speakers: count }),
      // What is compared without marks is better not written with them; and digits would not be the words spoken.
      ...(normalize === 'basic' && { punctuate: 'false', itn: 'false' }),
    },
    normalization: normalize,
    speakers: diarize ? { ...speakers, overlap: !values['skip-overlap'] } : undefined,
    parallel: toNumber('parallel', values.parallel, { min: 1, max: MAX_PARALLEL, whole: true }),
  };
};

const keyOf = ({ key, 'key-file': file }: Values): string => {
  if (key !== undefined) return key;
  if (file === undefined) return '';
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    throw new Error(`--key-file ${file} cannot be read.`);
  }
};

/** The service that was named, or one of our own. */
const openPlace = async (
  values: Values,
  { line, signal }: CommandContext,
  stack: AsyncDisposableStack,
): Promise<Place> => {
  if (values.url !== undefined) return { url: values.url, key: keyOf(values) };
  if (values.key !== undefined || values['key-file'] !== undefined) throw new Error('A key needs --url.');
  return stack.use(await startOwnService(line, signal));
};

const isFault = (outcome: Score | Fault): outcome is Fault => 'reason' in outcome;
const isScore = (outcome: Score | Fault): outcome is Score => !isFault(outcome);
const complain = ({ file, reason }: Fault): void => void process.stderr.write(`parley: ${file}: ${reason}\n`);

export const evalCommand: Command = {
  name: 'eval',
  usage: 'DIR [--url URL] [--diarize] [--json]',
  summary: 'error rates and times over recordings with references (docs/evaluation.md)',
  run: async (args, context) => {
    const { out, signal } = context;
    const { values, positionals } = parse(args);
    const [dir, ...others] = positionals;
    if (dir === undefined || others.length > 0) throw new Error(`eval wants ${USAGE}`);
    const options = toOptions(values);
    const found = await findRecordings(dir);
    if (found.recordings.length === 0) throw new Error(`${dir} holds no recordings.`);
    await using stack = new AsyncDisposableStack();
    const place = await openPlace(values, context, stack);
    await checkService(place, signal);
    await warmUp(place, found.recordings, options, signal);

    for (const fault of found.faults) complain(fault);
    const nameWidth = Math.max(...found.recordings.map(({ name }) => name.length), 'TOTAL (0000)'.length);
    const show = (text: string): void => void (values.json || out.write(`${text}\n`));
    show(renderHead(nameWidth, options.speakers !== undefined));
    const outcomes = await evaluate(place, found.recordings, options, signal, (outcome) =>
      isScore(outcome) ? show(renderScore(outcome, nameWidth)) : complain(outcome),
    );
    const scores = outcomes.filter(isScore);
    const faults = [...found.faults, ...outcomes.filter(isFault)];
    if (values.json) out.write(`${JSON.stringify(toJson(scores, faults, options.normalization), undefined, 2)}\n`);
    for (const text of renderTotal(totalOf(scores), nameWidth)) show(text);
    if (faults.length > 0) show(`Files that could not be used, named above: ${faults.length}`);
    return faults.length === 0 ? 0 : 1;
  },
};
