import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, it } from 'node:test';
import { deliveryHeaders } from './signature.ts';

const DELIVERY = { id: 'dlv_1', attempt: 2, event: 'job.succeeded', timestampSec: 1_800_000_000, body: '{"a":"ä"}' };
const hmac = (key: string | Buffer, text: string, encoding: 'hex' | 'base64'): string =>
  createHmac('sha256', key).update(text).digest(encoding);

describe('the signature of a delivery', () => {
  it('is over its time and its body; by the Standard Webhooks rules over its id too', () => {
    const headers = deliveryHeaders(DELIVERY, ['a secret']);
    assert.equal(headers['x-service-timestamp'], '1800000000');
    assert.equal(headers['x-service-signature'], `sha256=${hmac('a secret', `1800000000.${DELIVERY.body}`, 'hex')}`);
    assert.equal(headers['webhook-signature'], `v1,${hmac('a secret', `dlv_1.1800000000.${DELIVERY.body}`, 'base64')}`);
    assert.deepEqual(
      [headers['webhook-id'], headers['x-service-delivery'], headers['x-service-attempt'], headers['x-service-event']],
      ['dlv_1', 'dlv_1', '2', 'job.succeeded'],
    );
  });

  it('comes from each secret during a rotation, the first one’s in our own header', () => {
    const standard = `whsec_${Buffer.from('the key itself').toString('base64')}`;
    const headers = deliveryHeaders(DELIVERY, [standard, 'older']);
    const signed = `dlv_1.1800000000.${DELIVERY.body}`;
    assert.equal(
      headers['webhook-signature'],
      `v1,${hmac('the key itself', signed, 'base64')} v1,${hmac('older', signed, 'base64')}`,
    );
    assert.equal(headers['x-service-signature'], `sha256=${hmac(standard, `1800000000.${DELIVERY.body}`, 'hex')}`);
  });

  it('is not there without a secret', () => {
    const headers = deliveryHeaders(DELIVERY, []);
    assert.deepEqual([headers['x-service-signature'], headers['webhook-signature']], [undefined, undefined]);
  });
});
