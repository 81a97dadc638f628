/** What a supervisor needs of whatever runs a node: a process of its own, or a unit within this one. */
import type { Front } from '@parley/kit/http/front.ts';
import type { FromService, Service, ToService } from '@parley/kit/service.ts';

export type NodeSpec = {
  /** `<role>_<index>`; unique on its server. */
  readonly name: string;
  readonly role: string;
  /** `platform`, `speech`, or what the roles of a product layer are. */
  readonly kind: string;
  readonly index: number;
  /** Absolute path of the module to run as a process. */
  readonly module: string;
  /** Its command line; the first word names the kind. */
  readonly args: readonly string[];
  /** Its folder and its whole environment; those of this process where absent. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** What to run where nodes share one process. */
  readonly service?: Service;
  /** Where it accepts connections, when that outlives it. */
  readonly socket?: { readonly fd: number } | { readonly front: Front };
  /** Memory of its process above which it is started anew; 0 or absent is no limit. */
  readonly memoryLimitBytes?: number;
};

export type ChildHooks = {
  message(message: FromService): void;
  /** Called once. */
  ended(code: number | null, signal: string | null): void;
  failed(error: Error): void;
};

export type Child = {
  readonly pid: number | undefined;
  /** Its memory is its own, so that a limit on it means something. */
  readonly ownsMemory: boolean;
  isConnected(): boolean;
  /** Does nothing when it is gone. */
  send(message: ToService): void;
  /** Ends it at once, stopped or not. */
  kill(): void;
};

export type Launch = (spec: NodeSpec, hooks: ChildHooks) => Child;

/** What makes two specs the same node, so that nothing has to be started anew. */
export const keyOf = ({ module, args, socket, memoryLimitBytes, env }: NodeSpec): string =>
  JSON.stringify([
    module,
    args,
    socket && 'fd' in socket ? socket.fd : (socket?.front.port ?? 0),
    memoryLimitBytes ?? 0,
    env ?? null,
  ]);
