/** Runs a node as a unit of this process: for small installs and tests. What a process would do, it does. */

import { type Line, runService, type ToService } from '@parley/kit/service.ts';
import type { Launch } from './child.ts';
import { launchProcess } from './process.ts';

type Listener = { hear(message: Partial<ToService>): void; gone(): void };

export const launchUnit: Launch = (spec, hooks) => {
  const { service, args, socket } = spec;
  // Code of a layer never runs in the process of others.
  if (!service) return launchProcess(spec, hooks);
  const listeners = new Set<Listener>();
  let isOpen = true;
  const end = (code: number | null, signal: string | null): void => {
    if (!isOpen) return;
    isOpen = false;
    hooks.ended(code, signal);
  };
  const line: Line = {
    send: (message) => {
      setImmediate(() => {
        if (isOpen) hooks.message(message);
      });
    },
    listen: (hear, gone) => {
      const listener = { hear, gone };
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  // After this call returned, as the end of a process would come.
  const front = socket && 'front' in socket ? { front: socket.front } : {};
  void runService(service, { argv: args, line, ...front }).then(
    (code) => setImmediate(end, code, null),
    (thrown: Error) => {
      hooks.failed(thrown);
      setImmediate(end, 1, null);
    },
  );
  return {
    pid: process.pid,
    ownsMemory: false,
    isConnected: () => isOpen,
    send: (message) => {
      for (const listener of listeners) listener.hear(message);
    },
    // Nothing can end it by force: it is left to itself.
    kill: () => {
      for (const listener of listeners) listener.gone();
      setImmediate(end, null, 'SIGKILL');
    },
  };
};
