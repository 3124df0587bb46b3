// Which addresses a request of the gateway may go to, whatever name leads there. A name is judged by the addresses that
// it has at the moment of the connection, so nobody can change them in between.
import { BlockList, isIP } from 'node:net';

/**
 * `public`: no private networks. `private`: private networks, too. Neither includes link-local addresses, where clouds
 * keep their secrets.
 */
export type NetworkReach = 'public' | 'private';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

const PRIVATE = new BlockList();
for (const [network, prefix] of [
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const)
  PRIVATE.addSubnet(network, prefix, 'ipv4');
PRIVATE.addSubnet('fc00::', 7, 'ipv6');

const NEVER = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['169.254.0.0', 16],
  // Documentation, benchmarks, protocol assignments; multicast, reserved and broadcast.
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const)
  NEVER.addSubnet(network, prefix, 'ipv4');
// Metadata services of clouds that are not link-local.
NEVER.addAddress('100.100.100.200', 'ipv4');
NEVER.addAddress('fd00:ec2::254', 'ipv6');
for (const [network, prefix] of [
  ['::', 128],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
  ['2001:db8::', 32],
  // Addresses that carry an IPv4 address inside. They would be judged as something other than where they lead.
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['2001::', 32],
  ['2002::', 16],
] as const)
  NEVER.addSubnet(network, prefix, 'ipv6');

/** Whether a host names this machine: `localhost`, or a loopback address. */
export function isLoopbackHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '');
  return host === 'localhost' || isLoopbackAddress(host);
}

export function isLoopbackAddress(address: string): boolean {
  return isIn(LOOPBACK, address);
}

/**
 * Why an address may not be reached, as the end of a sentence; null if it may be. This machine is reached only by its
 * own names.
 */
export function reachFault(address: string, reach: NetworkReach): string | null {
  if (isIP(address) === 0 || isIn(NEVER, address)) return 'leads to an address that is reserved, or is not an address';
  if (isLoopbackAddress(address)) return 'leads to this machine under a name of another one';
  if (reach === 'public' && isIn(PRIVATE, address)) return 'leads to a private network, which is not allowed';
  return null;
}

/** Where the content from an address may lead: nobody outside may lead the gateway into a private network. */
export function reachFrom(address: string): NetworkReach {
  return reachFault(address, 'public') === null ? 'public' : 'private';
}

function isIn(list: BlockList, address: string): boolean {
  const version = isIP(address);
  return version !== 0 && list.check(address, version === 4 ? 'ipv4' : 'ipv6');
}
