/**
 * The thread in which expressions and code of scripts run: QuickJS compiled to WebAssembly, a fresh runtime for every
 * question, so that nothing one of them leaves behind is seen by another. One question at a time. When the interpreter
 * itself breaks the thread says so and ends; the pool starts another.
 */
import { readlinkSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import {
  isFail,
  newQuickJSWASMModule,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
  RELEASE_SYNC,
} from 'quickjs-emscripten';
import { MAX_SANDBOX_BYTES, MAX_SANDBOX_STACK_BYTES, MAX_VARIABLES_BYTES } from './limits.ts';
import { createSandboxMemory } from './sandbox-memory.ts';
import type { Answer, Compile, Evaluate, Question, Ready, ThreadOptions } from './sandbox-messages.ts';

/** What is added to the memory so that an error can still be told. */
const TELLING_BYTES = 1_048_576;
/** Memory of the module after which the thread ends: WebAssembly never gives any back. */
const MAX_MODULE_BYTES = 67_108_864;
const MAX_MESSAGE = 300;
/** The system's number of this thread; Linux counts threads like processes. 0 elsewhere. */
const systemThreadId = (): number => {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1));
  } catch {
    return 0;
  }
};

/** Stands back behind the threads that answer requests, where the system lets it. */
const standBack = (thread: number, { niceness }: ThreadOptions): void => {
  if (thread === 0 || niceness === 0) return;
  try {
    setPriority(thread, Math.min(MAX_NICENESS, getPriority() + niceness));
  } catch {
    // Not allowed: the thread keeps its priority.
  }
};

/** The lowest priority of Linux. */
const MAX_NICENESS = 19;

/** Takes hold of what is needed before foreign code can change it. */
const BOOTSTRAP = `(() => {
  const { stringify, parse } = JSON;
  const { setPrototypeOf } = Object;
  const text = String;
  return {
    scope: (source) => setPrototypeOf(parse(source), null),
    put: (scope, name, source) => { scope[name] = parse(source); },
    show: (value) => { const shown = stringify(value); return shown === undefined ? 'null' : shown; },
    tell: (error) => {
      try { return text(error && error.name || 'Error') + ': ' + text(error && error.message || error); }
      catch { return 'Error'; }
    },
  };
})()`;

const wrap = (source: string, isCode: boolean): string =>
  isCode ? `(function(){with(this){\n${source}\n}})` : `(function(){with(this){return (\n${source}\n)}})`;

/** Forms in which a text compiles only when it is what it should be, and not the end of one thing and the begin of another. */
const proofsOf = ({ source, isCode }: Compile['sources'][number]): string[] =>
  isCode
    ? [wrap(source, true), `(()=>{{{\n${source}\n}}})`]
    : [wrap(source, false), `(()=>{[\n${source}\n]})`, `(()=>{(\n${source}\n)})`];

const memory = createSandboxMemory(MAX_SANDBOX_BYTES, TELLING_BYTES);
const quickjs = await newQuickJSWASMModule(newVariant(RELEASE_SYNC, { wasmMemory: memory.memory }));

type Broken = {
  readonly reason: 'cpu' | 'memory' | 'expression' | 'size';
  readonly message: string;
  readonly at: number;
};
type Ended = { readonly values: string[] } | Broken;

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

/** Runs `body` in a runtime of its own, which is interrupted at its limits. */
const inRuntime = <T>(
  { cpuMs: limitCpuMs, wallMs }: { cpuMs: number; wallMs: number },
  body: (vm: QuickJSContext, state: { isOver: boolean; relax(): void }) => T,
): T => {
  memory.begin();
  const runtime = quickjs.newRuntime();
  // Refuses one piece that is too large; the sum of all is the memory's own limit.
  runtime.setMemoryLimit(MAX_SANDBOX_BYTES);
  runtime.setMaxStackSize(MAX_SANDBOX_STACK_BYTES);
  const cpuEnd = cpuMs() + limitCpuMs;
  const wallEnd = performance.now() + wallMs;
  const state = {
    isOver: false,
    relax: () => {
      memory.relax();
      runtime.setMemoryLimit(MAX_SANDBOX_BYTES + TELLING_BYTES);
    },
  };
  runtime.setInterruptHandler(() => {
    state.isOver ||= performance.now() > wallEnd || cpuMs() > cpuEnd;
    return state.isOver;
  });
  const vm = runtime.newContext();
  const result = body(vm, state);
  vm.dispose();
  runtime.dispose();
  return result;
};

/** Thrown inside this file alone: a guest's exception, as a handle. */
class GuestError extends Error {
  readonly handle: QuickJSHandle;
  constructor(handle: QuickJSHandle) {
    super('guest');
    this.handle = handle;
  }
}

