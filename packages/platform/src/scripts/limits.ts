/** What a run may take. The contract's §13 names the first five; the others follow from them. */

export const MAX_STEPS = 1000;
export const MAX_WALL_MS = 30_000;
/** Time of a processor in expressions and code, of one run. */
export const MAX_CPU_MS = 5000;
export const MAX_VARIABLES_BYTES = 1_048_576;
export const MAX_CALL_DEPTH = 8;

/** Time of a processor one expression may take; statements (190) take up to MAX_CODE_MS. */
export const MAX_EXPRESSION_MS = 500;
export const MAX_CODE_MS = 2000;
/** Bytes that may go into and come out of evaluations of one run: each costs time of the thread that answers requests. */
export const MAX_MOVED_BYTES = 16_777_216;
/** Memory of the interpreter for one evaluation: variables, their copies, and what the expression makes of them. */
export const MAX_SANDBOX_BYTES = 33_554_432;
export const MAX_SANDBOX_STACK_BYTES = 262_144;
/** Loops one inside the other. */
export const MAX_LOOP_DEPTH = 16;
/** Expressions in one template. */
export const MAX_TEMPLATE_EXPRESSIONS = 100;
/** Lines and characters kept of a run's log. */
export const MAX_LOG_LINES = 200;
export const MAX_LOG_TEXT = 1000;
/** Characters of one value, and of all values, that a trace shows. */
export const MAX_TRACE_VALUE = 2000;
export const MAX_TRACE_BYTES = 1_048_576;
/** Runs at once on this node; one more is told to come again. */
export const MAX_RUNS = 256;
