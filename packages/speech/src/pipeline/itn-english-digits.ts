/** Digits dictated one by one in English: phone numbers, codes, extensions. */
import {
  ENGLISH_DIGITS,
  ENGLISH_NEAR_CODE,
  ENGLISH_NEAR_PHONE,
  ENGLISH_NUMBERS,
  ENGLISH_REPEATS,
} from './itn-english-words.ts';
import { readNumber } from './itn-number.ts';
import { isNear, one, type Rule, type Run, textAt } from './itn-tokens.ts';

type Dictated = { readonly digits: string; readonly end: number; readonly items: number };

const SHORTEST_CODE = 3;
const SHORTEST_PHONE = 7;
const LONGEST_PHONE = 15;
/** Words before a number that say what it is. */
const REACH = 5;

/** One word or group: a digit, "double five", "eight hundred", "forty two". */
const readItem = (run: Run, at: number): { digits: string; end: number; single: boolean } | undefined => {
  const digit = ENGLISH_DIGITS.get(textAt(run, at));
  if (digit !== undefined) {
    const isHundred = textAt(run, at + 1) === 'hundred' && digit !== '0';
    return isHundred
      ? { digits: `${digit}00`, end: at + 2, single: false }
      : { digits: digit, end: at + 1, single: true };
  }
  const times = ENGLISH_REPEATS.get(textAt(run, at));
  const repeated = times && ENGLISH_DIGITS.get(textAt(run, at + 1));
  if (times && repeated) return { digits: repeated.repeat(times), end: at + 2, single: true };
  const number = readNumber(run, at, ENGLISH_NUMBERS);
  const isPair = number && number.value > 9 && number.value < 100;
  return isPair ? { digits: String(number.value), end: number.end, single: false } : undefined;
};

/** What is dictated from `at` on: with `onlyDigits` up to the first group, else up to more digits than a phone number has. */
const readItems = (run: Run, at: number, onlyDigits: boolean): Dictated => {
  const found = { digits: '', end: at, items: 0 };
  for (let item = readItem(run, at); item && (onlyDigits ? item.single : found.digits.length <= LONGEST_PHONE); ) {
    found.digits += item.digits;
    found.end = item.end;
    found.items += 1;
    item = readItem(run, found.end);
  }
  return found;
};

/** A string of digits that stands by itself: at least three digits one by one. */
const readDictated = (run: Run, at: number): Dictated | undefined => {
  const found = readItems(run, at, true);
  const first = textAt(run, at);
  // "o" and "oh" are words of their own, and "one" behind "no" is none.
  return found.digits.length >= SHORTEST_CODE && first !== 'o' && first !== 'oh' ? found : undefined;
};

const MIN_PHONE_ITEMS = 4;

const writePhone = (digits: string, isNearPhone: boolean): string | undefined => {
  const national = /^(1?)(\d{3})(\d{3})(\d{4})$/.exec(digits);
  if (national) {
    const [, country, area, office, line] = national;
    return `${country === '' ? '' : '1-'}${area}-${office}-${line}`;
  }
  return isNearPhone && digits.length === SHORTEST_PHONE ? `${digits.slice(0, 3)}-${digits.slice(3)}` : undefined;
};

const international = (run: Run, at: number) => {
  if (textAt(run, at) !== 'plus') return undefined;
  const found = readItems(run, at + 1, false);
  return found.digits.length > SHORTEST_PHONE && found.digits.length <= LONGEST_PHONE ? found : undefined;
};

export const digitString: Rule = (run, at) => {
  const abroad = international(run, at);
  if (abroad) {
    const american = abroad.digits.startsWith('1') ? writePhone(abroad.digits, true) : undefined;
    return one(`+${american ?? abroad.digits}`, abroad.end);
  }
  const isCode = isNear(run, at, ENGLISH_NEAR_CODE, REACH);
  const whole = readItems(run, at, false);
  if (!isCode && whole.items >= MIN_PHONE_ITEMS) {
    const phone = writePhone(whole.digits, isNear(run, at, ENGLISH_NEAR_PHONE, REACH));
    if (phone !== undefined) return one(phone, whole.end);
  }
  const dictated = readDictated(run, at);
  return dictated && one(dictated.digits, dictated.end);
};
