/** 103: words for whoever reads the graph. Nothing leads to it; a run that comes by goes on. */
import { type Element, go } from '../element.ts';

export const comment: Element = {
  oType: 103,
  name: 'comment',
  keys: { text: { kind: 'text' } },
  isNote: true,
  run: (_context, object) => go(object),
};
