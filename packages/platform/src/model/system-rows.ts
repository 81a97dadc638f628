/** What rows of the built-in classes must keep beyond their fields: codes are unique, providers are addressed sensibly. */
import { cannotApply, taken } from '../codes.ts';
import type { Domain } from '../domains/types.ts';
import type { Input } from '../rest/draft.ts';
import { isObject, type Json } from '../rest/json.ts';
import type { ModelClass } from './model-class.ts';
import type { RowSource } from './rows.ts';

const PROVIDERS = 'oauth/Providers';
const URLS = ['uri_authorize', 'uri_token', 'uri_info', 'uri_jwks', 'issuer', 'redirect_uri'];
const OBJECTS = ['authorize_params', 'map', 'opts'];

type Write = {
  readonly domain: Domain;
  readonly model: ModelClass;
  /** undefined for a new row. */
  readonly id: string | undefined;
};

/** What shall be written, with what the server adds; 409 and 422 where it cannot be. */
export type CheckSystemRow = (write: Write, input: Input) => Promise<Input>;

const isBuiltIn = ({ entity }: ModelClass): boolean => isObject(entity.opts) && entity.opts.system === true;

/** `site`: the site of this server; empty when it is not known. */
export const createSystemCheck =
  (source: Pick<RowSource, 'open'>, site: () => string): CheckSystemRow =>
  async (write, input) => {
    if (!isBuiltIn(write.model)) return input;
    await checkCode(source, write, input.fields);
    if (write.model.classname !== PROVIDERS) return input;
    checkProvider(input.fields);
    const isPlaced = write.id !== undefined || site() === '' || (input.fields.site ?? '') !== '';
    return isPlaced ? input : { ...input, fields: { ...input.fields, site: site() } };
  };

const checkCode = async (source: Pick<RowSource, 'open'>, write: Write, { code }: Json): Promise<void> => {
  const { model, domain, id } = write;
  if (typeof code !== 'string' || !model.properties.some(({ name }) => name === 'code')) return;
  const rows = await source.open(domain, model);
  const holders = await rows.query({ where: [{ path: 'code', op: '=', value: code }], limit: 2 });
  if (holders.some((row) => row.id !== id && row.data.code === code)) throw taken('code', code);
};

const checkProvider = (fields: Json): void => {
  for (const name of URLS) {
    const value = fields[name];
    if (typeof value !== 'string' || value.trim() === '') continue;
    const url = URL.parse(value.trim());
    if (url?.protocol !== 'https:' && url?.protocol !== 'http:') throw cannotApply(name, 'must be an absolute URL');
    if (url.username !== '' || url.password !== '') throw cannotApply(name, 'must not hold a user name or password');
  }
  for (const name of OBJECTS) {
    const value = fields[name] ?? undefined;
    if (value !== undefined && !isObject(value)) throw cannotApply(name, 'must be an object');
  }
};
