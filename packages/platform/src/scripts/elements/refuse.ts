/** 151: turns the person away, with a link to try again if `retry` says so. */
import type { Element } from '../element.ts';

const MAX_MESSAGE = 500;

export const refuse: Element = {
  oType: 151,
  name: 'refuse',
  keys: { message: { kind: 'template', required: true }, retry: { kind: 'flag' } },
  isEnd: true,
  run: async (context, object) => ({
    kind: 'refuse',
    message: (await context.renderText(object.message)).slice(0, MAX_MESSAGE),
    retry: object.retry === true,
  }),
};
