/** Documents that are checked before they count: scripts, settings, manifests of models, licences, signed tokens. */
import { generateKeyPairSync, type JsonWebKey, sign } from 'node:crypto';
import { createSilentLog } from '@parley/kit/log.ts';
import { readSettings } from '@parley/kit/settings.ts';
import { MalformedLicence, readLicence, termsAt } from '@parley/platform/licence/document.ts';
import { LicenceRefused, openEnvelope } from '@parley/platform/licence/envelope.ts';
import { createVendorKey, issueLicence } from '@parley/platform/licence/issue.ts';
import { checkShape, type Json, unflatten } from '@parley/platform/rest/json.ts';
import type { ElementContext, ScriptObject } from '@parley/platform/scripts/element.ts';
import { ELEMENTS } from '@parley/platform/scripts/elements/all.ts';
import { jwtVerification } from '@parley/platform/scripts/elements/jwt-verify.ts';
import { ScriptFault } from '@parley/platform/scripts/fault.ts';
import { keysOf } from '@parley/platform/scripts/keys.ts';
import { createSandbox } from '@parley/platform/scripts/sandbox-pool.ts';
import { expressionsOf, fillTemplate } from '@parley/platform/scripts/template.ts';
import { createScriptChecks } from '@parley/platform/scripts/validate.ts';
import { PLATFORM_SETTINGS } from '@parley/platform/settings.ts';
import { ManifestFault, parseManifest } from '@parley/speech/models/manifest.ts';
import { SPEECH_SETTINGS } from '@parley/speech/settings.ts';
import type { Random } from './random.ts';
import type { Target } from './target.ts';

const VALUES = [
  'a',
  'a + 1',
  '{{a}}',
  'x {{a + "}}"}} y',
  '{{',
  'get',
  'GET',
  'check',
  'cookie',
  'line',
  'step',
  'ctx',
  'https://a',
];
const KEY_NAMES = [...new Set(ELEMENTS.flatMap((element) => Object.keys(keysOf(element))))];

const scriptOf = (random: Random): Json => {
  const object = (): unknown => {
    if (random.chance(0.05)) return random.json(KEY_NAMES);
    const element = random.pick(ELEMENTS);
    const names = random.chance(0.8) ? Object.keys(keysOf(element)) : KEY_NAMES;
    const value = (): unknown => {
      if (random.chance(0.3)) return random.int(8);
      return random.chance(0.4)
        ? random.pick(VALUES)
        : random.json([...VALUES, 'name', 'expr', 'cond', 'transfer', 'type']);
    };
    const own = names.filter(() => random.chance(0.8)).map((name) => [name, value()]);
    return {
      oId: random.chance(0.95) ? 1 + random.int(8) : random.json([]),
      oType: element.oType,
      ...Object.fromEntries(own),
    };
  };
  const start = random.chance(0.9) ? [{ oId: 100, oType: 101, transfer: 1 + random.int(8) }] : [];
  return {
    scriptdata: {
      objects: [...start, ...random.list(8, object)],
      variables: random.json(['name', 'a', 'type', 'location']),
    },
    opts: { variables: random.json(['a', 'b']) },
  };
};

/** How often expressions are compiled too, which goes to another thread. */
const COMPILED = 0.02;

export const scripts: Target = {
  name: 'script',
  weight: 4,
  open: () => {
    const sandbox = createSandbox({ log: createSilentLog() });
    const { check, compile } = createScriptChecks(ELEMENTS, sandbox);
    return {
      run: (random) => {
        const script = scriptOf(random);
        // What comes over the wire has passed this.
        checkShape(script);
        if (random.chance(COMPILED)) return compile(script.scriptdata);
        check(script);
        return undefined;
      },
      [Symbol.asyncDispose]: () => sandbox[Symbol.asyncDispose](),
    };
  },
};

export const templates: Target = {
  name: 'template',
  weight: 4,
  open: () => ({
    run: (random) => {
      const pieces = ['{{', '}}', '{', '}', '"', "'", '`', '\\', 'a', ' ', random.text()];
      const template = random.list(4, () => random.list(12, () => random.pick(pieces)).join(''));
      const sources = expressionsOf(template);
      fillTemplate(
        template,
        sources.map(() => random.json([])),
      );
    },
    isRefusal: (thrown) => thrown instanceof ScriptFault && thrown.reason === 'expression',
  }),
};

export const merges: Target = {
  name: 'json',
  weight: 4,
  open: () => ({
    run: (random) => {
      const words = ['opts', 'opts.title', 'opts.a.b', 'ext', 'ext.__proto__.x', 'a', '__proto__'];
      const body = random.json(words);
      checkShape(body);
      if (typeof body === 'object' && body !== null && !Array.isArray(body))
        unflatten(body as Json, (name) => name !== 'a');
      // biome-ignore lint/suspicious/noPrototypeBuiltins: what is looked for
      if (Object.prototype.hasOwnProperty.call(Object.prototype, 'x')) throw new Error('a prototype was changed');
    },
  }),
};

