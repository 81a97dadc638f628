/** What carrying out an order is made of, whatever its operation: its parts, its settling, its one commit. */
import type { Clock } from '@parley/kit/clock.ts';
import type { Log } from '@parley/kit/log.ts';
import type { Change, Store } from '@parley/kit/store/store.ts';
import type { DomainMemory } from '../domains/memory.ts';
import { SYSTEM_SPACE } from '../domains/types.ts';
import type { Model } from '../model/model.ts';
import type { Engine } from '../rest/engine.ts';
import type { WritePart } from '../rest/form.ts';
import type { LayerResources, Target } from './bring.ts';
import { refuse } from './fault.ts';
import { switchLink } from './folder.ts';
import { toTime } from './orders.ts';
import { type Current, dropOrder, type Order, type Owned, putOrder, queueOf, type Rows } from './rows.ts';
import type { Trace } from './trace.ts';

export type RunnerParts = {
  readonly store: Store;
  readonly rows: Rows;
  readonly clock: Clock;
  readonly log: Log;
  readonly engine: Engine;
  readonly resources: LayerResources;
  readonly model: Model;
  readonly folder: string;
  readonly vendorKeys: readonly string[];
  readonly allowsUnsigned: boolean;
  /** Of this process. */
  server(): string;
};

/** An order, held under a lease. */
export type HeldOrder = { readonly id: string; readonly order: Order; readonly owner: string };

export type Run = HeldOrder & { readonly domain: DomainMemory; readonly target: Target; readonly trace: Trace };

export const dequeue = ({ id, owner, order }: HeldOrder): Change => ({
  op: 'dequeue',
  queue: queueOf(order.site),
  id,
  owner,
});

/** The changes that settle an order: earlier ones of the same place are history. */
export const settle = async (
  { rows, clock }: RunnerParts,
  run: Run,
  outcome: Pick<Order, 'status'> & Partial<Order>,
): Promise<Change[]> => {
  const { id, order } = run;
  const { domainId, site, prefix } = order;
  const older = (await rows.ordersOf(domainId)).filter(
    ({ id: other, data }) =>
      other !== id && data.site === site && data.prefix === prefix && data.status !== 'registered',
  );
  const settled: Order = { ...order, trace: run.trace.text(), dt: toTime(clock.now()), ...outcome };
  return [putOrder(id, settled), ...older.map((row) => dropOrder(row.id)), dequeue(run)];
};

/** Entities and rows of the order in one commit; the rows alone where no entity changes. */
export const commit = async (
  { store, rows }: RunnerParts,
  { id, target, domain }: Run,
  parts: readonly WritePart[],
  changes: readonly Change[],
  isThrough: (order: Order | undefined) => boolean = (order) => order?.status !== 'registered',
): Promise<void> => {
  const [first, ...more] = parts;
  if (first) {
    const further = [{ domain: SYSTEM_SPACE, changes }];
    await target.engine.writer.write({ ...first, domain, caller: target.caller, more, further });
  }
  // No entity changed, so nothing was committed.
  if (!isThrough(await rows.order(id))) await store.commit(SYSTEM_SPACE, changes);
};

/** What was installed must be what the rights were checked against. */
export const checkSeen = ({ order }: Run, current: Current | undefined): void => {
  if (!order.isAll && (current?.md5 ?? '') !== order.seen) refuse('what is installed changed after this was ordered');
};

export const toLine = ({ classes, roles, svcscripts, apps }: Owned): string =>
  `classes ${classes.length}, roles ${roles.length}, scripts ${svcscripts.length}, further applications ${apps.length}`;

/** How long an order is held without a sign of life of whoever carries it out. */
export const LEASE_MS = 10_000;

export const renewal = ({ clock }: Pick<RunnerParts, 'clock'>, { id, owner, order }: HeldOrder): Change => ({
  op: 'renew',
  queue: queueOf(order.site),
  id,
  owner,
  untilMs: clock.now() + LEASE_MS,
});

/** For people and for what serves files; the rows are the truth, and a start mends it. */
export const link = async (
  { folder, log }: RunnerParts,
  { domain, order }: Run,
  md5: string | undefined,
): Promise<void> => {
  if (folder === '') return;
  await switchLink(folder, domain.name, order.prefix, md5).catch((thrown: unknown) =>
    log.warn({ err: thrown, prefix: order.prefix }, 'link of a layer was not set'),
  );
};
