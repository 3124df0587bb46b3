// The texts of single settings, read to values: the same for flags, environment and file. No message repeats the text, which
// may hold a password.
import { resolve } from 'node:path';

export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly message: string };

/** Where to listen; port 0 takes any free one. */
export interface Address {
  /** A name, an IPv4 or an IPv6 address without brackets. */
  readonly host: string;
  readonly port: number;
}

/** An absolute path; relative ones start at `base`. */
export function parsePath(text: string, base: string): Parsed<string> {
  if (text === '') return fault('is empty');
  if (text.includes('\0')) return fault('is not a path');
  return { ok: true, value: resolve(base, text) };
}

/** `host:port`, `[::1]:port`; both parts are needed, so that nobody listens on every address by leaving one out. */
export function parseAddress(text: string): Parsed<Address> {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (host === undefined || port > 65_535) return fault('must be `host:port`, as in `127.0.0.1:8080` or `[::1]:8080`');
  return { ok: true, value: Object.freeze({ host, port }) };
}

/** A PostgreSQL connection URL, kept as it is. */
export function parseDatabaseUrl(text: string): Parsed<string> {
  if (text === '') return fault('is empty: leave it unset for the embedded store');
  if (!/^postgres(?:ql)?:\/\//.test(text) || !URL.canParse(text)) {
    return fault('is not a PostgreSQL URL: it must look like `postgres://user:password@host:5432/database`');
  }
  return { ok: true, value: text };
}

const UNITS: ReadonlyMap<string, number> = new Map([
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

/** `30s`, `15m`, `24h`, `90d`, in milliseconds. */
export function parseDuration(text: string): Parsed<number> {
  const match = /^([1-9]\d{0,8})([smhd])$/.exec(text);
  const unit = UNITS.get(match?.[2] ?? '');
  if (unit === undefined) return fault('must be a duration such as `30s`, `15m`, `24h` or `90d`');
  return { ok: true, value: Number(match?.[1]) * unit };
}

function fault(message: string): { readonly ok: false; readonly message: string } {
  return { ok: false, message };
}
