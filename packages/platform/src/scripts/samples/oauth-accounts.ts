/** Whoever a provider vouches for gets an account of his own at the first sign-in, known by provider and subject. */
import type { Sample } from './sample.ts';

const [STRING, OBJECT] = [1, 4];
const [LOCAL, INPUT] = [1, 2];
/** The identity key: a mail address may change hands, a subject of a provider does not. */
const LOGIN = '{{request.provider_key}}:{{request.sub}}';

export const oauthAccounts: Sample = {
  name: 'oauth-accounts',
  title: 'Sign-in through OAuth providers makes an account at the first time',
  setting: 'iam_token_svcscript_code',
  begins: '/oauth/redirect/<code of a provider>',
  hints: [
    'Providers are rows of the class oauth/Providers (model/oauth/Providers) in the master domain.',
    'New accounts have no roles; give them some in the script, and the script the right to, in svcscript_rights.',
  ],
  body: {
    code: 'oauth-accounts',
    name: 'Accounts of OAuth providers',
    opts: {
      title: 'Accounts of OAuth providers',
      comment: 'Made by `script install oauth-accounts`; change it as you like.',
      loglevel: 3,
    },
    scriptdata: {
      scriptVersion: 1,
      variables: [
        { name: 'token', type: STRING, location: INPUT },
        { name: 'request', type: OBJECT, location: INPUT },
        { name: 'email', type: STRING, location: LOCAL },
      ],
      objects: [
        { oId: 1, oType: 101, name: 'start', inputs: ['token', 'request'], transfer: 2 },
        {
          oId: 2,
          oType: 110,
          name: 'address',
          assign: [{ name: 'email', expr: 'request.email_verified ? request.email : ""' }],
          transfer: 3,
        },
        {
          oId: 3,
          oType: 131,
          name: 'account',
          collection: 'iam/users',
          domain: '{{request.domain}}',
          fields: {
            login: LOGIN,
            name: '{{request.name || request.login || request.sub}}',
            ext: { email: '{{email}}', provider: '{{request.provider_key}}', sub: '{{request.sub}}' },
          },
          transfer_conflict: 4,
          transfer: 4,
        },
        {
          oId: 4,
          oType: 102,
          name: 'in',
          result: { result: 'true', domain: 'request.domain', login: 'request.provider_key + ":" + request.sub' },
        },
      ],
    },
  },
};
