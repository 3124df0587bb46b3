// Which `Host` a listener answers to. In local mode, and for admins on loopback, it must be a loopback name or address
// with the port, and a browser's `Origin` must be our own. Otherwise a web page could reach the gateway through the
// user's browser or a rebound name.
import { isIP } from 'node:net';
import { ApiProblem } from '../problem.js';
import type { TcpAt } from './listen-at.js';

/** Throws `request.host` for a request that is not addressed to this listener. */
export type HostGuard = (host: string, origin: string | undefined) => void;

/** For a listener on the network: accepts any `Host`, because nothing is decided by it. */
export const anyHost: HostGuard = () => undefined;

/**
 * For admins who connect from elsewhere or through a Unix socket: accepts any `Host`, but never a request from a web
 * page.
 */
export const noPage: HostGuard = (_, origin) => {
  if (origin !== undefined) throw new ApiProblem('request.host');
};

/**
 * For admins who connect from elsewhere, where this listener itself serves a page: accepts requests of that page, whose
 * `Origin` is the `Host` of the request. Under a name that somebody points here, a page of theirs passes, too; but the
 * listener takes nothing that a browser adds by itself, so that page has no credential.
 */
export function ownPage({ kind }: TcpAt): HostGuard {
  const scheme = kind === 'tls' ? 'https' : 'http';
  return (host, origin) => {
    if (origin !== undefined && origin.toLowerCase() !== `${scheme}://${host.toLowerCase()}`)
      throw new ApiProblem('request.host');
  };
}

export function loopbackHost({ kind, host: own, port }: TcpAt): HostGuard {
  const [scheme, usualPort] = kind === 'tls' ? ['https', 443] : ['http', 80];
  const names = new Set(['127.0.0.1', '[::1]', 'localhost', own.includes(':') ? `[${own}]` : own]);
  const authorities = [...names].flatMap((name) => [
    `${name}:${String(port)}`,
    // Clients leave out the default port of the scheme.
    ...(port === usualPort ? [name] : []),
  ]);
  const hosts: ReadonlySet<string> = new Set(authorities);
  const origins: ReadonlySet<string> = new Set(authorities.map((authority) => `${scheme}://${authority}`));
  return (host, origin) => {
    if (!hosts.has(host.toLowerCase())) throw new ApiProblem('request.host');
    if (origin !== undefined && !origins.has(origin.toLowerCase())) throw new ApiProblem('request.host');
  };
}

/** Whether an address (not a name) can be reached from this machine only. */
export function isLoopback(address: string): boolean {
  const v4 = address.replace(/^::ffff:/i, '');
  return isIP(v4) === 4 ? v4.startsWith('127.') : isIP(address) === 6 && /^(?:0*:)*0*1$/.test(address);
}

/** Whether a listen address (a name or an address) is meant for this machine only. */
export function isLoopbackName(host: string): boolean {
  return host.toLowerCase() === 'localhost' || isLoopback(host);
}
