/** What an engine is inside the engine process, and how it declines what it cannot do. */
import type { RefusalCode } from '../messages.ts';
import type { EngineFacts, EngineModel, Recognition, RecognizeOptions, Utterance } from '../recognizer.ts';

export type Engine = {
  readonly facts: EngineFacts;
  /** Rejects with EngineRefusal for what it declines, with any other Error when native code failed. */
  recognize(utterance: Utterance, options: RecognizeOptions): Promise<Recognition>;
};

/** Says what native code is about to do, so that the main side knows should the process die of it. */
export type Announce = (doing: string) => void;

export type OpenEngine = (model: EngineModel, slots: number, announce: Announce) => Promise<Engine>;

/** A request or a model that is declined in words for people, before native code could abort over it. */
export class EngineRefusal extends Error {
  override name = 'EngineRefusal';
  readonly code: RefusalCode;
  readonly param: string | undefined;

  constructor(message: string, code: RefusalCode = 'inference_failed', param?: string) {
    super(message);
    this.code = code;
    this.param = param;
  }
}
