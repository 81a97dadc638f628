/** What elements are given, out of the run and the script they belong to. */
import type { ElementContext } from './element.ts';
import { ScriptFault } from './fault.ts';
import type { Frame } from './frame.ts';
import { MAX_WALL_MS } from './limits.ts';
import { type Run, whereOf } from './parts.ts';
import { createScriptCaller } from './principal.ts';
import type { Evaluation } from './sandbox.ts';
import { expressionsOf, fillTemplate, toText } from './template.ts';

export const createElementContext = (run: Run, { script, variables }: Frame): ElementContext => {
  const { request, signal, log } = run;
  const sandbox = run.sandbox!;
  const { domain, address = '' } = request;
  const callerIn = (where: ElementContext['domain']) =>
    createScriptCaller(domain, script, where, { address, runId: run.id });

  const texts = (each: readonly Evaluation[], options: { untilTrue?: boolean } = {}) => {
    const scope = variables.scopeFor(each.map(({ source }) => source).join('\n'));
    return sandbox.evaluate(each, { scope, signal, ...options });
  };
  const evaluateAll: ElementContext['evaluateAll'] = async (each, options) => parseAll(await texts(each, options));
  const render = async (template: unknown): Promise<unknown> => {
    const sources = expressionsOf(template);
    if (sources.length === 0) return template;
    return fillTemplate(template, await evaluateAll(sources.map((source) => ({ source }))));
  };
  return {
    runId: run.id,
    script: { id: script.id, code: script.code },
    entry: request.entry,
    domain,
    address,
    caller: callerIn(domain),
    acting: async (name) => {
      if (name === undefined || name === null || name === '' || name === domain.name) {
        return { domain, caller: callerIn(domain) };
      }
      if (!domain.isMaster) throw new ScriptFault('rights', 'only scripts of the master domain act in others');
      const other = await run.parts.domains.open(String(name));
      if (!other) throw new ScriptFault('element', `there is no domain ${String(name).slice(0, 253)}`);
      return { domain: other, caller: callerIn(other) };
    },
    variables,
    assign: async (each) => {
      const found = await texts(each.map(({ name, source }) => ({ source, as: name })));
      for (const [at, { name }] of each.entries()) variables.setText(name, found[at] ?? 'null');
    },
    evaluate: async (source) => (await evaluateAll([{ source }]))[0],
    evaluateAll,
    execute: async (source, scope) =>
      parseAll(await sandbox.evaluate([{ source }], { scope: JSON.stringify(scope), isCode: true, signal }))[0],
    evaluateIn: async (scope, sources) => {
      const each = sources.map((source) => ({ source }));
      return parseAll(await sandbox.evaluate(each, { scope: JSON.stringify(scope), signal }));
    },
    render,
    renderText: async (template) => toText(await render(template)),
    signal,
    remainingMs: () => Math.max(0, MAX_WALL_MS - run.elapsedMs()),
    log: (level, text) => log.write(level, text, whereOf(run)),
    hide: (secret) => log.hide(secret),
    leave: (key, value) => {
      run.left[key] = value;
    },
    services: run.parts.services,
  };
};

const parseAll = (texts: readonly string[]): unknown[] => texts.map((text) => JSON.parse(text));
