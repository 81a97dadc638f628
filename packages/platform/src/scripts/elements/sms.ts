/**
 * 122: a text message, by the HTTP request that the setting `sms_http` of the domain, else of the master, describes:
 * `{method?, url, headers?, body?, timeout_ms?}` with `{to}` and `{text}` in url and body, encoded as their place needs.
 */
import type { Entity } from '../../domains/types.ts';
import { isObject } from '../../rest/json.ts';
import { type Element, type ElementContext, go } from '../element.ts';
import { ScriptFault } from '../fault.ts';
import { requestHttp } from './http.ts';

const MAX_TEXT = 1000;
/** ITU-T E.164: at most 15 digits; short numbers of a network are fine. */
const NUMBER = /^\+?\d{3,15}$/;
const METHODS: ReadonlySet<unknown> = new Set(['GET', 'POST', 'PUT']);
const PLACE = /\{(to|text)\}/g;
const FORM = 'application/x-www-form-urlencoded';
const JSON_TYPE = 'application/json';

type Values = Readonly<Record<'to' | 'text', string>>;

export const sms: Element = {
  oType: 122,
  name: 'sms',
  keys: {
    to: { kind: 'template', required: true, description: 'A number, + and digits.' },
    text: { kind: 'template', required: true },
  },
  run: async (context, object) => {
    const to = (await context.renderText(object.to)).replaceAll(/[\s().-]/g, '');
    if (!NUMBER.test(to)) throw new ScriptFault('element', 'to is no telephone number');
    const text = await context.renderText(object.text);
    if (text === '' || text.length > MAX_TEXT) {
      throw new ScriptFault('element', `text must have 1 to ${MAX_TEXT} characters`);
    }
    const { status } = await requestHttp(context, toRequest(await settingOf(context), { to, text }));
    if (status < 200 || status > 299) throw new ScriptFault('outbound', `the SMS service answered ${status}`);
    return go(object);
  },
};

const settingOf = async ({ domain, services }: ElementContext): Promise<Entity> => {
  const setting = domain.setting('sms_http') ?? services.masterSetting?.('sms_http');
  if (typeof setting?.url !== 'string' || setting.url === '') {
    throw new ScriptFault('element', 'the setting sms_http has no url');
  }
  return setting;
};

const fill = (template: string, values: Values, encode: (value: string) => string): string =>
  template.replaceAll(PLACE, (_, name: keyof Values) => encode(values[name]));

/** Texts anywhere in a JSON value. */
const fillJson = (value: unknown, values: Values): unknown => {
  if (typeof value === 'string') return fill(value, values, (text) => text);
  if (Array.isArray(value)) return value.map((each) => fillJson(each, values));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, fillJson(each, values)]));
};

/** How a value is written inside a body of this type. */
const encoderFor = (type: string): ((value: string) => string) => {
  if (type.startsWith(FORM)) return encodeURIComponent;
  return type.startsWith(JSON_TYPE) ? (value) => JSON.stringify(value).slice(1, -1) : (value) => value;
};

const toRequest = (setting: Entity, values: Values) => {
  const headers = Object.fromEntries(
    Object.entries(isObject(setting.headers) ? setting.headers : {}).map(([name, value]) => [
      name.toLowerCase(),
      String(value),
    ]),
  );
  const { body } = setting;
  const isJson = body !== undefined && body !== null && typeof body !== 'string';
  if (isJson) headers['content-type'] ??= JSON_TYPE;
  if (typeof body === 'string') headers['content-type'] ??= FORM;
  const encode = encoderFor(headers['content-type']?.toLowerCase() ?? '');
  const text = isJson ? JSON.stringify(fillJson(body, values)) : body && fill(String(body), values, encode);
  return {
    method: METHODS.has(setting.method) ? String(setting.method) : text ? 'POST' : 'GET',
    url: fill(String(setting.url), values, encodeURIComponent),
    headers,
    ...(text ? { body: text } : {}),
    ...(typeof setting.timeout_ms === 'number' ? { timeoutMs: setting.timeout_ms } : {}),
  };
};
