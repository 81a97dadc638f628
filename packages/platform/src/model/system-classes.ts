/** Classes the platform itself keeps data in; their definitions cannot be changed. */
import type { Json } from '../rest/json.ts';
import type { Property } from './properties.ts';

type Definition = {
  readonly classname: string;
  readonly masterOnly?: boolean;
  readonly opts?: Json;
  readonly properties: readonly Property[];
};

const text = (name: string, more: Partial<Property> = {}): Property => ({ name, data_type: 'string', ...more });
const flag = (name: string, fallback?: boolean): Property => ({
  name,
  data_type: 'boolean',
  ...(fallback === undefined ? {} : { default: fallback }),
});
const any = (name: string): Property => ({ name, data_type: 'any' });
const words = (name: string, items: readonly string[], fallback: string): Property => ({
  name,
  data_type: 'enum',
  items,
  default: fallback,
});
const ONE_DAY_SEC = 86_400;

const PROVIDERS: Definition = {
  classname: 'oauth/Providers',
  masterOnly: true,
  opts: { lookup_properties: ['code'] },
  properties: [
    text('code', { required: true }),
    text('name'),
    flag('enabled', true),
    words('type', ['oauth2', 'oidc'], 'oidc'),
    ...['uri_authorize', 'uri_token', 'uri_info', 'uri_jwks', 'issuer', 'client_id'].map((name) => text(name)),
    text('client_secret', { secret: true }),
    ...['redirect_uri', 'scope', 'domain', 'site'].map((name) => text(name)),
    any('authorize_params'),
    words('token_auth', ['client_secret_post', 'client_secret_basic', 'basic', 'none'], 'client_secret_post'),
    flag('pkce', true),
    any('map'),
    any('opts'),
  ],
};

const REQUESTS: Definition = {
  classname: 'oauth/Requests',
  masterOnly: true,
  opts: { expires_mode: 'create', expires_ttl: ONE_DAY_SEC, lookup_properties: ['state_hash', 'token_hash'] },
  properties: [
    words('status', ['initial', 'authorized', 'used', 'failed'], 'initial'),
    ...['state_hash', 'token_hash', 'browser_hash', 'nonce'].map((name) => text(name)),
    text('pkce_verifier', { secret: true }),
    ...['provider_key', 'login', 'domain', 'name', 'email', 'sub', 'address', 'error'].map((name) => text(name)),
    any('claims'),
    { name: 'expires', data_type: 'datetime' },
  ],
};

const INVITES: Definition = {
  classname: 'system/Invites',
  opts: { expires_mode: 'create', expires_ttl: 3 * ONE_DAY_SEC, lookup_properties: ['link_hash', 'userid'] },
  properties: [
    text('link_hash', { required: true }),
    { name: 'userid', data_type: 'uuid', required: true },
    text('email'),
    text('domain'),
    text('address'),
  ],
};

const MAIL_SERVERS: Definition = {
  classname: 'system/MailServers',
  opts: { lookup_properties: ['code'] },
  properties: [
    text('code', { required: true }),
    text('host', { required: true }),
    { name: 'port', data_type: 'integer', default: 587 },
    words('tls', ['none', 'starttls', 'implicit'], 'starttls'),
    flag('enabled', true),
  ],
};

const MAIL_ACCOUNTS: Definition = {
  classname: 'system/MailAccounts',
  opts: { lookup_properties: ['code'] },
  properties: [
    text('code', { required: true }),
    text('server', { required: true }),
    text('login'),
    text('pwd', { secret: true }),
    text('from_address', { required: true }),
    text('from_name'),
    flag('isSystem', false),
  ],
};

/** Bodies of the built-in classes of a domain. */
export const systemClasses = (isMaster: boolean): Json[] =>
  [PROVIDERS, REQUESTS, INVITES, MAIL_SERVERS, MAIL_ACCOUNTS]
    .filter(({ masterOnly }) => isMaster || !masterOnly)
    .map(({ classname, opts, properties }) => ({
      classname,
      storage_mode: 'category',
      properties,
      opts: { ...opts, check_required_fill_defaults: true, system: true },
    }));
