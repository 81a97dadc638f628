/** Time zones of users: `default`, an IANA name, or an offset in hours with .5 or .75 for the parts of one. */
import { badRequest, cannotApply } from '../codes.ts';
import { defineField } from '../rest/field.ts';

const MIN_OFFSET = -12;
const MAX_OFFSET = 14;
const OFFSET = /^[+-]?\d{1,2}(\.(0|00|25|5|50|75))?$/;

export const timezone = () =>
  defineField(
    'any',
    { oneOf: [{ type: 'string' }, { type: 'number', minimum: MIN_OFFSET, maximum: MAX_OFFSET }] },
    { fallback: 'default', description: '`default`, an IANA name, or an offset in hours.' },
    (value, name) => {
      if (typeof value !== 'string' && typeof value !== 'number') throw badRequest(name, 'must be text or a number');
      if (!isZone(value)) throw cannotApply(name, 'is no time zone');
      return value;
    },
  );

const isZone = (value: string | number): boolean => {
  if (value === 'default') return true;
  const text = String(value);
  if (OFFSET.test(text)) return Number(text) >= MIN_OFFSET && Number(text) <= MAX_OFFSET;
  // Offsets in other spellings are accepted by Intl, and are not what a user's zone is.
  if (!/^[A-Za-z]/.test(text) || text.length > 64) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: text });
    return true;
  } catch {
    return false;
  }
};