const evaluate = ({ sources, scope, isCode, untilTrue, ...limits }: Evaluate): Ended =>
  inRuntime(limits, (vm, state) => {
    const handles: QuickJSHandle[] = [];
    const keep = (result: ReturnType<QuickJSContext['evalCode']>): QuickJSHandle => {
      if (isFail(result)) {
        handles.push(result.error);
        throw new GuestError(result.error);
      }
      handles.push(result.value);
      return result.value;
    };
    const call = (fn: QuickJSHandle, self: QuickJSHandle, ...args: QuickJSHandle[]): QuickJSHandle =>
      keep(vm.callFunction(fn, self, ...args));
    const own = (handle: QuickJSHandle): QuickJSHandle => {
      handles.push(handle);
      return handle;
    };
    const tools = keep(vm.evalCode(BOOTSTRAP));
    const tool = (name: string): QuickJSHandle => own(vm.getProp(tools, name));
    const [make, put, show, tell] = [tool('scope'), tool('put'), tool('show'), tool('tell')] as const;

    const values: string[] = [];
    let at = 0;
    const one = ({ source, as }: Evaluate['sources'][number], visible: QuickJSHandle): 'size' | undefined => {
      const value = call(keep(vm.evalCode(wrap(source, isCode), 'script.js')), visible);
      const shown = call(show, vm.undefined, value);
      const length = own(vm.getProp(shown, 'length'));
      if (vm.getNumber(length) > MAX_VARIABLES_BYTES) return 'size';
      values.push(vm.getString(shown));
      if (as !== undefined) call(put, vm.undefined, visible, own(vm.newString(as)), shown);
      return undefined;
    };
    const all = (): Ended => {
      const visible = call(make, vm.undefined, own(vm.newString(scope)));
      for (; at < sources.length; at++) {
        if (one(sources[at]!, visible)) {
          return { reason: 'size', message: `the value takes more than ${MAX_VARIABLES_BYTES} characters`, at };
        }
        if (untilTrue && isTrue(values.at(-1)!)) break;
      }
      return { values };
    };
    const told = (thrown: GuestError): Ended => {
      if (state.isOver) return { reason: 'cpu', message: 'took too long', at };
      state.relax();
      const result = vm.callFunction(tell, vm.undefined, thrown.handle);
      const message = isFail(result) ? 'Error' : vm.getString(result.value);
      handles.push(isFail(result) ? result.error : result.value);
      // Where no memory was left not even for the error, there is none, or one that says nothing.
      const isMute = memory.wasRefused() && (isFail(result) || message === 'Error: null');
      return { ...sort(isMute ? 'InternalError: out of memory' : message), at };
    };
    const ended = guarded(all, told);
    for (const handle of handles) if (handle.alive) handle.dispose();
    return ended;
  });

/** A guest's exception is an outcome. Anything else means that the interpreter broke: nothing of it may be touched again. */
const guarded = <T>(body: () => T, told: (thrown: GuestError) => T): T => {
  try {
    return body();
  } catch (thrown) {
    if (!(thrown instanceof GuestError)) throw thrown;
    return told(thrown);
  }
};

const isTrue = (json: string): boolean => !['null', 'false', '0', '""'].includes(json);

const sort = (message: string): { reason: 'memory' | 'expression'; message: string } => {
  const short = message.slice(0, MAX_MESSAGE).toWellFormed();
  return {
    reason: /^InternalError: (out of memory|stack overflow)/.test(short) ? 'memory' : 'expression',
    message: short,
  };
};

const compile = ({ sources, ...limits }: Compile): string[] =>
  inRuntime(limits, (vm) =>
    sources.map((each) => {
      for (const proof of proofsOf(each)) {
        const fault = compileOne(vm, proof);
        if (fault !== undefined) return fault.slice(0, MAX_MESSAGE).toWellFormed();
      }
      return '';
    }),
  );

const compileOne = (vm: QuickJSContext, source: string): string | undefined => {
  const result = vm.evalCode(source, 'script.js', { compileOnly: true });
  if (!isFail(result)) {
    result.value.dispose();
    return undefined;
  }
  const message = vm.getProp(result.error, 'message');
  const text = vm.getString(message);
  message.dispose();
  result.error.dispose();
  return text;
};

const answer = (question: Question): Answer => {
  const began = cpuMs();
  const { no } = question;
  try {
    if (question.kind === 'compile') return { no, values: compile(question), cpuMs: cpuMs() - began };
    const ended = evaluate(question);
    return { no, ...ended, cpuMs: cpuMs() - began };
  } catch (thrown) {
    // The interpreter itself gave way (deep recursion in it, for one): its memory is not to be trusted any more.
    const message = thrown instanceof RangeError ? 'stack overflow' : 'the interpreter broke';
    return { no, reason: 'memory', message, at: -1, cpuMs: cpuMs() - began, isLast: true };
  }
};

/** Memory of the module, which only grows. */
const moduleBytes = (): number => quickjs.getWasmMemory().buffer.byteLength;

const thread = systemThreadId();
standBack(thread, workerData as ThreadOptions);
// The first evaluation compiles the interpreter; no script shall pay for it.
evaluate({
  no: 0,
  kind: 'evaluate',
  sources: [{ source: '1' }],
  scope: '{}',
  isCode: false,
  untilTrue: false,
  cpuMs: 5000,
  wallMs: 10_000,
});
parentPort!.postMessage({ ready: thread } satisfies Ready);
parentPort!.on('message', (question: Question) => {
  const answered = answer(question);
  const isLast = 'isLast' in answered || moduleBytes() > MAX_MODULE_BYTES;
  parentPort!.postMessage(isLast ? { ...answered, isLast: true } : answered);
  if (isLast) parentPort!.close();
});
