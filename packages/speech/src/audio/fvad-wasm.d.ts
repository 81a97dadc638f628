declare module '@echogarden/fvad-wasm' {
  /** libfvad by Emscripten; pointers are byte offsets into HEAP16's buffer. */
  export type Fvad = {
    readonly HEAP16: Int16Array;
    _malloc(bytes: number): number;
    _free(pointer: number): void;
    _fvad_new(): number;
    _fvad_free(handle: number): void;
    _fvad_set_mode(handle: number, mode: number): number;
    _fvad_set_sample_rate(handle: number, rate: number): number;
    /** 1 speech, 0 none, -1 wrong length. */
    _fvad_process(handle: number, pointer: number, samples: number): number;
  };
  const load: () => Promise<Fvad>;
  // biome-ignore lint/style/noDefaultExport: the package exports it so.
  export default load;
}
