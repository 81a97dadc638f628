/** A domain as it will be when what is planned so far is written: for further entities of the same commit. */

import type { Entity, Kind, Role, User } from '../domains/types.ts';
import type { DomainView } from '../domains/view.ts';
import type { Plan, Planned } from './plan.ts';

/** Reads go to the plan first, then to the view; rights are those of the view. */
export const overlay = (view: DomainView, plan: Plan): DomainView => {
  const plannedOf = (kind: Kind): Planned[] => [...plan.values()].filter(({ resource }) => resource.kind === kind);
  const get = (kind: Kind, id: string): Entity | undefined => {
    const planned = plan.get(`${kind}/${id}`);
    return planned ? planned.next : view.get(kind, id);
  };
  const find = (kind: Kind, key: string, value: string): readonly string[] => {
    const kept = view.find(kind, key, value).filter((id) => !plan.has(`${kind}/${id}`));
    const added = plannedOf(kind).filter(({ resource, next }) => {
      const declared = resource.keys.find(({ name }) => name === key);
      return next !== undefined && declared?.valueOf(next) === value;
    });
    return [...kept, ...added.map(({ id }) => id)];
  };
  const first = (kind: Kind, key: string, value: string): Entity | undefined => {
    const [id] = find(kind, key, value);
    return id === undefined ? undefined : get(kind, id);
  };
  const withPlanned = (kind: Kind, found: Iterable<Entity>, test: (entity: Entity) => boolean): Entity[] => {
    const added = plannedOf(kind).flatMap(({ next }) => (next && test(next) ? [next] : []));
    const kept = [...found].filter(({ id }) => !plan.has(`${kind}/${id}`));
    return [...kept, ...added];
  };
  return {
    ...view,
    get,
    find,
    all: (kind) => withPlanned(kind, view.all(kind), () => true),
    select: (kind, name, test, most = Number.POSITIVE_INFINITY) =>
      withPlanned(kind, view.select(kind, name, test), test).slice(0, most),
    size: (kind) =>
      plannedOf(kind).reduce((sum, { before, next }) => sum + (next ? 1 : 0) - (before ? 1 : 0), view.size(kind)),
    user: (id) => get('user', id) as User | undefined,
    userByLogin: (login) => first('user', 'login', login.toLowerCase()) as User | undefined,
    roleByName: (name) => first('role', 'name', name) as Role | undefined,
    setting: (key) => get('setting', key)?.value as Entity | undefined,
  };
};
