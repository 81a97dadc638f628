/** A piece of a recording that one process lays down as a file and another reads: 16-bit samples in this machine's order. */
export type PieceFile = {
  readonly path: string;
  /** Samples, not bytes. */
  readonly length: number;
};
