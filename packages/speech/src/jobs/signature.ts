/**
 * Signatures of a delivery: our own header, and Standard Webhooks (github.com/standard-webhooks/standard-webhooks,
 * spec 1.0), which the verifiers of common SDKs check unchanged.
 */
import { createHmac } from 'node:crypto';

export type Delivery = {
  /** The same for every attempt. */
  readonly id: string;
  readonly attempt: number;
  readonly event: string;
  readonly timestampSec: number;
  readonly body: string;
};

const STANDARD_PREFIX = 'whsec_';

/** The key of Standard Webhooks: base64 after `whsec_`, else the secret's own bytes. */
const keyOf = (secret: string): Buffer =>
  secret.startsWith(STANDARD_PREFIX)
    ? Buffer.from(secret.slice(STANDARD_PREFIX.length), 'base64')
    : Buffer.from(secret);

const hmac = (key: Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** Headers of one attempt. Several secrets (during a rotation) give several signatures; none gives no signature. */
export const deliveryHeaders = (delivery: Delivery, secrets: readonly string[]): Record<string, string> => {
  const timestamp = String(delivery.timestampSec);
  const [first] = secrets;
  return {
    'content-type': 'application/json',
    'user-agent': 'parley-webhook/1',
    'x-service-event': delivery.event,
    'x-service-delivery': delivery.id,
    'x-service-attempt': String(delivery.attempt),
    'x-service-timestamp': timestamp,
    'webhook-id': delivery.id,
    'webhook-timestamp': timestamp,
    ...(first === undefined
      ? {}
      : {
          'x-service-signature': `sha256=${hmac(Buffer.from(first), `${timestamp}.${delivery.body}`).toString('hex')}`,
          'webhook-signature': secrets
            .map(
              (secret) =>
                `v1,${hmac(keyOf(secret), `${delivery.id}.${timestamp}.${delivery.body}`).toString('base64')}`,
            )
            .join(' '),
        }),
  };
};
