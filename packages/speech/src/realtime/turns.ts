/** When somebody begins and ends to speak, out of the detector's answer for each frame. Pure. */

export type TurnRules = {
  /** Frames without speech that end a turn. */
  readonly silenceFrames: number;
};

/** `frame`: the first frame of speech of a turn that starts; the last frame of one that stops. */
export type TurnChange = { readonly kind: 'started' | 'stopped'; readonly frame: number };

export type Turns = {
  /** The next frame. */
  push(isSpeech: boolean): TurnChange | undefined;
  /** Ends whatever turn there is, without a word about it. */
  reset(): void;
  /** Takes it that somebody speaks from now on. */
  assume(): void;
  readonly speaking: boolean;
};

/** Frames of speech that make a beginning; a click or a breath is shorter. */
const CONFIRM_FRAMES = 4;
/** Frames without speech that a beginning may have in it. */
const MOST_GAP_FRAMES = 3;

type State =
  | { readonly name: 'quiet' }
  | { readonly name: 'maybe'; readonly start: number; readonly voiced: number; readonly gap: number }
  | { readonly name: 'speaking'; readonly lastVoiced: number };

const QUIET: State = { name: 'quiet' };

const hear = (state: Exclude<State, { name: 'speaking' }>, frame: number, isSpeech: boolean): State => {
  const maybe = state.name === 'maybe' ? state : { start: frame, voiced: 0, gap: 0 };
  if (isSpeech) {
    const voiced = maybe.voiced + 1;
    if (voiced >= CONFIRM_FRAMES) return { name: 'speaking', lastVoiced: frame };
    return { name: 'maybe', start: maybe.start, voiced, gap: 0 };
  }
  if (state.name === 'quiet' || state.gap >= MOST_GAP_FRAMES) return QUIET;
  return { ...state, gap: state.gap + 1 };
};

export const createTurns = ({ silenceFrames }: TurnRules): Turns => {
  let state: State = QUIET;
  let frame = -1;

  const pushSpeaking = (lastVoiced: number, isSpeech: boolean): TurnChange | undefined => {
    if (isSpeech) {
      state = { name: 'speaking', lastVoiced: frame };
      return undefined;
    }
    if (frame - lastVoiced < silenceFrames) return undefined;
    state = QUIET;
    return { kind: 'stopped', frame };
  };

  return {
    push: (isSpeech) => {
      frame += 1;
      if (state.name === 'speaking') return pushSpeaking(state.lastVoiced, isSpeech);
      const start = state.name === 'maybe' ? state.start : frame;
      state = hear(state, frame, isSpeech);
      return state.name === 'speaking' ? { kind: 'started', frame: start } : undefined;
    },
    reset: () => {
      state = QUIET;
    },
    assume: () => {
      state = { name: 'speaking', lastVoiced: frame };
    },
    get speaking() {
      return state.name === 'speaking';
    },
  };
};
