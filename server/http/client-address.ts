// The address that a request comes from. It is the address of the connection, unless that is a proxy which the settings
// name. Then it is the last address in `X-Forwarded-For` that is not such a proxy: anybody could have written the
// entries before it.
import { BlockList, isIP } from 'node:net';
import type { ConnectionLimits } from './connection-table.js';

/** `forwarded` is the value of `X-Forwarded-For`. Several such headers are joined. */
export type ClientAddress = (peer: string | null, forwarded: string | undefined) => string | null;

/** The `proxies` are addresses, or networks such as `10.0.0.0/8`. Without any, `X-Forwarded-For` is ignored. */
export function makeClientAddress(proxies: readonly string[]): ClientAddress {
  if (proxies.length === 0) return (peer) => peer;
  const isTrusted = trustOf(proxies);
  return (peer, forwarded) => {
    if (peer === null || forwarded === undefined) return peer;
    let last = plainAddress(peer);
    if (last === null || !isTrusted(last)) return peer;
    for (const part of forwarded.split(',').reverse()) {
      const address = plainAddress(part.trim());
      // An entry that is not an address does not count, nor does anything before it.
      if (address === null) return last;
      last = address;
      if (!isTrusted(address)) return address;
    }
    return last;
  };
}

/** How many connections a listener takes, by the settings. */
export function connectionLimits({ limits, trustProxy }: ConnectionSettings): ConnectionLimits {
  return { ...limits.connections, isProxy: proxiesOf(trustProxy ?? []) };
}

/** Whether a connection comes from one of the proxies. */
export function proxiesOf(proxies: readonly string[]): (peer: string) => boolean {
  const isTrusted = trustOf(proxies);
  return (peer) => {
    const address = plainAddress(peer);
    return address !== null && isTrusted(address);
  };
}

interface ConnectionSettings {
  readonly limits: { readonly connections: Pick<ConnectionLimits, 'total' | 'perAddress'> };
  readonly trustProxy: readonly string[] | null;
}

function trustOf(proxies: readonly string[]): (address: string) => boolean {
  const trusted = new BlockList();
  for (const proxy of proxies) addNetwork(trusted, proxy);
  return (address) => trusted.check(address, familyOf(address));
}

function addNetwork(list: BlockList, text: string): void {
  const [address = '', prefix] = text.split('/');
  if (prefix === undefined) list.addAddress(address, familyOf(address));
  else list.addSubnet(address, Number(prefix), familyOf(address));
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6';
}

/**
 * Removes the port, brackets and the zone of a link, and turns IPv4 in IPv6 into IPv4. Null for anything that is not an
 * address.
 */
function plainAddress(text: string): string | null {
  const bare =
    /^\[([^\]]+)\](?::\d{1,5})?$/.exec(text)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d{1,5}$/.exec(text)?.[1] ?? text;
  const address = (bare.split('%')[0] ?? '').replace(/^::ffff:(?=\d+\.)/i, '');
  return isIP(address) === 0 ? null : address;
}
