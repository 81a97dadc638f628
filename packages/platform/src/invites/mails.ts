/** The mails about an account: the invitation, by the setting `iam_invite_mail` of its domain, and the news of a changed password. */
import type { Domain } from '../domains/types.ts';
import { fillTemplate, type MailTemplate } from '../mail/template.ts';

type Names = { readonly name: string; readonly domain: string };

const INVITATION: Required<MailTemplate> = {
  subject: 'Your account in {domain}',
  text: `Hello {name},

open this link to choose the password of your account in {domain}:

{link}

The link works once and for three days. If you did not expect this mail, leave it alone: nothing happens.
`,
  html: `<!doctype html>
<html><body style="font-family: sans-serif; line-height: 1.5">
<p>Hello {name},</p>
<p>open this link to choose the password of your account in {domain}:</p>
<p><a href="{link}">{link}</a></p>
<p>The link works once and for three days. If you did not expect this mail, leave it alone: nothing happens.</p>
</body></html>
`,
};

const CHANGED: MailTemplate = {
  subject: 'Your password in {domain} was changed',
  text: `Hello {name},

the password of your account in {domain} was changed a moment ago through an invitation, and every session was ended.

If that was not you, tell your administrator now.
`,
};

const PLACE = '{link}';

/** What the domain set, else ours; an invitation without its link would be useless, so one is put at its end. */
const invitationOf = (domain: Domain): MailTemplate => {
  const setting = domain.setting('iam_invite_mail') ?? {};
  const own = (member: string): string | undefined => {
    const value = setting[member];
    return typeof value === 'string' && value.trim() !== '' ? value : undefined;
  };
  const subject = own('subject') ?? INVITATION.subject;
  const text = own('text');
  const html = own('html');
  if (text === undefined && html === undefined) return { ...INVITATION, subject };
  return {
    subject,
    text: withLink(text ?? INVITATION.text, `\n${PLACE}\n`),
    ...(html === undefined ? {} : { html: withLink(html, `<p><a href="${PLACE}">${PLACE}</a></p>`) }),
  };
};

const withLink = (template: string, link: string): string => (template.includes(PLACE) ? template : template + link);

export const invitationMail = (domain: Domain, values: Names & { readonly link: string }): Required<MailTemplate> =>
  fillTemplate(invitationOf(domain), values);

export const changedMail = (values: Names): Required<MailTemplate> => fillTemplate(CHANGED, values);
