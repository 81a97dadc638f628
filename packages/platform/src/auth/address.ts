/** The network a client address stands for: an IPv4 address, or the /64 of an IPv6 one, since a household has all of it. */
import { isIPv4, isIPv6 } from 'node:net';

const GROUPS_OF_NETWORK = 4;
const ALL_GROUPS = 8;

/** One spelling for every way to write an address. What is no address stays as it is. */
export const networkOf = (address: string): string => {
  const bare = address.split('%')[0] ?? address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)?.[1];
  if (mapped !== undefined && isIPv4(mapped)) return mapped;
  if (!isIPv6(bare)) return bare;
  const [head = '', tail] = bare.toLowerCase().split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : Math.max(0, ALL_GROUPS - left.length - right.length);
  const groups = [...left, ...Array<string>(zeros).fill('0'), ...right].map((group) => group.replace(/^0+(?=.)/, ''));
  return `${groups.slice(0, GROUPS_OF_NETWORK).join(':')}::/64`;
};
