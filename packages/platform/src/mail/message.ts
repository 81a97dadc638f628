/** What a mail consists of, and which addresses one may go to. */

/** A mail to one address. `text` is always there, so that every reader can show it. */
export type MailMessage = {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html?: string;
};

/** RFC 5321 §4.5.3.1.3: a path has at most 256 octets, its brackets included. */
const MAX_ADDRESS = 254;
/** One plain address: no display name, no list, no quoted local part, nothing that could end a line of SMTP. */
const ADDRESS = /^[^\s@<>(),;:\\"[\]\p{Cc}]+@[^\s@<>(),;:\\"[\]\p{Cc}]+$/u;

/** True for one plain address of at most 254 characters. */
export const isMailAddress = (text: string): boolean => text.length <= MAX_ADDRESS && ADDRESS.test(text);

/** Text as one line, as a header needs it. */
export const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();
