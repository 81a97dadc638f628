/** Why a layer is not taken, in words for the trace of its order. */
export class LayerRefused extends Error {
  override name = 'LayerRefused';
}

export const refuse = (reason: string): never => {
  throw new LayerRefused(reason);
};
