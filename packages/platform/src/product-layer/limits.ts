/** Bounds of what is taken from an archive. */
export const MAX_ARCHIVE_BYTES = 2 * 2 ** 30;
export const MAX_UNPACKED_BYTES = 2 * 2 ** 30;
export const MAX_ENTRIES = 100_000;
/** Unpacked bytes for each packed one, where it is more than a little. */
export const MAX_RATIO = 100;
/** Below this many unpacked bytes no ratio is a bomb. */
export const RATIO_FREE_BYTES = 16 * 2 ** 20;
export const MAX_MANIFEST_BYTES = 4 * 2 ** 20;
export const MAX_METADATA_BYTES = 16_384;
/** How far into an archive the manifest is looked for. */
export const MANIFEST_WITHIN_BYTES = 64 * 2 ** 20;
export const MANIFEST_WITHIN_MEMBERS = 1000;
export const MAX_NAME_LENGTH = 300;
export const MAX_DEPTH = 16;
export const MAX_TRACE_BYTES = 65_536;
