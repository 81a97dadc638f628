/** What is said in English and how it is written: rows taken from the language, class by class. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { writeNumbers } from './itn.ts';

/** Class → rows of "said = written"; a row without a sign stays as it is. */
const ROWS: Readonly<Record<string, string>> = {
  cardinals: `
    ten people = 10 people
    eleven = 11
    nineteen chairs = 19 chairs
    twenty = 20
    twenty one = 21
    twenty-five = 25
    ninety nine bottles = 99 bottles
    one hundred = 100
    a hundred times = 100 times
    one hundred and five = 105
    a hundred and twenty = 120
    two hundred forty two = 242
    nine hundred ninety nine = 999
    one thousand = 1,000
    a thousand miles = 1,000 miles
    one thousand two hundred = 1,200
    twelve hundred = 1,200
    three thousand four hundred and fifty six = 3,456
    fifteen thousand = 15,000
    two hundred fifty thousand = 250,000
    one hundred twenty three thousand four hundred fifty six = 123,456
    five million = 5 million
    twenty three billion = 23 billion
    two million three hundred thousand = 2,300,000
    one million and one = 1,000,001
    three hundred million people = 300 million people
    between ten and twenty = between 10 and 20
    five to ten people = 5 to 10 people
    two or twelve = 2 or 12
    between five and sixteen = between 5 and 16
    TWENTY FIVE = 25
    I have forty two, not fifty. = I have 42, not 50.
    minus twenty degrees = -20 degrees
    negative five = -5
    twenty four seven = 24/7
    fifty fifty = 50/50`,
  'small numbers and words that only look like numbers': `
    five people
    one of them
    no one knows
    two or three
    the first time
    a second chance
    a million reasons
    thousands of people
    hundreds
    the third floor
    one two
    may five people come
    a point of view
    march on
    the a team
    half of it
    she won
    for a quarter`,
  ordinals: `
    tenth = 10th
    the eleventh hour = the 11th hour
    twelfth = 12th
    twentieth century = 20th century
    twenty first = 21st
    twenty second = 22nd
    thirty third = 33rd
    forty fourth = 44th
    ninety ninth = 99th
    one hundredth = 100th
    one hundred and first = 101st
    a hundred and eleventh = 111th
    two thousandth = 2,000th`,
  dates: `
    january fifth = January 5
    january fifth twenty twenty five = January 5, 2025
    June 3 stays
    march third nineteen ninety nine = March 3, 1999
    may first = May 1
    december thirty first two thousand = December 31, 2000
    july fourth seventeen seventy six = July 4, 1776
    september eleventh two thousand one = September 11, 2001
    april twenty third two thousand and nineteen = April 23, 2019
    february twenty nine twenty twenty four = February 29, 2024
    june twenty twenty five = June 2025
    august nineteen forty five = August 1945
    october the tenth = October 10
    the fifth of may = the 5th of May
    the twenty first of june two thousand nineteen = the 21st of June 2019
    on the fourth of july = on the 4th of July
    november twelve = November 12
    by march twenty twenty six = by March 2026
    Tuesday, october third = Tuesday, October 3`,
  years: `
    in nineteen eighty four = in 1984
    in twenty twenty = in 2020
    since two thousand = since 2000
    in two thousand nineteen = in 2019
    in two thousand and five = in 2005
    twenty twenty five = 2025
    nineteen oh five = 1905
    in nineteen hundred = in 1900
    in ten sixty six = in 1066
    the nineteen eighties = the 1980s
    the eighteen hundreds = the 1800s
    the twenty twenties = the 2020s`,
  times: `
    at five thirty = at 5:30
    five thirty p m = 5:30 PM
    five thirty pm = 5:30 PM
    five p.m. sharp = 5 PM sharp
    ten a m = 10 AM
    at eleven forty five a.m. = at 11:45 AM
    five o'clock = 5 o'clock
    twelve fifteen = 12:15
    at seven oh five = at 7:05
    seven oh five a m = 7:05 AM
    half past five = 5:30
    quarter past nine = 9:15
    a quarter to five = 4:45
    quarter to one = 12:45
    ten past six = 6:10
    at twenty to nine = at 8:40
    ten minutes to three = 2:50
    five minutes past noon
    half past two p m = 2:30 PM
    seventeen hundred hours = 17:00
    zero eight hundred hours = 08:00
    oh six thirty hours = 06:30
    at fourteen thirty = at 14:30
    by nine fifteen tomorrow = by 9:15 tomorrow`,
  money: `
    five dollars = $5
    one dollar = $1
    a dollar fifty = $1.50
    a dollar
    twenty dollars = $20
    a hundred dollars = $100
    five dollars and fifty cents = $5.50
    five dollars and five cents = $5.05
    nineteen dollars ninety nine = $19.99
    one thousand two hundred dollars = $1,200
    five million dollars = $5 million
    half a million dollars
    two point five million dollars = $2.5 million
    two and a half million dollars = $2.5 million
    fifty cents = 50 cents
    five cents = 5 cents
    a twenty dollar bill = a $20 bill
    ten euros = €10
    three euros and twenty cents = €3.20
    ten pounds = £10
    ten pounds fifty = £10.50
    six pounds and twenty pence = £6.20
    ten pounds of sugar = 10 pounds of sugar
    I lost twenty pounds = I lost 20 pounds
    five hundred yen = ¥500
    two thousand rubles = 2,000 rubles
    thirty bucks = 30 bucks`,
  phones: `
    five five five one two three four five six seven = 555-123-4567
    call five five five one two three four = call 555-1234
    one eight hundred five five five one two three four = 1-800-555-1234
    plus one four one five five five five two six seven one = +1-415-555-2671
    plus four four two oh seven nine four six oh nine five eight = +442079460958
    four one five five fifty five twenty six seventy one = 415-555-2671
    two one two double five five oh one double two = 212-555-0122
    nine one one = 911
    dial one one two = dial 112
    extension four oh two = extension 402
    transfer three five seven nine = transfer 3579
    double oh seven = 007
    my code is one two three four five six seven = my code is 1234567
    account one two three four five six seven eight nine oh = account 1234567890
    pin four triple zero = pin 4000`,
  percentages: `
    five percent = 5%
    twenty five percent = 25%
    one hundred percent = 100%
    five per cent = 5%
    five point five percent = 5.5%
    zero point one percent = 0.1%
    point five percent = 0.5%
    half a percent = 0.5%
    two and a half percent = 2.5%
    minus three percent = -3%
    five to ten percent = 5 to 10%
    five percentage points = 5 percentage points`,
  decimals: `
    three point one four = 3.14
    three point one four one five nine = 3.14159
    zero point five = 0.5
    oh point two five = 0.25
    twelve point seven five = 12.75
    twelve point twenty five = 12.25
    one point five million = 1.5 million
    one hundred point zero one = 100.01
    two point oh = 2.0
    minus one point five = -1.5
    three and a half million = 3.5 million`,
};

const rowsOf = (block: string): [string, string][] =>
  block
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => {
      const [said, written = said] = line.split(' = ');
      return [said!, written!];
    });

describe('numbers in English', () => {
  it('has at least 120 rows', () => {
    assert.ok(Object.values(ROWS).flatMap(rowsOf).length >= 120);
  });
  for (const [name, block] of Object.entries(ROWS)) {
    it(`writes ${name}`, () => {
      const wrong = rowsOf(block)
        .map(([said, written]) => ({ said, written, got: writeNumbers(said, 'en') }))
        .filter(({ written, got }) => written !== got);
      assert.deepEqual(wrong, []);
    });
  }
});
