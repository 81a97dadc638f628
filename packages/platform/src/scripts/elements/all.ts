/** The list of elements: what is not named here no script can hold. */
import type { Element } from '../element.ts';
import { log } from './log.ts';
import { start } from './start.ts';

export const ELEMENTS: readonly Element[] = [start, log];
