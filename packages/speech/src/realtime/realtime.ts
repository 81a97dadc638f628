/** Realtime sessions of the service: how many there may be, and what each is made of. */
import { createPrefixedId } from '@parley/kit/ids.ts';
import { type Detector, openDetectors } from '../audio/voice-activity.ts';
import { problem } from '../core/codes.ts';
import type { Realtime, RealtimeLimits, RealtimePlace } from '../core/realtime.ts';
import { type EarParts, openEars } from './ears.ts';
import { openSession } from './session.ts';

export type RealtimeParts = Omit<EarParts, 'detector'> & {
  readonly limits: RealtimeLimits;
  readonly maxBufferedSec: number;
};

const RETRY_AFTER_SEC = 5;
const CUTTING_THRESHOLD = 0.5;
/** Thresholds that differ by less are heard alike; it bounds how many detectors' libraries are in memory. */
const THRESHOLD_STEP = 0.05;

/** WebRTC's detector only: it is WebAssembly and cheap (0.3 CPU s an hour); Silero is native and has no place here. */
const createDetectors = () => {
  const opened = new Map<number, Promise<() => Detector>>();
  return async (threshold: number): Promise<() => Detector> => {
    const step = Math.round(threshold / THRESHOLD_STEP);
    const known = opened.get(step) ?? openDetectors({ threshold: step * THRESHOLD_STEP, sileroPath: undefined });
    opened.set(step, known);
    return known;
  };
};

export const createRealtime = (parts: RealtimeParts): Realtime => {
  const { limits, log } = parts;
  const detectors = createDetectors();
  let active = 0;

  const takePlace = (): (() => void) => {
    if (active >= limits.maxSessions) {
      throw problem('model_unavailable', `All ${limits.maxSessions} realtime places are taken.`, {
        retryAfterSec: RETRY_AFTER_SEC,
      });
    }
    active += 1;
    let given = false;
    return () => {
      if (!given) active -= 1;
      given = true;
    };
  };

  const reserve: Realtime['reserve'] = async (caller, choice, signal): Promise<RealtimePlace> => {
    const givePlace = takePlace();
    const id = createPrefixedId('sess');
    try {
      const detector = await detectors(CUTTING_THRESHOLD);
      const open = (...[wanted, aborted]: [typeof choice, AbortSignal]) =>
        openEars({ ...parts, detector }, caller, id, wanted, aborted);
      const ears = await open(choice, signal);
      let isOpen = false;
      return {
        open: async (config, onEvent) => {
          log.info({ session: id, keyId: caller.keyId, model: ears.models.model.id, active }, 'session opened');
          const onClose = (): void => {
            givePlace();
            log.info({ session: id, active }, 'session closed');
          };
          const sessionDetectors = async (threshold: number): Promise<Detector> => (await detectors(threshold))();
          const { maxBufferedSec } = parts;
          const session = await openSession(
            { id, openEars: open, ears, detectors: sessionDetectors, maxBufferedSec, onEvent, onClose },
            config,
          );
          isOpen = true;
          return session;
        },
        [Symbol.asyncDispose]: async () => {
          if (isOpen) return;
          givePlace();
          await ears[Symbol.asyncDispose]();
        },
      };
    } catch (thrown) {
      givePlace();
      throw thrown;
    }
  };

  return { resolve: parts.resolve, reserve, limits, active: () => active };
};