export const settings: Target = {
  name: 'settings',
  weight: 1,
  open: () => ({
    run: (random) => {
      const [declaration, section] = random.chance(0.5) ? [PLATFORM_SETTINGS, 'platform'] : [SPEECH_SETTINGS, 'speech'];
      const keys = Object.keys(declaration);
      const value = () =>
        random.chance(0.5) ? random.pick(['1h', '5 MiB', '-1', 'a=1,b', '1,2', 'true', '0']) : random.text();
      const flags = Object.fromEntries(random.list(3, () => [`${section}.${random.pick(keys)}`, value()]));
      readSettings(declaration, { section, env: {}, flags, file: random.json([section, ...keys]) as Json });
    },
    isRefusal: (thrown) => thrown instanceof Error && thrown.message.startsWith('Settings that cannot be used:'),
  }),
};

const MANIFEST = {
  id: 'm',
  revision: '1',
  kind: 'asr',
  engine: 'sherpa',
  family: 'zipformer',
  languages: ['en'],
  sample_rate: 16_000,
  files: { encoder: 'encoder.onnx', tokens: 'tokens.txt' },
  capabilities: { hotwords: true },
};

export const manifests: Target = {
  name: 'manifest',
  weight: 2,
  open: () => ({
    run: (random) => {
      const names = Object.keys(MANIFEST);
      const changes = random.list(3, () => [
        random.pick(names),
        random.json(['../x', '/x', 'a/b', 'encoder', 'asr', 'en']),
      ]);
      parseManifest(random.chance(0.1) ? random.json(names) : { ...MANIFEST, ...Object.fromEntries(changes) });
    },
    isRefusal: (thrown) => thrown instanceof ManifestFault,
  }),
};

const CLAIMS = {
  products: 'all',
  dql: { svcscripts: 5 },
  sqf: { a: true },
  conditions: [
    { when: { after: '2030-01-01T00:00:00Z', count: { item: 'svcscripts', over: 1 } }, set: { 'dql.domains': 1 } },
  ],
  iss: 'v',
  jti: '1',
  iat: 1,
};
const CLAIM_WORDS = [
  'when',
  'set',
  'before',
  'after',
  'count',
  'item',
  'over',
  'dql.a',
  'sqf.a',
  'products',
  '2030-01-01',
];

export const claims: Target = {
  name: 'claims',
  weight: 3,
  open: () => ({
    run: (random) => {
      const changes = random.list(3, () => [random.pick(Object.keys(CLAIMS)), random.json(CLAIM_WORDS)]);
      const licence = readLicence({ ...CLAIMS, ...Object.fromEntries(changes) });
      termsAt(licence, '2031-01-01T00:00:00.000000Z', { svcscripts: random.int(9) });
    },
    isRefusal: (thrown) => thrown instanceof MalformedLicence,
  }),
};

const mutateToken = (random: Random, token: string): string => {
  const parts = token.split('.');
  const at = random.int(parts.length);
  if (random.chance(0.3)) {
    const head = JSON.stringify({
      alg: random.pick(['none', 'HS256', 'dir', 'EdDSA', 'ECDH-ES']),
      ...(random.json(['alg', 'enc', 'zip', 'jwk', 'crit', 'epk', 'kid', 'b64']) as Json),
    });
    parts[0] = Buffer.from(head).toString('base64url');
  } else if (random.chance(0.5)) parts[at] = random.mutate(Buffer.from(parts[at]!, 'base64url')).toString('base64url');
  else parts[at] = random.mutateText(parts[at]!);
  return random.chance(0.9) ? parts.join('.') : random.text();
};

export const licences: Target = {
  name: 'licence',
  weight: 0.5,
  open: async () => {
    const vendor = await createVendorKey();
    const pair = generateKeyPairSync('x25519');
    const key = pair.publicKey.export({ format: 'jwk' }) as { kty: string };
    const privateKey = pair.privateKey.toCryptoKey({ name: 'X25519' }, true, ['deriveBits']);
    const token = await issueLicence(CLAIMS, { installation: 'i', key }, vendor.privateKey, 1);
    const parts = { installation: 'i', key: privateKey, vendorKeys: [vendor.publicKey] };
    await openEnvelope(token, parts);
    return {
      run: (random) => openEnvelope(mutateToken(random, token), parts),
      isRefusal: (thrown) => thrown instanceof LicenceRefused,
    };
  },
};

const unused = (): never => {
  throw new Error('the element asked for more than a token needs');
};

export const tokens: Target = {
  name: 'jwt',
  weight: 0.5,
  open: async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const key: JsonWebKey = publicKey.export({ format: 'jwk' });
    const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const signed = `${encode({ alg: 'ES256' })}.${encode({ sub: 'a', iss: 'i', aud: 'a', exp: 4_000_000_000 })}`;
    const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' });
    const good = `${signed}.${signature.toString('base64url')}`;
    const context: Partial<ElementContext> = {
      render: async (template) => template,
      renderText: async (template) => String(template),
      hide: () => undefined,
      log: () => undefined,
      variables: { get: unused, set: () => undefined },
      services: {},
    };
    const object = { oId: 1, oType: 170, key, iss: 'i', aud: 'a', save: 'claims' };
    // The one that nobody changed is taken.
    await jwtVerification.run(context as ElementContext, { ...object, token: good } as ScriptObject);
    return {
      run: (random) => {
        const given = random.chance(0.9)
          ? key
          : random.json(['kty', 'crv', 'x', 'y', 'k', 'alg', 'oct', 'EC', 'RSA', 'n', 'e']);
        const token = mutateToken(random, good);
        return jwtVerification.run(context as ElementContext, { ...object, key: given, token } as ScriptObject);
      },
      isRefusal: (thrown) => thrown instanceof ScriptFault && thrown.reason !== 'internal',
    };
  },
};
