/** Russian words of numbers, dates, times and money in all their cases, as data. `е` stands for `ё` too. */
import type { NumberKind, NumberTable, NumberWord } from './itn-number.ts';
import { wordSet } from './itn-tokens.ts';

/** Value: every form of the cardinal. */
const UNITS: Readonly<Record<number, string>> = {
  1: 'один одна одно одного одной одному одним одном одну одною',
  2: 'два две двух двум двумя',
  3: 'три трех трем тремя',
  4: 'четыре четырех четырем четырьмя',
  5: 'пять пяти пятью',
  6: 'шесть шести шестью',
  7: 'семь семи семью',
  8: 'восемь восьми восемью восьмью',
  9: 'девять девяти девятью',
};
const TEENS: Readonly<Record<number, string>> = {
  10: 'десять десяти десятью',
  11: 'одиннадцать одиннадцати одиннадцатью',
  12: 'двенадцать двенадцати двенадцатью',
  13: 'тринадцать тринадцати тринадцатью',
  14: 'четырнадцать четырнадцати четырнадцатью',
  15: 'пятнадцать пятнадцати пятнадцатью',
  16: 'шестнадцать шестнадцати шестнадцатью',
  17: 'семнадцать семнадцати семнадцатью',
  18: 'восемнадцать восемнадцати восемнадцатью',
  19: 'девятнадцать девятнадцати девятнадцатью',
};
const TENS: Readonly<Record<number, string>> = {
  20: 'двадцать двадцати двадцатью',
  30: 'тридцать тридцати тридцатью',
  40: 'сорок сорока',
  50: 'пятьдесят пятидесяти пятьюдесятью',
  60: 'шестьдесят шестидесяти шестьюдесятью',
  70: 'семьдесят семидесяти семьюдесятью',
  80: 'восемьдесят восьмидесяти восемьюдесятью восьмьюдесятью',
  90: 'девяносто девяноста',
};
const HUNDREDS: Readonly<Record<number, string>> = {
  100: 'сто ста',
  200: 'двести двухсот двумстам двумястами двухстах',
  300: 'триста трехсот тремстам тремястами трехстах',
  400: 'четыреста четырехсот четыремстам четырьмястами четырехстах',
  500: 'пятьсот пятисот пятистам пятьюстами пятистах',
  600: 'шестьсот шестисот шестистам шестьюстами шестистах',
  700: 'семьсот семисот семистам семьюстами семистах',
  800: 'восемьсот восьмисот восьмистам восемьюстами восьмьюстами восьмистах',
  900: 'девятьсот девятисот девятистам девятьюстами девятистах',
};
const SCALES: Readonly<Record<number, string>> = {
  1e3: 'тысяча тысячи тысяче тысячу тысячей тысячью тысяч тысячам тысячами тысячах',
  1e6: 'миллион миллиона миллиону миллионом миллионе миллионы миллионов миллионам миллионами миллионах',
  1e9: 'миллиард миллиарда миллиарду миллиардом миллиарде миллиарды миллиардов миллиардам миллиардами миллиардах',
  1e12: 'триллион триллиона триллиону триллионом триллионе триллионы триллионов триллионам триллионами триллионах',
};

/** Stems of ordinals: hard ones take `ый` or `ой`, third is soft. */
const ORDINAL_STEMS: readonly (readonly [NumberKind, number, string])[] = [
  ['unit', 1, 'перв'],
  ['unit', 2, 'втор'],
  ['unit', 4, 'четверт'],
  ['unit', 5, 'пят'],
  ['unit', 6, 'шест'],
  ['unit', 7, 'седьм'],
  ['unit', 8, 'восьм'],
  ['unit', 9, 'девят'],
  ['teen', 10, 'десят'],
  ['teen', 11, 'одиннадцат'],
  ['teen', 12, 'двенадцат'],
  ['teen', 13, 'тринадцат'],
  ['teen', 14, 'четырнадцат'],
  ['teen', 15, 'пятнадцат'],
  ['teen', 16, 'шестнадцат'],
  ['teen', 17, 'семнадцат'],
  ['teen', 18, 'восемнадцат'],
  ['teen', 19, 'девятнадцат'],
  ['ten', 20, 'двадцат'],
  ['ten', 30, 'тридцат'],
  ['ten', 40, 'сороков'],
  ['ten', 50, 'пятидесят'],
  ['ten', 60, 'шестидесят'],
  ['ten', 70, 'семидесят'],
  ['ten', 80, 'восьмидесят'],
  ['ten', 90, 'девяност'],
  ['hundred', 100, 'сот'],
  ['hundred', 200, 'двухсот'],
  ['hundred', 300, 'трехсот'],
  ['hundred', 400, 'четырехсот'],
  ['hundred', 500, 'пятисот'],
  ['hundred', 600, 'шестисот'],
  ['hundred', 700, 'семисот'],
  ['hundred', 800, 'восьмисот'],
  ['hundred', 900, 'девятисот'],
  ['scale', 1000, 'тысячн'],
  ['scale', 1e6, 'миллионн'],
  ['whole', 2000, 'двухтысячн'],
  ['whole', 3000, 'трехтысячн'],
  ['whole', 5000, 'пятитысячн'],
  ['whole', 10_000, 'десятитысячн'],
];

/**
 * Ending of an ordinal → what is written behind the digits: the last letter where a vowel stands before it, the last two
 * where a consonant does (Milchin, Spravochnik izdatelya, 6.2).
 */
