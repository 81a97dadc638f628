/** `parley script run` and `trace`: runs a script of the running platform and shows how it ended, or every step. */
import { createInterface } from 'node:readline/promises';
import { parseArgs } from 'node:util';
import type { CommandContext, Output } from '../command.ts';
import { openPlatformSession, type PlatformSession } from '../platform-session.ts';

export const RUN_USAGE = 'run|trace CODE [--input JSON] [--answer JSON …] [--domain NAME] [--url URL] [--login NAME]';

const SCRIPTS = 'service/svcscripts';
/** Forms one run may ask for here. */
const MAX_FORMS = 100;

type Json = Readonly<Record<string, unknown>>;
type Field = { readonly name: string; readonly title?: string; readonly type: string; readonly from?: unknown };
type Step = {
  readonly step: number;
  readonly script: string;
  readonly oId: number;
  readonly element: string;
  readonly name: string;
  readonly took_ms: number;
  readonly changed: Json;
  readonly went: string | number;
};
type RunError = Readonly<Record<'script' | 'element' | 'reason' | 'message', string>> & { step: number; oId?: number };
type Ran = {
  readonly ended: 'return' | 'form' | 'refuse' | 'error';
  readonly values?: Json;
  readonly status?: unknown;
  readonly message?: string;
  readonly error?: RunError;
  readonly form?: { readonly step: unknown; readonly fields: readonly Field[] };
  readonly ctx?: string;
  readonly steps: number;
  readonly took_ms: number;
  readonly log: readonly { readonly level: string; readonly at_ms: number; readonly text: string }[];
  readonly trace?: readonly Step[];
};

/** Runs the script its first argument names; 0 when it returned. */
export const runScript = (args: readonly string[], context: CommandContext): Promise<number> =>
  execute(args, context, false);

/** The same, with every step. */
export const traceScript = (args: readonly string[], context: CommandContext): Promise<number> =>
  execute(args, context, true);

const execute = async (args: readonly string[], context: CommandContext, trace: boolean): Promise<number> => {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      input: { type: 'string' },
      answer: { type: 'string', multiple: true, default: [] },
      domain: { type: 'string' },
      url: { type: 'string' },
      login: { type: 'string' },
    },
  });
  const [code, ...others] = positionals;
  if (code === undefined || others.length > 0) throw new Error(`script wants ${RUN_USAGE}`);
  const input = toJson('input', values.input ?? '{}');
  const answers = values.answer.map((text) => toJson('answer', text));
  const { domain, url, login } = values;
  await using session = await openPlatformSession(context, { domain, url, login });
  const path = `${SCRIPTS}/${await idOf(session, code)}/run`;
  let ran = (await session.ask('POST', path, { input, trace })) as Ran;
  show(context.out, ran);
  for (let forms = 0; ran.ended === 'form' && forms < MAX_FORMS; forms++) {
    const entered = answers[forms] ?? (await askFor(context, ran));
    if (!entered) break;
    ran = (await session.ask('POST', path, { ctx: ran.ctx, values: entered, trace })) as Ran;
    show(context.out, ran);
  }
  return ran.ended === 'return' ? 0 : 1;
};

const toJson = (name: string, text: string): Json => {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json;
  } catch {
    // Told below.
  }
  throw new Error(`--${name} must be a JSON object.`);
};

const idOf = async (session: PlatformSession, code: string): Promise<string> => {
  const filter = encodeURIComponent(JSON.stringify({ code: [code] }));
  const [found] = (await session.ask('GET', `${SCRIPTS}?filter=${filter}&mask=id`)) as { id: string }[];
  if (!found) throw new Error(`There is no script ${code}.`);
  return found.id;
};

/** What a person enters into the form; undefined when nobody is there to ask. */
const askFor = async ({ out, signal }: CommandContext, { form }: Ran): Promise<Json | undefined> => {
  if (!out.isTTY || !process.stdin.isTTY) {
    out.write('The script waits for its form; give what is entered with --answer JSON.\n');
    return undefined;
  }
  const asked = (form?.fields ?? []).filter(({ type, from }) => type !== 'hidden' && from === undefined);
  const line = createInterface({ input: process.stdin, output: process.stdout });
  try {
    const entered: Record<string, string> = {};
    for (const { name, title } of asked) entered[name] = await line.question(`${title ?? name}: `, { signal });
    return entered;
  } finally {
    line.close();
  }
};

const show = (out: Output, ran: Ran): void => {
  for (const step of ran.trace ?? []) showStep(out, step);
  for (const { level, at_ms, text } of ran.log) out.write(`${String(at_ms).padStart(6)} ms ${level}: ${text}\n`);
  out.write(`${endingOf(ran)} (${ran.steps} steps, ${ran.took_ms} ms)\n`);
};

const showStep = (out: Output, { step, script, oId, element, name, took_ms, changed, went }: Step): void => {
  const title = name === '' ? element : `${element} "${name}"`;
  out.write(`${String(step).padStart(4)}  ${script} #${oId} ${title} → ${went} (${took_ms} ms)\n`);
  for (const [variable, value] of Object.entries(changed)) out.write(`      ${variable} = ${JSON.stringify(value)}\n`);
};

const endingOf = ({ ended, values, status, message, error, form }: Ran): string => {
  switch (ended) {
    case 'return':
      return `returned ${JSON.stringify(values)}${status === undefined ? '' : `, status ${JSON.stringify(status)}`}`;
    case 'form':
      return `asks, step ${String(form?.step)}: ${(form?.fields ?? []).map(({ name }) => name).join(', ')}`;
    case 'refuse':
      return `refused: ${message}`;
    default:
      return `failed in ${error?.script}, object ${error?.oId ?? '-'} (${error?.element ?? '-'}), step ${error?.step}: ${error?.reason}: ${error?.message}`;
  }
};
