/**
 * Counters of a domain (a contact's autokey): never the same number twice, also after the newest was removed. The
 * highest number given goes into the commit that uses it; a unique key in the Store guards against other nodes.
 */
import type { Store } from '@parley/kit/store/store.ts';
import type { DomainMemory } from '../domains/memory.ts';

export type Numbers = {
  /** Must have been awaited before `next`. */
  load(domain: DomainMemory, counter: string): Promise<void>;
  next(domain: string, counter: string): number;
  /** The number was taken by another node: go past it. */
  skip(domain: string, counter: string): void;
};

export const createNumbers = (store: Store): Numbers => {
  const last = new Map<string, number>();
  const nameOf = (domain: string, counter: string): string => `${domain}/${counter}`;
  return {
    load: async (domain, counter) => {
      const name = nameOf(domain.name, counter);
      if (last.has(name)) return;
      const row = await store.get<{ value: number }>(domain.name, 'counter', counter);
      let highest = row?.data.value ?? 0;
      // Every number given is in the row; it is missing only where none was.
      for await (const page of row ? [] : domain.pages('contact')) {
        for (const { autokey } of page) highest = Math.max(highest, Number(autokey) || 0);
      }
      if (!last.has(name)) last.set(name, highest);
    },
    next: (domain, counter) => {
      const name = nameOf(domain, counter);
      const next = (last.get(name) ?? 0) + 1;
      last.set(name, next);
      return next;
    },
    skip: (domain, counter) => {
      const name = nameOf(domain, counter);
      last.set(name, (last.get(name) ?? 0) + 1);
    },
  };
};
