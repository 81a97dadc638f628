/** Every setting of the platform, as data. Shared keys stand at the top of `parley.yaml`, the rest under `platform`. */
import { bytes, choice, duration, durations, flag, int, list, text } from '@parley/kit/setting-kinds.ts';
import type { Declaration, Settings } from '@parley/kit/settings.ts';

export const PLATFORM_SETTINGS = {
  data_dir: text('./data', 'Folder for everything Parley keeps.', { shared: true }),
  host: text('127.0.0.1', 'Address to listen on.', { shared: true }),
  port: int(8080, 'Port to listen on; 0 takes a free one.', { min: 0, max: 65_535 }),
  'storage.url': text(
    '',
    'postgres://… keeps rows in PostgreSQL; empty keeps them in files of the data folder, one for each service. A path is the SQLite file of one service that runs alone.',
    {
      shared: true,
      secret: true,
    },
  ),
  secret_key: text(
    '',
    'Key of secrets at rest, 32 bytes as hex or base64; empty is the file secret.key in the data folder.',
    {
      shared: true,
      secret: true,
    },
  ),
  admin_password: text('', 'Password of the first administrator; empty makes a random one, shown once.', {
    shared: true,
    secret: true,
    env: ['PARLEY_ADMIN_PASSWORD', 'BOOTSTRAP_PASSWORD'],
  }),
  admin_login: text('admin', 'Login of the first administrator.', { env: ['BOOTSTRAP_LOGIN'] }),
  'bootstrap.domain': text('master', 'Name of the master domain; used at the first start only.'),
  public_url: text('', 'Address under which people reach the platform, for links and for the origin check.'),
  trusted_proxies: list([], 'Addresses or networks whose X-Forwarded-* headers are believed.', { shared: true }),
  'log.level': choice(['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'], 'info', 'What is logged.'),
  'metrics.addr': text('', 'Serve /metrics, which then asks for nothing, on this host:port.'),
  'metrics.token': text('', 'Serve /metrics on the own port to whoever sends this as Authorization: Bearer.', {
    secret: true,
  }),
  strict_fields: flag(false, 'Refuse unknown fields in bodies with 400 instead of ignoring and naming them.'),
  'memory.max_rows': int(
    2_000_000,
    'Rows a node holds in memory; above it users, contacts and their like stay in the database, the last used aside.',
    { min: 1 },
  ),
  'memory.max_bytes': bytes('2 GiB', 'The same by what the rows take in memory, roughly.'),
  'list.default_limit': int(1000, 'Items of a list when no limit is given.', { min: 1, max: 100_000 }),
  'list.max_limit': int(10_000, 'Most items of one list.', { min: 1, max: 1_000_000 }),
  'export.secrets': flag(false, 'Let administrators export password hashes and import them.'),
  'cookie.secure': choice(['auto', 'always'], 'auto', 'auto sets Secure on the session cookie over TLS only.'),
  'session.cookie_idle': duration('60m', 'A cookie session ends after this long without use.'),
  'session.cookie_max': duration('24h', 'A cookie session ends after this long in any case.'),
  'session.token_idle': duration('24h', 'A token session ends after this long without use.'),
  'session.token_max': duration('30d', 'A token session ends after this long in any case.'),
  'session.max_per_user': int(100, 'Sessions of one user at once; the oldest ends.', { min: 1, max: 10_000 }),
  'ban.key': choice(['address+login', 'address', 'login'], 'address+login', 'What failed sign-ins are counted by.'),
  'password.alphabet': text(
    'A-Za-z0-9_.~!-',
    'Signs that passwords set by invitation may have, as between the brackets of a regular expression.',
  ),
  'invite.lifetime': duration('3d', 'How long the link of an invitation is good.'),
  'invite.interval': duration('2m', 'Least time between two invitations to one e-mail address or from one address.'),
  'scripts.code': flag(false, 'Let scripts hold JavaScript statements (element 190), not only expressions.'),
  'scripts.http_hosts': list(
    [],
    'Hosts (host or host:port) that scripts may ask though they are private or have no TLS; public ones need https.',
  ),
  'mail.timeout': duration('10s', 'Longest time of one try to hand a mail to its server.'),
  'mail.retry_after': durations(['10s', '60s', '300s'], 'Waits before each further try to send a mail.'),
  'mail.ca_file': text('', "PEM file of certificates that mail servers are trusted by besides the system's."),
  'iam.require_old_pwd': flag(false, 'Changing the own password needs the old one (pwd_old).'),
  'oauth.allow_http_hosts': list(
    [],
    'Hosts (host:port) of OAuth providers that may be reached without TLS; for tests.',
  ),
  'license.vendor_keys': list(
    [],
    'Public keys of the vendor whose licences are taken: 32 bytes (Ed25519) as base64url each.',
  ),
  'product.dir': text('', 'Folder of the archives of product layers of this site; empty: none can be installed.'),
  'product.vendor_keys': list(
    [],
    'Public keys of the vendors whose layers are taken: 32 bytes (Ed25519) as base64url each.',
  ),
  'product.allow_unsigned': flag(false, 'Take layers without a signature; for development.'),
  'files.max_bytes': bytes('256 MiB', 'Largest attachment.'),
  'files.roots': list([], 'Folders that storages of type fs may lie in; the data folder always may.'),
} satisfies Declaration;

export type PlatformSettings = Settings<typeof PLATFORM_SETTINGS>['values'];
