/** Digits dictated in Russian: phone numbers in their usual groups, codes and short numbers digit by digit. */
import { readNumber } from './itn-number.ts';
import { RUSSIAN_DIGITS, RUSSIAN_NEAR_CODE, RUSSIAN_NUMBERS } from './itn-russian-words.ts';
import { isNear, one, type Rule, type Run, textAt } from './itn-tokens.ts';

type Dictated = { readonly digits: string; readonly end: number; readonly groups: readonly number[] };

const SHORTEST_CODE = 3;
const REACH = 4;

const MAX_GROUP = 999;
/** Digits of a number abroad, country code included. */
const MIN_ABROAD = 8;
const MAX_ABROAD = 15;

/** A digit or a group up to three digits, as phone numbers are read. */
const readItem = (run: Run, at: number): { digits: string; end: number } | undefined => {
  const digit = RUSSIAN_DIGITS.get(textAt(run, at));
  if (digit !== undefined) return { digits: digit, end: at + 1 };
  const number = readNumber(run, at, RUSSIAN_NUMBERS);
  return number && number.value <= MAX_GROUP ? { digits: String(number.value), end: number.end } : undefined;
};

/** Groups from `at` on, up to more digits than a phone number has. */
const readGroups = (run: Run, at: number): Dictated => {
  let found: Dictated = { digits: '', end: at, groups: [] };
  for (let item = readItem(run, at); item && found.digits.length <= MAX_ABROAD; item = readItem(run, found.end)) {
    found = { digits: found.digits + item.digits, end: item.end, groups: [...found.groups, item.digits.length] };
  }
  return found;
};

/** At least three digits one by one. */
const readDictated = (run: Run, at: number): { digits: string; end: number } | undefined => {
  let digits = '';
  let end = at;
  for (let digit = RUSSIAN_DIGITS.get(textAt(run, end)); digit !== undefined; ) {
    digits += digit;
    end += 1;
    digit = RUSSIAN_DIGITS.get(textAt(run, end));
  }
  return digits.length >= SHORTEST_CODE ? { digits, end } : undefined;
};

/** +7 or 8, code, and the number in groups of three, two, two. */
const writePhone = (digits: string, plus: boolean): string | undefined => {
  const [, prefix, code, first, second, third] = /^([78])(\d{3})(\d{3})(\d{2})(\d{2})$/.exec(digits) ?? [];
  if (prefix === undefined || (prefix === '7') !== plus) return undefined;
  return `${plus ? '+7' : '8'} (${code}) ${first}-${second}-${third}`;
};

/** Seven digits said as three, two and two. */
const isCityNumber = ({ digits, groups }: Dictated): boolean => digits.length === 7 && groups.join('') === '322';

const abroad: Rule = (run, at) => {
  if (textAt(run, at) !== 'плюс') return undefined;
  const { digits, end } = readGroups(run, at + 1);
  if (digits.length < MIN_ABROAD || digits.length > MAX_ABROAD) return undefined;
  return one(writePhone(digits, true) ?? `+${digits}`, end);
};

export const russianDigits: Rule = (run, at) => {
  const international = abroad(run, at);
  if (international) return international;
  const found = readGroups(run, at);
  if (!isNear(run, at, RUSSIAN_NEAR_CODE, REACH)) {
    const phone = writePhone(found.digits, false);
    if (phone !== undefined) return one(phone, found.end);
    if (isCityNumber(found)) {
      const { digits } = found;
      return one(`${digits.slice(0, 3)}-${digits.slice(3, 5)}-${digits.slice(5)}`, found.end);
    }
  }
  const dictated = readDictated(run, at);
  return dictated && one(dictated.digits, dictated.end);
};
