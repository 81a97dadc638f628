/**
 * 121: a mail, by the account that `account` names, else by the system account of the domain, else of the master. It is
 * taken into the queue of mails, which sends it at once and tries again: the run goes on without waiting for the server.
 */
import { type Element, type ElementContext, go, type ScriptObject } from '../element.ts';
import { ScriptFault } from '../fault.ts';
import type { ScriptMessage } from '../mail.ts';

const MAX_RECIPIENTS = 10;
const MAX_SUBJECT = 256;
const MAX_TEXT = 65_536;

export const mail: Element = {
  oType: 121,
  name: 'mail',
  keys: {
    to: { kind: 'template', required: true, description: `An address, or a list of at most ${MAX_RECIPIENTS}.` },
    subject: { kind: 'template', required: true },
    text: { kind: 'template', required: true },
    html: { kind: 'template' },
    account: { kind: 'template', description: 'Code of a row of system/MailAccounts.' },
  },
  run: async (context, object) => {
    const { mail: service } = context.services;
    if (!service) throw new ScriptFault('element', 'there is no mail here');
    const addresses = toList(await context.render(object.to));
    if (addresses.length === 0 || addresses.length > MAX_RECIPIENTS) {
      throw new ScriptFault('element', `to must be 1 to ${MAX_RECIPIENTS} addresses`);
    }
    if (!addresses.every(service.isAddress)) throw new ScriptFault('element', 'to holds what is no mail address');
    const message = await readMessage(context, object);
    const account = await context.renderText(object.account);
    const messages = addresses.map((to): ScriptMessage => ({ ...message, to }));
    const isTaken = await service.send(context.domain.name, messages, ...(account === '' ? [] : [account]));
    if (!isTaken) throw new ScriptFault('element', 'no mail server and account are set up');
    return go(object);
  },
};

const readMessage = async (context: ElementContext, object: ScriptObject): Promise<Omit<ScriptMessage, 'to'>> => {
  const read = async (key: string, max: number): Promise<string> => {
    const text = await context.renderText(object[key]);
    if (text.length > max) throw new ScriptFault('size', `${key} is longer than ${max} characters`);
    return text;
  };
  return {
    subject: await read('subject', MAX_SUBJECT),
    text: await read('text', MAX_TEXT),
    ...(object.html === undefined ? {} : { html: await read('html', MAX_TEXT) }),
  };
};

const toList = (value: unknown): string[] =>
  (Array.isArray(value) ? value : String(value ?? '').split(',')).map((each) => String(each).trim()).filter(Boolean);
