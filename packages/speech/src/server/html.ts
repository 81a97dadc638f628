/** Writing HTML out of text, so that nothing can be forgotten to be escaped. */

/** Markup that is safe to be put on a page as it is. */
export type Markup = { readonly markup: string };

type Content = Markup | string | number | readonly Content[];

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escapeText = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!);

const toMarkup = (content: Content): string => {
  if (typeof content === 'string') return escapeText(content);
  if (typeof content === 'number') return String(content);
  return 'markup' in content ? content.markup : content.map(toMarkup).join('');
};

/** A template whose values are escaped unless they are markup themselves. */
export const html = (parts: TemplateStringsArray, ...values: readonly Content[]): Markup => ({
  markup: parts.map((part, at) => part + (at < values.length ? toMarkup(values[at]!) : '')).join(''),
});

/** Text in which `back-quoted` stretches are code. */
export const prose = (text: string): Markup => ({
  markup: text
    .split('`')
    .map((part, at) => (at % 2 === 1 ? `<code>${escapeText(part)}</code>` : escapeText(part)))
    .join(''),
});
