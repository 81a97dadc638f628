/** What tests read out of forms and messages of a scenario. */

export type Field = { name: string; value?: unknown; from?: { step: unknown }; type: string; title?: string };

export const fieldValue = (fields: readonly Field[], name: string): unknown =>
  fields.find((each) => each.name === name)?.value;

/** The six digits in a message. */
export const codeIn = (told: string): string => /\b\d{6}\b/.exec(told)![0];
