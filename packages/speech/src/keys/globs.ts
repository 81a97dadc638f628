/** Which models a key may use. */
import type { Caller } from '../core/types.ts';

/** True when one of the caller's globs (`*` any run, `?` one character) covers the model id. */
export const mayUseModel = (caller: Caller, modelId: string): boolean =>
  caller.models.some((glob) => matchesGlob(glob, modelId));

/** Linear in the text for each star, so no pattern of an operator's can make it slow. */
const matchesGlob = (glob: string, text: string): boolean => {
  let [at, position, star, resumeAt] = [0, 0, -1, 0];
  while (position < text.length) {
    if (glob[at] === '*') {
      star = at;
      at += 1;
      resumeAt = position;
    } else if (glob[at] === '?' || glob[at] === text[position]) {
      at += 1;
      position += 1;
    } else if (star >= 0) {
      at = star + 1;
      resumeAt += 1;
      position = resumeAt;
    } else return false;
  }
  return /^\**$/.test(glob.slice(at));
};
