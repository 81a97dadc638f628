/** 180: a line in the run's log. */
import { type Element, go, LOG_LEVELS, type LogLevel } from '../element.ts';

export const log: Element = {
  oType: 180,
  name: 'log',
  keys: { level: { kind: 'word', words: LOG_LEVELS }, text: { kind: 'template', required: true } },
  run: async (context, object) => {
    context.log((object.level as LogLevel | undefined) ?? 'info', await context.renderText(object.text));
    return go(object);
  },
};
