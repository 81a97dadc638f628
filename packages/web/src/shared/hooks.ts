/** State that comes from elsewhere: answers of the service, what this browser remembers, a clock. */
import { useCallback, useEffect, useRef, useState } from 'react';

export type Loaded<T> = {
  /** The last answer; stays while it is asked for again. */
  readonly data: T | undefined;
  readonly error: Error | undefined;
  readonly isLoading: boolean;
  /** Asks again. */
  reload(): void;
};

/**
 * Asks when first shown and whenever one of `keys` changes; the request before is aborted. `load` must take its values
 * from `keys`.
 */
export const useLoaded = <T>(load: (signal: AbortSignal) => Promise<T>, keys: readonly unknown[]): Loaded<T> => {
  const [state, setState] = useState<Omit<Loaded<T>, 'reload'>>({ data: undefined, error: undefined, isLoading: true });
  const [turn, setTurn] = useState(0);
  const loadRef = useRef(load);
  loadRef.current = load;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the caller names what the request depends on.
  useEffect(() => {
    const controller = new AbortController();
    setState((before) => ({ ...before, isLoading: true }));
    loadRef.current(controller.signal).then(
      (data) => {
        if (!controller.signal.aborted) setState({ data, error: undefined, isLoading: false });
      },
      (thrown: unknown) => {
        if (controller.signal.aborted) return;
        const error = thrown instanceof Error ? thrown : new Error(String(thrown));
        setState((before) => ({ ...before, error, isLoading: false }));
      },
    );
    return () => controller.abort();
  }, [...keys, turn]);
  const reload = useCallback(() => setTurn((before) => before + 1), []);
  return { ...state, reload };
};

/** A value this browser remembers under `name`; `fallback` when there is none or `check` does not know it. */
export const useStored = <T>(
  name: string,
  fallback: T,
  check: (value: unknown) => value is T,
): [T, (value: T) => void] => {
  const [value, setValue] = useState<T>(() => readStored(name, check) ?? fallback);
  const store = useCallback(
    (next: T) => {
      setValue(next);
      writeStored(name, next);
    },
    [name],
  );
  return [value, store];
};

/** What is stored under the name, or undefined; a full or forbidden storage is an empty one. */
export const readStored = <T>(name: string, check: (value: unknown) => value is T): T | undefined => {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(name) ?? 'null');
    return check(value) ? value : undefined;
  } catch {
    return undefined;
  }
};

export const writeStored = (name: string, value: unknown): void => {
  try {
    localStorage.setItem(name, JSON.stringify(value));
  } catch {
    // A browser that stores nothing forgets the choice with the page.
  }
};

/** Calls `act` every so often while `isOn`, and not while the page is hidden. */
export const useInterval = (act: () => void, everyMs: number, isOn: boolean): void => {
  const actRef = useRef(act);
  actRef.current = act;
  useEffect(() => {
    if (!isOn) return undefined;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') actRef.current();
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs, isOn]);
};
