/** The log and trace of one run, with what is secret cut out. */
import { isObject, type Json } from '../rest/json.ts';
import { LOG_LEVELS, type LogLevel } from './element.ts';
import { MAX_LOG_LINES, MAX_LOG_TEXT, MAX_TRACE_BYTES, MAX_TRACE_VALUE } from './limits.ts';
import type { LogLine, TraceStep } from './outcome.ts';

const MASK = '*****';
/** Shorter secrets would mask half of everything. */
const MIN_SECRET = 3;

export type RunLog = {
  /** A line, if the script keeps this level. `step` and `oId`: where the run is. */
  write(level: LogLevel, text: string, where: { step: number; oId?: number; logLevel: number }): void;
  hide(secret: unknown): void;
  /** A value as it may be shown. */
  mask(value: unknown): unknown;
  /** Takes a step when it is traced; `changed` is asked for only then. */
  traced(step: Omit<TraceStep, 'changed'>, changed: () => Json): void;
  lines(): readonly LogLine[];
  trace(): readonly TraceStep[] | undefined;
};

/** `elapsedMs`: since the run began. */
export const createRunLog = (elapsedMs: () => number, keepsTrace: boolean): RunLog => {
  const secrets = new Set<string>();
  const lines: LogLine[] = [];
  const trace: TraceStep[] = [];
  let traceBytes = 0;
  const maskText = (text: string): string => {
    let masked = text;
    for (const secret of secrets) masked = masked.replaceAll(secret, MASK);
    return masked;
  };
  const mask = (value: unknown): unknown => {
    if (secrets.size === 0) return value;
    if (typeof value === 'string') return maskText(value);
    if (typeof value === 'number') return secrets.has(String(value)) ? MASK : value;
    if (Array.isArray(value)) return value.map(mask);
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, mask(inner)])) as Json;
  };
  return {
    write: (level, text, { step, oId, logLevel }) => {
      if (LOG_LEVELS.indexOf(level) >= logLevel || lines.length > MAX_LOG_LINES) return;
      const isLast = lines.length === MAX_LOG_LINES;
      lines.push({
        level,
        atMs: Math.round(elapsedMs()),
        step,
        ...(oId === undefined ? {} : { oId }),
        text: isLast ? 'more lines were left out' : maskText(text).slice(0, MAX_LOG_TEXT),
      });
    },
    hide: (secret) => {
      const text = typeof secret === 'number' ? String(secret) : secret;
      if (typeof text === 'string' && text.length >= MIN_SECRET) secrets.add(text);
    },
    mask,
    traced: (step, valuesOf) => {
      if (!keepsTrace) return;
      const changed = traceBytes < MAX_TRACE_BYTES ? cut(mask(valuesOf()) as Json) : {};
      traceBytes += JSON.stringify(changed).length;
      trace.push({ ...step, changed });
    },
    lines: () => lines,
    trace: () => (keepsTrace ? trace : undefined),
  };
};

/** Long values by their beginning: a trace is read by a person. */
const cut = (values: Json): Json => {
  const shown: Json = {};
  for (const [name, value] of Object.entries(values)) {
    const text = JSON.stringify(value) ?? 'null';
    shown[name] = text.length > MAX_TRACE_VALUE ? `${text.slice(0, MAX_TRACE_VALUE)}… (${text.length})` : value;
  }
  return shown;
};
