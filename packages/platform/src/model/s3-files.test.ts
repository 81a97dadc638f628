/** How the params of an S3 storage become an address. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SecretBox } from '../domains/secrets.ts';
import type { Json } from '../rest/json.ts';
import { s3PlaceOf } from './s3-files.ts';

const secrets: SecretBox = {
  isSealed: (text) => text.startsWith('sealed:'),
  seal: (plain) => `sealed:${plain}`,
  open: (sealed) => sealed.slice('sealed:'.length),
};
const endpointOf = (params: Json): string | undefined => s3PlaceOf(params, secrets)?.endpoint;

describe('the place of an S3 storage', () => {
  it('is Amazon where no endpoint is named, with the bucket in the name', () => {
    assert.equal(endpointOf({ bucket: 'b' }), 'https://b.s3.us-east-1.amazonaws.com/');
    assert.equal(endpointOf({ bucket: 'b', region: 'eu-west-3' }), 'https://b.s3.eu-west-3.amazonaws.com/');
    assert.equal(endpointOf({ bucket: 'b', pathStyle: true }), 'https://s3.us-east-1.amazonaws.com/b');
  });

  it('has the bucket in the path of an endpoint of its own, unless told otherwise', () => {
    assert.equal(endpointOf({ bucket: 'b', endpoint: 'http://minio:9000' }), 'http://minio:9000/b');
    assert.equal(endpointOf({ bucket: 'b', endpoint: 'minio.example/deep/' }), 'https://minio.example/deep/b');
    assert.equal(
      endpointOf({ bucket: 'b', endpoint: 'https://s3.example', pathStyle: false }),
      'https://b.s3.example/',
    );
  });

  it('is none without a bucket or with an address that is no web address', () => {
    for (const params of [
      {},
      { bucket: '' },
      { bucket: 'b', endpoint: 'ftp://x' },
      { bucket: 'b', endpoint: 'http://' },
    ])
      assert.equal(endpointOf(params), undefined, JSON.stringify(params));
  });

  it('opens the sealed key', () => {
    assert.equal(s3PlaceOf({ bucket: 'b', secretKey: 'sealed:k' }, secrets)?.secretKey, 'k');
  });
});
