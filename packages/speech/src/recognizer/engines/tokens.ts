/** Reads `tokens.txt`, a line "symbol id" each, the way sherpa-onnx does, which ends the process when it does not like it. */
import { readFile, stat } from 'node:fs/promises';
import { EngineRefusal } from './engine.ts';

export type TokenTable = {
  /** Id of a symbol as the file spells it (a word opens with U+2581). */
  readonly idOf: ReadonlyMap<string, number>;
  /** Highest id + 1. */
  readonly size: number;
  /** How the symbols spell words, so that words from outside can be spelled alike. */
  readonly letterCase: 'upper' | 'lower' | 'mixed';
};

/** Names of the blank that CTC decoders look for. */
const BLANKS = ['<blk>', '<blank>', '<eps>', '<b>', '<s>', '<pad>', '<epsilon>'];
const MAX_TOKENS_BYTES = 64 * 2 ** 20;

export const hasBlank = (table: TokenTable): boolean => BLANKS.some((name) => table.idOf.has(name));

const letterCaseOf = (symbols: Iterable<string>): TokenTable['letterCase'] => {
  let upper = false;
  let lower = false;
  for (const symbol of symbols) {
    if (symbol.startsWith('<') && symbol.endsWith('>')) continue;
    upper ||= symbol !== symbol.toLowerCase();
    lower ||= symbol !== symbol.toUpperCase();
  }
  return upper === lower ? 'mixed' : upper ? 'upper' : 'lower';
};

/** One line as sherpa-onnx reads it: a number alone is the id of the space. */
const parseLine = (line: string): { symbol: string; id: number } | undefined => {
  const match = /^(?:(.*\S)\s+)?(\d{1,9})$/u.exec(line.trim());
  return match ? { symbol: match[1] ?? ' ', id: Number(match[2]) } : undefined;
};

/** Parses the content of a tokens file. Throws EngineRefusal naming the line at fault. */
export const parseTokens = (content: string, name = 'tokens'): TokenTable => {
  const idOf = new Map<string, number>();
  let size = 0;
  for (const [index, line] of content.split('\n').entries()) {
    if (line.trim() === '') continue;
    const entry = parseLine(line);
    if (!entry || line.includes('\0')) throw new EngineRefusal(`${name}, line ${index + 1}: not "symbol id"`);
    idOf.set(entry.symbol, entry.id);
    size = Math.max(size, entry.id + 1);
  }
  if (size === 0) throw new EngineRefusal(`${name} holds no symbols`);
  return { idOf, size, letterCase: letterCaseOf(idOf.keys()) };
};

/** Reads a tokens file. Throws EngineRefusal when it is missing, too large, or not a token list. */
export const readTokens = async (path: string): Promise<TokenTable> => {
  const found = await stat(path).catch(() => undefined);
  if (!found?.isFile()) throw new EngineRefusal('tokens is missing');
  if (found.size > MAX_TOKENS_BYTES) throw new EngineRefusal('tokens is too large');
  return parseTokens(await readFile(path, 'utf8'));
};
