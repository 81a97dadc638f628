/** Which addresses are public: everything that is not in the list below, whatever form it is written in. */
import ipaddr, { type IPv4 as Ipv4, type IPv6 as Ipv6 } from 'ipaddr.js';

const { IPv4, IPv6 } = ipaddr;

/** Private, local, shared, documentation, benchmark, multicast and reserved blocks (RFC 6890 and its registry). */
const PRIVATE_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
].map((block) => IPv4.parseCIDR(block));

/** Global unicast; all else (`::`, `::1`, fc00::/7, fe80::/10, ff00::/8, 64:ff9b:1::/48 …) is not for strangers. */
const GLOBAL_IPV6 = IPv6.parseCIDR('2000::/3');
/** Parts of it that lead elsewhere: Teredo and the other protocol assignments, documentation, 6to4. */
const PRIVATE_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'].map((block) => IPv6.parseCIDR(block));
/** NAT64 (RFC 6052): the last four bytes are the IPv4 address that is reached. */
const NAT64 = IPv6.parseCIDR('64:ff9b::/96');

/** True when the address may be dialled for a stranger; false for what is no address at all. */
export const isPublicAddress = (text: string): boolean => {
  if (!ipaddr.isValid(text)) return false;
  // An IPv4 address in IPv6 clothes (::ffff:a.b.c.d) becomes IPv4.
  const address = ipaddr.process(text);
  return address instanceof IPv4 ? isPublicIpv4(address) : isPublicIpv6(address);
};

const isPublicIpv4 = (address: Ipv4): boolean => !PRIVATE_IPV4.some((block) => address.match(block));

const isPublicIpv6 = (address: Ipv6): boolean => {
  if (address.match(NAT64)) return isPublicIpv4(new IPv4(address.toByteArray().slice(12)));
  return address.match(GLOBAL_IPV6) && !PRIVATE_IPV6.some((block) => address.match(block));
};
