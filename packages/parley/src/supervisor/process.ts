/** Runs a node as a process of its own. */
import { fork } from 'node:child_process';
import { type FromService, SOCKET_OPTION } from '@parley/kit/service.ts';
import type { Launch } from './child.ts';

/** Number under which the child finds the socket it was given: the first after the usual three and the channel. */
const SOCKET_FD = 4;

export const launchProcess: Launch = (spec, hooks) => {
  const { socket } = spec;
  const held = socket && 'fd' in socket ? [socket.fd] : [];
  const child = fork(spec.module, [...spec.args, ...held.map(() => `${SOCKET_OPTION}${SOCKET_FD}`)], {
    execPath: process.execPath,
    execArgv: [...process.execArgv],
    ...(spec.cwd === undefined ? {} : { cwd: spec.cwd }),
    ...(spec.env === undefined ? {} : { env: { ...spec.env } }),
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc', ...held],
  });
  child.on('message', (message) => hooks.message(message as FromService));
  child.on('error', (error) => {
    hooks.failed(error);
    // It was never there, so that nothing else will tell of its end.
    if (child.pid === undefined) hooks.ended(1, null);
  });
  child.once('exit', (code, signal) => hooks.ended(code, signal));
  return {
    pid: child.pid,
    ownsMemory: true,
    isConnected: () => child.connected,
    // The child may be gone between the check and the call; its exit is handled where it is heard.
    send: (message) => {
      if (child.connected) child.send(message, () => undefined);
    },
    kill: () => {
      child.kill('SIGKILL');
    },
  };
};
