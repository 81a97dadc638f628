/**
 * Memory of the interpreter. QuickJS counts no sizes in WebAssembly (its allocator cannot tell them), so that its own
 * limit refuses one piece that is too large and not a thousand that are small: what bounds the sum is the memory itself,
 * which does not grow past what a question may take. The allocator then has nothing to give, and the script is told.
 */

/** WebAssembly counts memory in pages of 64 KiB. */
const PAGE_BYTES = 65_536;
/** What the interpreter's build begins with (emscripten's INITIAL_MEMORY): its stack and its data are in there. */
const INITIAL_PAGES = 256;

/** As the standard has it; Node's types name the class without what it takes. */
type MemoryClass = new (pages: { readonly initial: number; readonly maximum: number }) => WebAssembly.Memory;

export type SandboxMemory = {
  readonly memory: WebAssembly.Memory;
  /** A new question: what is asked for is refused again at the limit. */
  begin(): void;
  /** Gives what was kept back for telling an error. */
  relax(): void;
  /** Whether anything was refused since the question began. */
  wasRefused(): boolean;
};

/** `maxBytes`: for one question; `spareBytes`: kept back until `relax`. */
export const createSandboxMemory = (maxBytes: number, spareBytes: number): SandboxMemory => {
  const Memory = WebAssembly.Memory as unknown as MemoryClass;
  const limit = INITIAL_PAGES + Math.ceil(maxBytes / PAGE_BYTES);
  const maximum = limit + Math.ceil(spareBytes / PAGE_BYTES);
  const memory = new Memory({ initial: INITIAL_PAGES, maximum });
  const grow = memory.grow.bind(memory);
  let current = limit;
  let isRefused = false;
  memory.grow = (pages) => {
    if (memory.buffer.byteLength / PAGE_BYTES + pages > current) {
      isRefused = true;
      throw new RangeError('the memory of a script is full');
    }
    return grow(pages);
  };
  return {
    memory,
    begin: () => {
      current = limit;
      isRefused = false;
    },
    relax: () => {
      current = maximum;
    },
    wasRefused: () => isRefused,
  };
};
