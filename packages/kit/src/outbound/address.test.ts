import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isPublicAddress } from './address.ts';

const PUBLIC = [
  '8.8.8.8',
  '172.32.0.1',
  '100.128.0.1',
  '192.0.1.1',
  '2606:4700::1111',
  '::ffff:8.8.8.8',
  '64:ff9b::808:808',
];

const PRIVATE = [
  ...['0.0.0.0', '0.1.2.3', '10.0.0.1', '100.64.0.1', '100.127.255.255', '127.0.0.1', '127.255.255.255'],
  ...['169.254.169.254', '172.16.0.1', '172.31.255.255', '192.0.0.8', '192.0.2.1', '192.168.1.1', '198.18.0.1'],
  ...['198.19.255.255', '198.51.100.1', '203.0.113.1', '224.0.0.1', '239.1.1.1', '240.0.0.1', '255.255.255.255'],
  ...[
    '::',
    '::1',
    'fc00::1',
    'fd12::1',
    'fe80::1',
    'fe80::1%eth0',
    'febf::1',
    'ff02::1',
    '2001:db8::1',
    '2002:7f00:1::',
  ],
  ...['::ffff:127.0.0.1', '::ffff:7f00:1', '::127.0.0.1', '64:ff9b::7f00:1', '64:ff9b::10.0.0.1', '64:ff9b:1::1'],
  ...['2001::1', '3fff::1', '4000::1', '100::1'],
  ...['', 'example.org', 'localhost', '8.8.8.8.8', '1e100'],
];

describe('an address', () => {
  it('is public when it is in none of the blocks that are not', () => {
    for (const address of PUBLIC) assert.equal(isPublicAddress(address), true, address);
  });

  it('is not public otherwise, however it is written', () => {
    for (const address of PRIVATE) assert.equal(isPublicAddress(address), false, address);
  });
});
