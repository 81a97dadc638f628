/**
 * The events of a session in the order of the interface, however much faster than real time the audio comes: the end of
 * an utterance is told when the live texts of its audio are, and whatever comes after waits behind it.
 */
import type { RealtimeEvent } from '../core/realtime.ts';

export type Outbox = {
  tell(event: RealtimeEvent): void;
  /** What is told from now on waits until `isReady`, but for texts of this item. */
  holdFor(itemId: string, isReady: () => boolean): void;
  /** Something may be ready now. */
  advance(): void;
};

type Gate = { readonly itemId: string; readonly isReady: () => boolean };
type Entry = { readonly event: RealtimeEvent } | Gate;

const isGate = (entry: Entry): entry is Gate => 'isReady' in entry;

export const createOutbox = (onEvent: (event: RealtimeEvent) => void): Outbox => {
  const entries: Entry[] = [];

  const advance = (): void => {
    for (let head = entries[0]; head; head = entries[0]) {
      if (isGate(head) && !head.isReady()) return;
      entries.shift();
      if (!isGate(head)) onEvent(head.event);
    }
  };
  return {
    advance,
    holdFor: (itemId, isReady) => {
      entries.push({ itemId, isReady });
      advance();
    },
    tell: (event) => {
      const gate = event.type === 'text' ? entries.findIndex((one) => isGate(one) && one.itemId === event.itemId) : -1;
      if (gate >= 0) entries.splice(gate, 0, { event });
      else entries.push({ event });
      advance();
    },
  };
};
