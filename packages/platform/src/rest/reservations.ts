/** Unique keys that writes on their way have taken: nobody else may take them until it is known whether they stay. */

export type Wanted = {
  /** The key with its domain, kind and value. */
  readonly name: string;
  readonly id: string;
};

export type Reservations = {
  /** When another entity's write has one of them: a promise that resolves when that write is over. */
  busy(wanted: readonly Wanted[]): Promise<void> | undefined;
  /** Takes all; returns the way to let go. Call only when none is busy. */
  reserve(wanted: readonly Wanted[]): () => void;
};

export const createReservations = (): Reservations => {
  const held = new Map<string, { readonly id: string; readonly over: Promise<void> }>();
  return {
    busy: (wanted) => {
      for (const { name, id } of wanted) {
        const holder = held.get(name);
        if (holder && holder.id !== id) return holder.over;
      }
      return undefined;
    },
    reserve: (wanted) => {
      const { promise: over, resolve } = Promise.withResolvers<void>();
      for (const { name, id } of wanted) held.set(name, { id, over });
      return () => {
        for (const { name } of wanted) if (held.get(name)?.over === over) held.delete(name);
        resolve();
      };
    },
  };
};
