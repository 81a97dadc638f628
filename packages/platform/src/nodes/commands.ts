/** Commands from one supervisor to another, as rows: the one asked answers in the row, the one who asked removes it. */
import { createUuid } from '@parley/kit/ids.ts';
import type { Log } from '@parley/kit/log.ts';
import type { Store } from '@parley/kit/store/store.ts';
import type { NodeCommand, Refusal } from './messages.ts';
import { NODES_SPACE } from './space.ts';

type CommandRow = {
  readonly to: string;
  readonly command: NodeCommand;
  readonly answer?: { readonly refused?: Refusal };
};

export type Commands = {
  /** Resolves with why it was not done, or undefined. */
  send(to: string, command: NodeCommand): Promise<Refusal | undefined>;
  /** A row changed: it is for us to do, or our answer. */
  read(id: string): Promise<void>;
  close(): void;
};

type Parts = {
  readonly store: Store;
  readonly log: Log;
  readonly server: string;
  execute(command: NodeCommand): Promise<Refusal | undefined>;
};

const ANSWER_TIMEOUT_MS = 6000;

export const openCommands = ({ store, log, server, execute }: Parts): Commands => {
  const waiting = new Map<string, (refused: Refusal | undefined) => void>();
  const carryOut = async (id: string, row: CommandRow, version: number): Promise<void> => {
    log.info({ do: row.command.do, node: row.command.node }, 'another server asks');
    const refused = await execute(row.command);
    const data: CommandRow = { ...row, answer: refused === undefined ? {} : { refused } };
    // Whoever asked may have given up and removed the row.
    const put = { op: 'put', kind: 'command', id, data, expect: version } as const;
    await store.commit(NODES_SPACE, [put]).catch(() => undefined);
  };
  const wait = (id: string): Promise<Refusal | undefined> =>
    new Promise((resolve) => {
      const timer = setTimeout(() => waiting.get(id)?.('no-answer'), ANSWER_TIMEOUT_MS);
      waiting.set(id, (refused) => {
        clearTimeout(timer);
        waiting.delete(id);
        resolve(refused);
      });
    });
  return {
    send: async (to, command) => {
      const id = createUuid();
      const answered = wait(id);
      const data: CommandRow = { to, command };
      try {
        await store.commit(NODES_SPACE, [{ op: 'put', kind: 'command', id, data, expect: 0 }]);
      } catch {
        waiting.get(id)?.('no-answer');
      }
      const refused = await answered;
      await store.commit(NODES_SPACE, [{ op: 'drop', kind: 'command', id, quiet: true }]).catch(() => undefined);
      return refused;
    },
    read: async (id) => {
      const found = await store.get<CommandRow>(NODES_SPACE, 'command', id);
      if (!found) return;
      const { to, answer } = found.data;
      if (answer) waiting.get(id)?.(answer.refused);
      else if (to === server) await carryOut(id, found.data, found.version);
    },
    close: () => {
      for (const settle of waiting.values()) settle('no-answer');
    },
  };
};
