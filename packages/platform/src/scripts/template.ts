/**
 * Templates: JSON whose texts may hold `{{expression}}`. A text that is nothing but one expression becomes its value;
 * otherwise values are put into the text. An expression ends at the first `}}` outside its own braces and quotes.
 */
import { isObject, type Json } from '../rest/json.ts';
import { ScriptFault } from './fault.ts';
import { MAX_TEMPLATE_EXPRESSIONS } from './limits.ts';

const OPEN = '{{';
const CLOSE = '}}';
const QUOTES: ReadonlySet<string> = new Set(["'", '"', '`']);

type Part = { readonly text: string } | { readonly expression: string };

/** Texts and expressions of a template's text, in order. Throws a ScriptFault when one is not closed. */
const partsOf = (text: string): Part[] => {
  const parts: Part[] = [];
  let at = 0;
  while (at < text.length) {
    const open = text.indexOf(OPEN, at);
    if (open < 0) break;
    const close = closeOf(text, open + OPEN.length);
    if (open > at) parts.push({ text: text.slice(at, open) });
    parts.push({ expression: text.slice(open + OPEN.length, close).trim() });
    at = close + CLOSE.length;
  }
  if (at < text.length) parts.push({ text: text.slice(at) });
  return parts;
};

/** Where the closing braces of the expression that begins at `from` stand. */
const closeOf = (text: string, from: number): number => {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    const char = text[at]!;
    if (depth === 0 && text.startsWith(CLOSE, at)) return at;
    if (char === '{') depth += 1;
    else if (char === '}') depth -= 1;
    else if (QUOTES.has(char)) at = skipQuoted(text, at);
    if (depth < 0) break;
  }
  throw new ScriptFault('expression', 'a {{ is not closed by }}');
};

/** The closing quote of what is quoted at `from`; the end where there is none. */
const skipQuoted = (text: string, from: number): number => {
  for (let at = from + 1; at < text.length; at++) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === text[from]) return at;
  }
  return text.length;
};

/** Every expression of a template, in the order `fillTemplate` wants their values. */
export const expressionsOf = (template: unknown): string[] => {
  const found: string[] = [];
  visit(template, (text) => {
    for (const part of partsOf(text)) if ('expression' in part) found.push(part.expression);
  });
  if (found.length > MAX_TEMPLATE_EXPRESSIONS) {
    throw new ScriptFault('expression', `more than ${MAX_TEMPLATE_EXPRESSIONS} expressions in one template`);
  }
  return found;
};

const visit = (node: unknown, onText: (text: string) => void): void => {
  if (typeof node === 'string') {
    if (node.includes(OPEN)) onText(node);
  } else if (Array.isArray(node)) for (const item of node) visit(item, onText);
  else if (isObject(node)) for (const inner of Object.values(node)) visit(inner, onText);
};

/** The template with values in place of its expressions. */
export const fillTemplate = (template: unknown, values: readonly unknown[]): unknown => {
  let next = 0;
  const fill = (node: unknown): unknown => {
    if (typeof node === 'string') return node.includes(OPEN) ? fillText(node) : node;
    if (Array.isArray(node)) return node.map(fill);
    if (!isObject(node)) return node;
    const filled: Json = {};
    for (const [key, inner] of Object.entries(node)) filled[key] = fill(inner);
    return filled;
  };
  const fillText = (text: string): unknown => {
    const parts = partsOf(text);
    if (parts.length === 1 && 'expression' in parts[0]!) return values[next++];
    return parts.map((part) => ('text' in part ? part.text : toText(values[next++]))).join('');
  };
  return fill(template);
};

/** A value inside a text: nothing for null, JSON for objects. */
export const toText = (value: unknown): string => {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
};
