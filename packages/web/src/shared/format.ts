/** Values as people read them, in the chosen language. Pure functions of value and language. */
import type { Language } from './i18n.tsx';

/** The reader's own variety of the chosen language: `en-GB` writes dates otherwise than `en`. */
const localeOf = (language: Language): string =>
  navigator.languages.find((one) => one.toLowerCase().startsWith(language)) ?? language;

const SECONDS_PER_MINUTE = 60;
const SECONDS_PER_HOUR = 3600;

const pad = (value: number): string => String(Math.floor(value)).padStart(2, '0');

/** Seconds → `1:02:03`, or `2:03` below an hour; with `tenths` `2:03.4`. */
export const formatClock = (seconds: number, tenths = false): string => {
  const safe = Math.max(0, seconds);
  const hours = Math.floor(safe / SECONDS_PER_HOUR);
  const minutes = Math.floor((safe % SECONDS_PER_HOUR) / SECONDS_PER_MINUTE);
  const tail = pad(safe % SECONDS_PER_MINUTE) + (tenths ? `.${Math.floor((safe * 10) % 10)}` : '');
  return hours > 0 ? `${hours}:${pad(minutes)}:${tail}` : `${minutes}:${tail}`;
};

const BYTE_UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;

/** Bytes → `12.3 MB` in decimal units. */
export const formatBytes = (bytes: number, language: Language): string => {
  const power = bytes < 1 ? 0 : Math.min(BYTE_UNITS.length - 1, Math.floor(Math.log10(bytes) / 3));
  return new Intl.NumberFormat(localeOf(language), {
    style: 'unit',
    unit: BYTE_UNITS[power]!,
    unitDisplay: 'short',
    maximumFractionDigits: power < 2 ? 0 : 1,
  }).format(bytes / 1000 ** power);
};

/** A count with the language's separators. */
export const formatNumber = (value: number, language: Language, digits = 0): string =>
  new Intl.NumberFormat(localeOf(language), { maximumFractionDigits: digits }).format(value);

/** 0 to 100 → `42 %` as the language writes it. */
export const formatPercent = (percent: number, language: Language): string =>
  new Intl.NumberFormat(localeOf(language), { style: 'percent', maximumFractionDigits: 0 }).format(percent / 100);

/** An RFC 3339 instant → date and time of the reader's zone; the text as it is when it is no instant. */
export const formatInstant = (instant: string, language: Language): string => instantFormatter(language)(instant);

/** The same for many: making a formatter takes far longer than using it. */
export const instantFormatter = (language: Language): ((instant: string) => string) => {
  const format = new Intl.DateTimeFormat(localeOf(language), { dateStyle: 'medium', timeStyle: 'medium' });
  return (instant) => {
    const date = new Date(instant);
    return Number.isNaN(date.getTime()) ? instant : format.format(date);
  };
};

/** Seconds still to go → `about 2 min`, rounded as coarsely as such a guess deserves. */
export const formatDuration = (seconds: number, language: Language): string => {
  const [value, unit] =
    seconds < SECONDS_PER_MINUTE
      ? [Math.max(1, Math.round(seconds)), 'second']
      : seconds < SECONDS_PER_HOUR
        ? [Math.round(seconds / SECONDS_PER_MINUTE), 'minute']
        : [Math.round((seconds / SECONDS_PER_HOUR) * 10) / 10, 'hour'];
  return new Intl.NumberFormat(localeOf(language), { style: 'unit', unit: String(unit), unitDisplay: 'short' }).format(
    Number(value),
  );
};
