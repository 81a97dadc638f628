/**
 * Patterns from callers. They run on re2js, whose time grows with the text and not with the pattern's branches; V8's
 * engine never sees them. Compiled patterns are kept, the least recently used goes first.
 */
import { RE2JS } from 're2js';
import { badRequest } from '../codes.ts';

const MAX_PATTERN_LENGTH = 256;
/** Instructions of a compiled pattern; nested repeats grow here before they grow anywhere else. */
const MAX_PROGRAM_SIZE = 5_000;
const MAX_KEPT = 512;
/** Text beyond this is not looked at: no descriptor field is longer. */
const MAX_SUBJECT_LENGTH = 100_000;

export type PatternCache = {
  compile(pattern: string, ignoresCase: boolean, field: string): (subject: string) => boolean;
};

/** A cache of compiled patterns. `compile` throws 400 with the engine's reason. */
export const createPatternCache = (): PatternCache => {
  const kept = new Map<string, (subject: string) => boolean>();
  return {
    compile: (pattern, ignoresCase, field) => {
      const name = `${ignoresCase ? 'i' : '-'}${pattern}`;
      const known = kept.get(name);
      if (known) {
        kept.delete(name);
        kept.set(name, known);
        return known;
      }
      const test = compilePattern(pattern, ignoresCase, field);
      if (kept.size >= MAX_KEPT) kept.delete(kept.keys().next().value!);
      kept.set(name, test);
      return test;
    },
  };
};

const compilePattern = (pattern: string, ignoresCase: boolean, field: string): ((subject: string) => boolean) => {
  if (pattern.length > MAX_PATTERN_LENGTH) {
    throw badRequest(field, `pattern must be at most ${MAX_PATTERN_LENGTH} characters`);
  }
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(pattern, ignoresCase ? RE2JS.CASE_INSENSITIVE : 0);
  } catch (thrown) {
    throw badRequest(field, `pattern is not supported: ${thrown instanceof Error ? thrown.message : 'invalid'}`);
  }
  if (compiled.programSize() > MAX_PROGRAM_SIZE) throw badRequest(field, 'pattern is too complex');
  return (subject) =>
    compiled.test(subject.length > MAX_SUBJECT_LENGTH ? subject.slice(0, MAX_SUBJECT_LENGTH) : subject);
};
