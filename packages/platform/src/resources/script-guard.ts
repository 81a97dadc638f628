/**
 * Who may write a script: it acts with the rights of scripts, so its author must cover them. A script that decides about
 * sign-in, that such a script calls, or that acts in other domains is a way to any right.
 */
import { problem } from '../codes.ts';
import type { Caller, Domain, Entity } from '../domains/types.ts';
import { isSame, type Json } from '../rest/json.ts';
import type { SaveContext } from '../rest/resource.ts';
import { scriptRoutesOf } from '../scripts/principal.ts';
import { objectsOf } from '../scripts/script.ts';

const EVERYTHING = [{ methods: ['*'], url: '*' }];
/** Settings whose script decides who gets a session. */
const SIGN_IN_SETTINGS = ['iam_token_svcscript_code', 'iam_external_svcscript_code'];
const CALL_TYPE = 113;
/** What becomes text only when the script runs; so does a code that is no text. */
const TEMPLATE = '{{';
/** What makes a script do what it does. */
const GUARDED = ['code', 'scriptdata', 'opts'];

/** 403 unless the caller may make this of that script. `draft` undefined removes it. */
export const guardScript = (
  draft: Json | undefined,
  previous: Entity | undefined,
  { domain, caller }: Pick<SaveContext, 'domain' | 'caller'>,
): void => {
  for (const script of [draft, previous]) {
    if (!script) continue;
    if (decidesSignIn(domain, String(script.code)) && !caller.covers(EVERYTHING)) {
      throw refusal('code', 'this script decides about sign-in');
    }
  }
  if (draft && previous && GUARDED.every((name) => isSame(draft[name], previous[name]))) return;
  for (const script of [draft, previous]) if (script) requireScriptCoverage(caller, domain, script);
};

/** 403 unless the caller could do himself what the script, and those it calls, can do. */
export const requireScriptCoverage = (caller: Caller, domain: Domain, script: Entity | Json): void => {
  const scripts = withCalled(domain, script);
  if (domain.isMaster && scripts.some(actsElsewhere) && !caller.covers(EVERYTHING)) {
    throw refusal('scriptdata', 'this script acts in other domains');
  }
  const routes = scripts.flatMap(({ code }) => scriptRoutesOf(domain, String(code)));
  if (routes.length > 0 && !caller.covers(routes)) {
    throw refusal('scriptdata', 'the rights of scripts are not covered by your own roles');
  }
};

const refusal = (field: string, reason: string) => problem('forbidden', { details: { field, reason } });

const actsElsewhere = ({ scriptdata }: Entity | Json): boolean =>
  objectsOf(scriptdata).some(({ domain }) => domain !== undefined && domain !== null && domain !== '');

/** Named by a setting, or called by one that is, directly or through others. */
const decidesSignIn = (domain: Domain, code: string): boolean =>
  SIGN_IN_SETTINGS.some((name) => {
    const named = domain.setting(name)?.value;
    if (typeof named !== 'string' || named === '') return false;
    const script = scriptOf(domain, named);
    return named === code || (script && withCalled(domain, script).some((each) => each.code === code));
  });

const scriptOf = (domain: Domain, code: string): Entity | undefined => {
  const [id] = domain.find('svcscript', 'code', code);
  return id === undefined ? undefined : domain.get('svcscript', id);
};

/** The script and all it may call, directly or through others. */
const withCalled = (domain: Domain, script: Entity | Json): (Entity | Json)[] => {
  const reached = new Map<string, Entity | Json>([[String(script.code), script]]);
  for (const each of reached.values()) {
    const calls = callsOf(each);
    // Which one it calls is known only when it runs: it may be any.
    if (calls === 'any') return [script, ...domain.all('svcscript')];
    for (const code of calls) {
      const called = reached.has(code) ? undefined : scriptOf(domain, code);
      if (called) reached.set(code, called);
    }
  }
  return [...reached.values()];
};

const callsOf = ({ scriptdata }: Entity | Json): readonly string[] | 'any' => {
  const calls = objectsOf(scriptdata).filter(({ oType }) => oType === CALL_TYPE);
  const codes = calls.map(({ code }) => (typeof code === 'string' ? code : TEMPLATE));
  return codes.some((code) => code.includes(TEMPLATE)) ? 'any' : codes;
};
