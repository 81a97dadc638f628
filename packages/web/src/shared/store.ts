/** A value outside React that components follow: for work that goes on while pages come and go. */
import { useSyncExternalStore } from 'react';

export type Store<T> = {
  get(): T;
  set(change: (before: T) => T): void;
  subscribe(listener: () => void): () => void;
};

export const createStore = <T>(initial: T): Store<T> => {
  let value = initial;
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set: (change) => {
      value = change(value);
      for (const listener of listeners) listener();
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
};

export const useStore = <T>(store: Store<T>): T => useSyncExternalStore(store.subscribe, store.get);
