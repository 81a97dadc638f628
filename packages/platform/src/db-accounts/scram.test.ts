import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, it } from 'node:test';
import { createPassword, toScramVerifier } from './scram.ts';

describe('passwords of database accounts', () => {
  it('become the verifier of RFC 7677', async () => {
    const salt = Buffer.from('W22ZaJ0SNY7soEsUEjb6gQ==', 'base64');
    const verifier = await toScramVerifier('pencil', salt);
    const [, serverKey] = verifier.split('$')[2]!.split(':');
    assert.ok(verifier.startsWith('SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$'));
    // The example of RFC 7677 §3: what the server signs with this key.
    const message = [
      'n=user,r=rOprNGfwEbeRWgbNEkqO',
      'r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096',
      'c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0',
    ].join(',');
    const signature = createHmac('sha256', Buffer.from(serverKey!, 'base64')).update(message).digest('base64');
    assert.equal(signature, '6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=');
  });

  it('are 32 letters and digits, never twice the same', () => {
    const made = new Set(Array.from({ length: 100 }, createPassword));
    assert.equal(made.size, 100);
    for (const password of made) assert.match(password, /^[0-9A-Za-z]{32}$/);
  });
});
