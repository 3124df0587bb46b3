// Tokens of pages of a computed list: the instant and the place at which the next page begins, with a MAC over all that
// the list depends on. A token of another request, asker or snapshot, or one that is too old, is refused.
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { formatInstant, type Instant, instantOf } from '../../engine/index.js';
import type { PageAsked } from '../api/held-schema.js';
import { ASK_LIMITS } from '../limits/http.js';
import { ApiProblem } from '../problem.js';
import type { ActorCall } from './route.js';

export interface PageStart {
  /** The instant of the first page, by which all pages are decided. */
  readonly at: Instant;
  readonly offset: number;
}

export interface PageTokens {
  /** `binding` is all that the list depends on, except the instant. */
  readonly seal: (binding: string, start: PageStart) => string;
  /** Null for any text that is no token of this list, and for one that is too old. */
  readonly open: (token: string, binding: string, now: Instant) => PageStart | null;
}

const FORM = /^(\d{1,16})\.(\d{1,9})\.([A-Za-z0-9_-]{43})$/;

export function makePageTokens(secret: Uint8Array): PageTokens {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'bailiwick page tokens', 32));
  const macOf = (start: string, binding: string): Buffer =>
    createHmac('sha256', key).update(`${start}\n${binding}`).digest();
  return {
    seal: (binding, { at, offset }) => {
      const start = `${String(at)}.${String(offset)}`;
      return `${start}.${macOf(start, binding).toString('base64url')}`;
    },
    open: (token, binding, now) => {
      const [, at = '', offset = '', mac = ''] = FORM.exec(token) ?? [];
      const given = Buffer.from(mac, 'base64url');
      const own = macOf(`${at}.${offset}`, binding);
      if (given.length !== own.length || !timingSafeEqual(given, own) || given.toString('base64url') !== mac)
        return null;
      const first = instantOf(Number(at));
      return now - first > ASK_LIMITS.pageAge ? null : { at: first, offset: Number(offset) };
    },
  };
}

interface Listed {
  readonly page: PageAsked;
  /** All that the list depends on besides the asker, the snapshot and the instant. */
  readonly asked: readonly string[];
}

/** Where the page of a list begins, and how it is cut out of the whole list. */
export interface Paged {
  readonly at: Instant;
  readonly offset: number;
  readonly size: number;
  readonly facts: { readonly at: string; readonly snapshot: string };
  readonly take: <Item>(all: readonly Item[]) => Taken<Item>;
  /** The same if it is cut out already, of a list of so many. */
  readonly taken: <Item>(items: readonly Item[], count: number) => Taken<Item>;
}

interface Taken<Item> {
  readonly items: readonly Item[];
  readonly count: number;
  readonly page: { readonly size: number; readonly next: string | null };
}

/** Throws `query.cursor` for a token of another list, or of this one under another policy. */
export function startOf(tokens: PageTokens, { actor, at: now, pin }: ActorCall, { page, asked }: Listed): Paged {
  const { digest: snapshot } = pin().policy;
  const { size = ASK_LIMITS.defaultPageSize, after = null } = page;
  const binding = bindingOf({ actor, pin }, asked);
  const start = after === null ? { at: now, offset: 0 } : tokens.open(after, binding, now);
  if (start === null) throw new ApiProblem('query.cursor', { errors: [CURSOR] });
  const { at, offset } = start;
  const taken: Paged['taken'] = (items, count) => {
    // It may have ended before its size.
    const end = offset + items.length;
    const next = size > 0 && end < count ? tokens.seal(binding, { at, offset: end }) : null;
    return { items, count, page: { size, next } };
  };
  return {
    at,
    offset,
    size,
    facts: { at: formatInstant(at), snapshot },
    take: (all) => taken(all.slice(offset, offset + size), all.length),
    taken,
  };
}

/** All that a list depends on besides the instant. */
export function bindingOf({ actor, pin }: Pick<ActorCall, 'actor' | 'pin'>, asked: readonly string[]): string {
  const { id, credentialScopes, namespaceRestrictions } = actor;
  return JSON.stringify([pin().policy.digest, id, credentialScopes, namespaceRestrictions, ...asked]);
}

const CURSOR = Object.freeze({
  pointer: '/page/after',
  code: 'query.cursor',
  message: 'is not a token of this list, or the policy has changed since',
} as const);
