// Rules between settings, beyond the type of each.
import { isIPv6 } from 'node:net';
import { isLoopbackAddress } from '../net/addresses.js';
import { reachedUrlFault } from '../net/outgoing.js';
import type { Config } from './settings.js';
import type { Address } from './value-types.js';

/** A fault of one setting, by its key. */
export interface Contradiction {
  readonly key: string;
  readonly message: string;
  readonly fix: string;
}

export function contradictionsOf(config: Config): readonly Contradiction[] {
  const { listen, adminListen, authentication, snapshot, audit, tls } = config;
  const { oidc, introspection, mtls, anonymous } = authentication;
  const keyOf = (list: string, index: number, name: string): string =>
    `authentication.${list}.${String(index)}.${name}`;
  const issuers = oidc.map(({ issuer }, index) => ({ key: keyOf('oidc', index, 'issuer'), text: issuer }));
  const providers = [
    ...oidc.map(({ provider }, index) => ({ key: keyOf('oidc', index, 'provider'), text: provider })),
    ...introspection.map(({ provider }, index) => ({ key: keyOf('introspection', index, 'provider'), text: provider })),
    ...(mtls === null ? [] : [{ key: 'authentication.mtls.provider', text: mtls.provider }]),
  ];
  return [
    ...(adminListen === null || !isTakenBy(listen, adminListen)
      ? []
      : [
          {
            key: 'adminListen',
            message: 'has the port of `listen`, which takes it for the API',
            fix: 'give `listen` and `adminListen` different ports, or set `adminListen: none`',
          },
        ]),
    ...(snapshot.softAge === null || snapshot.hardAge === null || snapshot.softAge <= snapshot.hardAge
      ? []
      : [
          {
            key: 'snapshot.softAge',
            message: 'is above `snapshot.hardAge`, so nothing would warn before that',
            fix: 'set `snapshot.softAge` below `snapshot.hardAge`',
          },
        ]),
    ...repeated(issuers, 'give each issuer one entry'),
    ...oidc.flatMap(({ issuer, jwksUrl }, index) => {
      const fault = jwksUrl === null ? reachedUrlFault(issuer, 'private') : null;
      const fix = 'or set `jwksUrl`, so that its keys need no discovery';
      return fault === null ? [] : [{ key: keyOf('oidc', index, 'issuer'), message: fault, fix }];
    }),
    // One provider has one issuer: otherwise either could vouch for the other's identities.
    ...repeated(providers, 'give each its own provider, and declare it in the policy'),
    ...providers
      .filter(({ text }) => text === anonymous?.identity.provider)
      .map(({ key }) => ({
        key: 'authentication.anonymous.identity',
        message: `has the provider of \`${key}\`, which could vouch for it too`,
        fix: 'declare a provider of its own in the policy, such as `public: {}`',
      })),
    ...introspection.flatMap(({ tokenPrefix }, index) => {
      const others = introspection.filter((_, other) => other !== index).map((other) => other.tokenPrefix ?? '');
      if (!others.some((other) => (tokenPrefix ?? '').startsWith(other))) return [];
      const message = 'does not tell which endpoint to ask about a token';
      const fix = 'give each endpoint a prefix that no other one begins with';
      return [{ key: keyOf('introspection', index, 'tokenPrefix'), message, fix }];
    }),
    ...(audit.witnesses.length === 0 || audit.signingKey !== null
      ? []
      : [
          {
            key: 'audit.witnesses',
            message: 'needs `audit.signingKey`, which is not set',
            fix: 'name the key that signs checkpoints of the log',
          },
        ]),
    ...repeated(
      audit.witnesses.map(({ key }, index) => ({ key: `audit.witnesses.${String(index)}.key`, text: key })),
      'name each witness once',
    ),
    ...(mtls === null || tls.certFile !== null
      ? []
      : [
          {
            key: 'authentication.mtls.caFile',
            message: 'needs `tls.certFile`, which is not set',
            fix: 'set both or none',
          },
        ]),
  ];
}

/** Where other names than `localhost` lead is known when they are looked up. */
function isTakenBy(one: Address, other: Address): boolean {
  if (one.port === 0 || one.port !== other.port) return false;
  const hosts = [one, other].map(({ host }) => plainHost(host));
  // Also takes the port of every IPv4 address.
  if (hosts[0] === hosts[1] || hosts.includes('::')) return true;
  if (hosts.includes('0.0.0.0')) return !hosts.some(isIPv6);
  return hosts.includes('localhost') && hosts.some(isLoopbackAddress);
}

/** An IPv6 address can be written in many ways. */
function plainHost(host: string): string {
  return isIPv6(host) ? new URL(`http://[${host}]`).hostname.slice(1, -1) : host.toLowerCase();
}

function repeated(
  values: readonly { readonly key: string; readonly text: string }[],
  fix: string,
): readonly Contradiction[] {
  return values.flatMap(({ key, text }, index) => {
    const first = values.findIndex((one) => one.text === text);
    const other = values[first]?.key;
    return first === index || other === undefined ? [] : [{ key, message: `is that of \`${other}\``, fix }];
  });
}
