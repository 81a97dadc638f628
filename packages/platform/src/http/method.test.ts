import assert from 'node:assert/strict';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { canonicalPath, ROUTED_LOOKUP, rewriteUrl, targetOf } from './method.ts';

const ask = (method: string, url: string) => {
  const raw = new IncomingMessage(new Socket());
  raw.method = method;
  raw.url = url;
  const routed = rewriteUrl(raw);
  return { raw, routed, routedMethod: raw.method };
};
const target = (method: string, url: string) => {
  const { raw, routed, routedMethod } = ask(method, url);
  const { method: effective, path } = targetOf(raw);
  return [effective, path, routedMethod, routed];
};

describe('the effective method', () => {
  it('splits a POST at the last ! of the last segment', () => {
    assert.deepEqual(target('POST', '/c/1!delete'), ['DELETE', '/c/1', 'DELETE', '/c/1']);
    assert.deepEqual(target('POST', '/c/1!patch?x=a!b'), ['PATCH', '/c/1', 'PATCH', '/c/1?x=a!b']);
    assert.deepEqual(target('POST', '/c/a!b!put/'), ['PUT', '/c/a!b', 'PUT', '/c/a!b']);
    assert.deepEqual(target('POST', '/c!lookup'), ['LOOKUP', '/c', ROUTED_LOOKUP, '/c']);
    assert.deepEqual(target('POST', '/c!head'), ['HEAD', '/c', 'GET', '/c']);
  });

  it('knows only the closed list, in lower case, on POST, unencoded', () => {
    for (const url of [
      '/c/1!DELETE',
      '/c/1!get',
      '/c/1!post',
      '/c/1!',
      '/c/1!constructor',
      '/c!delete/x',
      '/c/1%21delete',
    ])
      assert.equal(target('POST', url)[0], 'POST', url);
    assert.deepEqual(target('GET', '/c/1!delete'), ['GET', '/c/1!delete', 'GET', '/c/1!delete']);
    assert.deepEqual(target('POST', '/c/a%21b!delete'), ['DELETE', '/c/a!b', 'DELETE', '/c/a%21b']);
  });

  it('tells LOOKUP from a true SEARCH or QUERY', () => {
    assert.deepEqual(target('LOOKUP', '/c').slice(0, 3), ['LOOKUP', '/c', ROUTED_LOOKUP]);
    assert.deepEqual(target('SEARCH', '/c').slice(0, 3), ['SEARCH', '/c', 'QUERY']);
    assert.deepEqual(target('QUERY', '/c').slice(0, 3), ['QUERY', '/c', 'QUERY']);
  });
});

describe('the canonical path', () => {
  it('is decoded once, without query and closing slash', () => {
    assert.equal(target('GET', '/a/b%20c/?x=/../')[1], '/a/b c');
    assert.equal(target('GET', '/a/%252e')[1], '/a/%2e');
    assert.equal(target('GET', 'http://host/a/b?c')[1], '/a/b');
    assert.equal(target('GET', '/')[1], '/');
  });

  it('refuses every second spelling', () => {
    const bad = [
      '//a',
      '/a//b',
      '/a/./b',
      '/a/../b',
      '/a/%2e%2E/b',
      '/a/..',
      '/a%2fb',
      '/a%2Fb',
      '/a%00',
      '/a%0a',
      '/a#b',
    ];
    for (const url of [...bad, '/a\\b', '/a/%5c', '/%', '/%ff', '*', 'a', '/a//']) {
      const { raw, routed } = ask('GET', url);
      assert.throws(() => targetOf(raw), { status: 400 }, url);
      assert.equal(routed, '/.bad-address');
    }
    assert.equal(canonicalPath('/a/.b').path, '/a/.b');
  });

  it('answers 414 for an address over 16 KiB', () => {
    assert.throws(() => targetOf(ask('GET', `/${'a'.repeat(16_384)}`).raw), { status: 414 });
  });
});
