/** Turns: who comes for the same name waits for those before. */

/** Runs tasks of one name one after the other. */
export const createTurns = () => {
  const tails = new Map<string, Promise<unknown>>();
  return <T>(name: string, task: () => Promise<T>): Promise<T> => {
    const turn = (tails.get(name) ?? Promise.resolve()).then(task, task);
    tails.set(name, turn);
    const end = (): void => {
      if (tails.get(name) === turn) tails.delete(name);
    };
    turn.then(end, end);
    return turn;
  };
};
