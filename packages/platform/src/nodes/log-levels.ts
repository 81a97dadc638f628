/** Log levels as `master/nodes` names them, beside the ones the log itself knows. Greater numbers say more. */
import type { LogLevel } from '@parley/kit/log.ts';

/** By number. Anything beyond the last is `highest`. */
const NAMES = ['none', 'crash', 'error', 'warning', 'info', 'trace', 'debug'] as const;

export type NodeLogLevel = (typeof NAMES)[number] | 'highest';

const LOG_LEVEL_OF: Readonly<Record<NodeLogLevel, LogLevel>> = {
  none: 'silent',
  crash: 'fatal',
  error: 'error',
  warning: 'warn',
  info: 'info',
  // The interface puts trace below debug, the log the other way round.
  trace: 'debug',
  debug: 'trace',
  highest: 'trace',
};

export const NODE_LOG_LEVELS: readonly NodeLogLevel[] = [...NAMES, 'highest'];

/** A name, or a number, also as text; undefined when it is neither. */
export const parseNodeLogLevel = (given: unknown): NodeLogLevel | undefined => {
  if (typeof given === 'string' && NODE_LOG_LEVELS.includes(given as NodeLogLevel)) return given as NodeLogLevel;
  const isNumber = typeof given === 'number' || (typeof given === 'string' && /^-?\d+$/.test(given));
  return isNumber ? (NAMES[Number(given)] ?? 'highest') : undefined;
};

/** What the log of a node is set to. */
export const toLogLevel = (level: NodeLogLevel): LogLevel => LOG_LEVEL_OF[level];

/** What a log that stands at this level is called. */
export const toNodeLogLevel = (level: string): NodeLogLevel =>
  NAMES.find((name) => LOG_LEVEL_OF[name] === level) ?? 'info';
