/**
 * Admission is a reservation, not a check: a place and the upload's bytes are taken before the body is read and given
 * back when no job came of it. In-flight uploads count as much as queued jobs.
 */
import { problem } from '../core/codes.ts';
import type { Reservation } from '../core/speech.ts';
import type { Live } from './live.ts';

export type Admission = {
  /** Problem queue_full with Retry-After when there is no place, or none for so many bytes. */
  reserve(expectedBytes: number): Reservation;
  isFull(): boolean;
  reservedBytes(): number;
};

export type AdmissionLimits = { readonly maxQueued: number; readonly maxBytes: number };

/** `retryAfterSec` tells when there is likely room: whole seconds from 1 to 60. */
export const createAdmission = (
  live: Pick<Live, 'queued' | 'bytes'>,
  limits: AdmissionLimits,
  retryAfterSec: () => number,
): Admission => {
  const open = new Map<symbol, number>();
  const reservedBytes = (): number => [...open.values()].reduce((sum, bytes) => sum + bytes, 0);
  const refuse = (message: string): never => {
    throw problem('queue_full', message, { retryAfterSec: retryAfterSec() });
  };
  const hasPlace = (): boolean => live.queued() + open.size < limits.maxQueued;
  const hasBytes = (bytes: number): boolean => live.bytes() + reservedBytes() + bytes <= limits.maxBytes;
  return {
    reserve: (expectedBytes) => {
      if (!hasPlace()) refuse('The queue is full.');
      if (!hasBytes(expectedBytes)) refuse('The queue holds too many bytes of audio.');
      const place = Symbol();
      open.set(place, expectedBytes);
      return {
        setBytes: (bytes) => {
          const before = open.get(place);
          if (before === undefined) return;
          open.set(place, 0);
          if (!hasBytes(bytes)) {
            open.set(place, before);
            refuse('The queue holds too many bytes of audio.');
          }
          open.set(place, bytes);
        },
        release: () => {
          open.delete(place);
        },
      };
    },
    isFull: () => !hasPlace() || live.bytes() + reservedBytes() >= limits.maxBytes,
    reservedBytes,
  };
};