const ORDINAL_ENDINGS: Readonly<Record<string, string>> = {
  ый: 'й',
  ой: 'й',
  ая: 'я',
  ое: 'е',
  ые: 'е',
  ого: 'го',
  ому: 'му',
  ым: 'м',
  ом: 'м',
  ую: 'ю',
  ых: 'х',
  ыми: 'ми',
};
const THIRD_ENDINGS: Readonly<Record<string, string>> = {
  ий: 'й',
  ья: 'я',
  ье: 'е',
  ьи: 'и',
  ьего: 'го',
  ьему: 'му',
  ьим: 'м',
  ьем: 'м',
  ьей: 'й',
  ью: 'ю',
  ьих: 'х',
  ьими: 'ми',
};

const formsOf = (kind: NumberKind, table: Readonly<Record<number, string>>): [string, NumberWord][] =>
  Object.entries(table).flatMap(([value, forms]) =>
    forms.split(' ').map((form): [string, NumberWord] => [form, { kind, value: Number(value) }]),
  );
const ordinalsOf = (
  kind: NumberKind,
  value: number,
  stem: string,
  endings: Readonly<Record<string, string>>,
): [string, NumberWord][] =>
  Object.entries(endings).map(([ending, suffix]) => [`${stem}${ending}`, { kind, value, suffix }]);

export const RUSSIAN_NUMBERS: NumberTable = {
  words: new Map([
    ...ORDINAL_STEMS.flatMap(([kind, value, stem]) => ordinalsOf(kind, value, stem, ORDINAL_ENDINGS)),
    ...ordinalsOf('unit', 3, 'трет', THIRD_ENDINGS),
    ...'ноль нуль ноля нуля нолю нулю нолем нулем ноле нуле'
      .split(' ')
      .map((form): [string, NumberWord] => [form, { kind: 'zero', value: 0 }]),
    ...formsOf('unit', UNITS),
    ...formsOf('teen', TEENS),
    ...formsOf('ten', TENS),
    ...formsOf('hundred', HUNDREDS),
    ...formsOf('scale', SCALES),
  ]),
  and: new Set(),
  articles: new Set(),
};

/** How single digits are dictated: in the nominative. */
export const RUSSIAN_DIGITS: ReadonlyMap<string, string> = new Map([
  ['ноль', '0'],
  ['нуль', '0'],
  ['одна', '1'],
  ['две', '2'],
  ...'один два три четыре пять шесть семь восемь девять'
    .split(' ')
    .map((word, index): [string, string] => [word, String(index + 1)]),
]);

export const RUSSIAN_MONTHS = wordSet(
  'января февраля марта апреля мая июня июля августа сентября октября ноября декабря',
);
export const RUSSIAN_YEAR = wordSet('год года году годом годе');
export const RUSSIAN_YEARS = wordSet('годы годов годам годами годах');
export const RUSSIAN_PERCENT = wordSet(
  'процент процента проценту процентом проценте проценты процентов процентам процентами процентах',
);
export const RUSSIAN_MONEY = wordSet(
  'рубль рубля рублю рублем рубле рубли рублей рублям рублями рублях ' +
    'копейка копейки копейке копейку копейкой копеек копейкам копейками копейках ' +
    'доллар доллара доллару долларом долларе доллары долларов долларам долларами долларах ' +
    'цент цента центов центами евро фунт фунта фунтов фунтами иен иены иена юань юаня юаней тенге гривен гривны гривна баксов',
);
/** Parts of the whole: what is said behind a decimal fraction, and how many digits it has. */
export const RUSSIAN_FRACTIONS: ReadonlyMap<string, number> = new Map(
  ['десят', 'сот', 'тысячн'].flatMap((stem, index) =>
    ['ая', 'ой', 'ую', 'ых', 'ым', 'ыми', 'ые'].map((ending): [string, number] => [`${stem}${ending}`, index + 1]),
  ),
);
export const RUSSIAN_WHOLE = wordSet('целая целой целую целых целым целыми целые');
export const RUSSIAN_POINT = wordSet('запятая точка');
export const RUSSIAN_HALF = wordSet('полтора полторы полутора');

/** Hours as they are counted to: "half of the sixth" is 5:30. */
export const RUSSIAN_NEXT_HOURS: ReadonlyMap<string, number> = new Map(
  'первого второго третьего четвертого пятого шестого седьмого восьмого девятого десятого одиннадцатого двенадцатого'
    .split(' ')
    .map((word, index) => [word, index + 1]),
);
export const RUSSIAN_HOURS = wordSet('час часа часов часу часам часами часах');
export const RUSSIAN_MINUTES = wordSet('минута минуты минут минуту минутам минутами минутах');
export const RUSSIAN_PARTS_OF_DAY = wordSet('утра дня вечера ночи');
export const RUSSIAN_BEFORE_TIME = wordSet('в во до к ко с со около после на примерно ровно');
export const RUSSIAN_CONNECTORS = wordSet('до или по');
export const RUSSIAN_NEAR_CODE = wordSet(
  'счет счета счете карта карты карте карту код кода заказ заказа заказу инн снилс договор договора',
);

export const RUSSIAN_PHRASES: readonly (readonly [readonly string[], string])[] = [
  [['двадцать', 'четыре', 'на', 'семь'], '24/7'],
];
