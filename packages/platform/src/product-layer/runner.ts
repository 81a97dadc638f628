/** Carries one order out: as a whole, or not at all. */
import { StoreUnavailable } from '@parley/kit/store/store.ts';
import { createSystemCaller } from '../auth/system-caller.ts';
import type { DomainMemory } from '../domains/memory.ts';
import { type Caller, SYSTEM_SPACE } from '../domains/types.ts';
import { sweep } from './folder.ts';
import { install } from './install.ts';
import { remove } from './remove.ts';
import { dropOrder, type Order } from './rows.ts';
import { dequeue, type HeldOrder, type Run, type RunnerParts, settle } from './run.ts';
import { createTrace } from './trace.ts';

/** Carries it out and settles it. Throws when it has to be tried again. */
export const runOrder = async (parts: RunnerParts, held: HeldOrder, signal: AbortSignal): Promise<void> => {
  const { order, id } = held;
  const domain = await domainOf(parts, order.domainId);
  if (!domain) {
    await parts.store.commit(SYSTEM_SPACE, [dropOrder(id), dequeue(held)]);
    return;
  }
  const caller = callerOf(order, id, domain);
  const { engine, resources } = parts;
  const run: Run = {
    ...held,
    domain,
    target: { engine, resources, domain, caller },
    trace: createTrace(parts.folder === '' ? [] : [parts.folder]),
  };
  const startedMs = performance.now();
  try {
    await sweepUnused(parts, order.site);
    const isRemoval = order.operation === 'delete' || order.operation === 'clear';
    const status = await (isRemoval ? remove(parts, run) : install(parts, run, signal));
    parts.log.info(
      { order: order.order, domain: domain.name, prefix: order.prefix, status, ms: ms(startedMs) },
      'layer',
    );
  } catch (thrown) {
    if (signal.aborted || isPassing(thrown)) throw thrown;
    await fail(parts, run, thrown as Error);
    parts.log.warn(
      { order: order.order, domain: domain.name, prefix: order.prefix, ms: ms(startedMs) },
      'layer failed',
    );
  }
};

const ms = (since: number): number => Math.round(performance.now() - since);

const domainOf = async ({ engine: { domains } }: RunnerParts, id: string): Promise<DomainMemory | undefined> => {
  const row = domains.master.get('domain', id);
  return row && (await domains.open(String(row.name)));
};

/** Whoever ordered it: his rights were checked when he did. */
const callerOf = ({ by }: Order, id: string, domain: DomainMemory): Caller => ({
  ...createSystemCaller(domain, by.name),
  userId: by.userId,
  address: by.address,
  session: { kind: 'script', id },
});

/** The database is away, or the lease went to another. */
const isPassing = (thrown: unknown): boolean => {
  const { name, cause } = thrown as Error;
  return name === 'Conflict' || thrown instanceof StoreUnavailable || cause instanceof StoreUnavailable;
};

const fail = async (parts: RunnerParts, run: Run, thrown: Error): Promise<void> => {
  const { details } = thrown as { details?: Readonly<Record<string, unknown>> };
  const reason = thrown.name === 'LayerRefused' || details ? thrown.message : `${thrown.name}: ${thrown.message}`;
  run.trace.add(`failed: ${reason}${details?.by === undefined ? '' : ` ${JSON.stringify(details.by)}`}`);
  await sweepUnused(parts, run.order.site);
  await parts.store.commit(SYSTEM_SPACE, await settle(parts, run, { status: 'failed' }));
};

const sweepUnused = async ({ folder, rows }: RunnerParts, site: string): Promise<void> => {
  if (folder === '') return;
  const used = (await rows.currentsAt(site)).map(({ data }) => data.md5);
  await sweep(folder, new Set(used)).catch(() => undefined);
};
