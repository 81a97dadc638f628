/** Takes away what a layer brought; its classes stay with their rows, unless these are to be cleared too. */
import type { Entity } from '../domains/types.ts';
import { planRemoval, without } from './bring.ts';
import { refuse } from './fault.ts';
import { ownedElsewhere } from './orders.ts';
import { dropCurrent, type Order, type Owned, putLeft, putOrder } from './rows.ts';
import { checkSeen, commit, link, type Run, type RunnerParts, renewal, settle, toLine } from './run.ts';

export const remove = async (parts: RunnerParts, run: Run): Promise<Order['status']> => {
  const { rows } = parts;
  const { order, trace, target } = run;
  const current = (await rows.current(order)) ?? refuse('nothing is installed under this prefix');
  checkSeen(run, current);
  trace.add(`${order.operation} ${current.name} ${current.version}`);
  const elsewhere = await ownedElsewhere(rows, order);
  const gone = without(current.owned, elsewhere);
  const isClear = order.operation === 'clear';
  const staying = isClear ? [] : await withRows(parts, run, gone.classes);
  const plain = { ...gone, classes: [] };
  if (isClear) await clearRows(parts, run, gone, plain);
  const removed = { ...gone, classes: gone.classes.filter((id) => !staying.includes(id)) };
  trace.add(`removed: ${toLine(removed)}; classes that stay with their rows: ${staying.length}`);
  const left = [...new Set([...(await rows.left(order)), ...staying])].filter((id) => !removed.classes.includes(id));
  const settled = await settle(parts, run, { status: 'installed', isClearing: false });
  await commit(parts, run, planRemoval(target, removed), [...settled, dropCurrent(order), putLeft(order, left)]);
  await link(parts, run, undefined);
  return 'installed';
};

const classOf = ({ domain }: Run, id: string): Entity | undefined => domain.get('class', id);

/** Classes that hold rows. */
const withRows = async ({ model }: RunnerParts, run: Run, ids: readonly string[]): Promise<string[]> => {
  const found: string[] = [];
  for (const id of ids) {
    const entity = classOf(run, id);
    if (!entity || entity.storage_mode === 'abstract') continue;
    if ((await model.ofClasses.countRows(run.domain, entity)) > 0) found.push(id);
  }
  return found;
};

/** First everything but the classes goes, or nothing; then no row can be in the way of what is left. */
const clearRows = async (parts: RunnerParts, run: Run, { classes }: Owned, plain: Owned): Promise<void> => {
  const { id, order, target, domain } = run;
  const child = [...domain.all('class')].find(
    (each) => classes.includes(String(each.parent_id)) && !classes.includes(String(each.id)),
  );
  if (child) refuse(`class ${child.classname} stands on one of this layer`);
  if (!order.isClearing) {
    await commit(
      parts,
      run,
      planRemoval(target, plain),
      [putOrder(id, { ...order, isClearing: true }), renewal(parts, run)],
      (now) => now?.isClearing === true,
    );
  }
  for (const each of classes) {
    const entity = classOf(run, each);
    if (entity && entity.storage_mode !== 'abstract') await parts.model.ofClasses.dropRows(domain, entity);
  }
};
