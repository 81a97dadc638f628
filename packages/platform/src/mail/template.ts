/** Mail texts with `{names}` in them. Values are escaped where they land in HTML, and are never looked into again. */

export type MailTemplate = { readonly subject: string; readonly text: string; readonly html?: string };

const PLACE = /\{([a-z]+)\}/g;

const escapeHtml = (text: string): string => text.replaceAll(/[&<>"']/g, (sign) => `&#${sign.codePointAt(0)};`);

const fill = (template: string, values: Readonly<Record<string, string>>, encode: (value: string) => string): string =>
  template.replaceAll(PLACE, (whole, name: string) => (Object.hasOwn(values, name) ? encode(values[name]!) : whole));

/** Plain text as HTML, its lines kept and its `{link}` something to click on. */
const toHtml = (text: string): string =>
  escapeHtml(text).replaceAll('{link}', '<a href="{link}">{link}</a>').replaceAll(/\r?\n/g, '<br>\n');

/** Puts the values in. A template without HTML gets some made of its text. */
export const fillTemplate = (
  { subject, text, html }: MailTemplate,
  values: Readonly<Record<string, string>>,
): Required<MailTemplate> => ({
  subject: fill(subject, values, (value) => value),
  text: fill(text, values, (value) => value),
  html: fill(html ?? toHtml(text), values, escapeHtml),
});
