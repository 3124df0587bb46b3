// A snapshot at a URL, with its statement beside it. It is fetched when it has changed, bounded in bytes and time, and
// only from where the settings lead. "Not modified" is the server's word that this is still what it has.
import { createHash } from 'node:crypto';
import { STATEMENT_LIMITS } from '../../../engine/index.js';
import { TLS_LIMITS } from '../../limits/http.js';
import { POLICY_LIMITS, SOURCE_LIMITS } from '../../limits/policy.js';
import { OutgoingError, receive } from '../../net/outgoing.js';
import type { NetworkReach } from '../../net/addresses.js';
import { statementPathOf } from '../../signing/statement-file.js';
import { readSmallFile, SmallFileError } from '../../lib/small-file.js';
import { refusal } from '../policy-fault.js';
import { makeParts, type Parts } from '../../lib/parts.js';
import type { LookResult, Source } from './source.js';

export interface UrlSourceOptions {
  /** A URL that passes `urlFault`. */
  readonly url: string;
  /** Authorities for the server's certificate; null for those that Node trusts. Read with each look. */
  readonly caFile: string | null;
  readonly reach: NetworkReach;
  /** Whether a signature is required, so that there must be a statement. */
  readonly statements: 'required' | 'ignored';
  /**
   * The time limit of one look, and how long the server may say nothing, in milliseconds; `maxBytes` is the limit of a
   * snapshot.
   */
  readonly timeout?: number;
  readonly silence?: number;
  readonly maxBytes?: number;
}

/** What identifies the content of a URL, to recognize it again. */
interface Known {
  readonly etag: string | null;
  readonly digest: string;
}

/** `parts` is null if there is no such document. */
type Fetched =
  { readonly kind: 'same' } | { readonly kind: 'new'; readonly parts: Parts | null; readonly known: Known };

interface Seen {
  readonly snapshot: Known;
  readonly statement: Known;
  /** Null if there is no statement. */
  readonly text: Uint8Array | null;
}

export function makeUrlSource(options: UrlSourceOptions): Source {
  const { url, statements, maxBytes = POLICY_LIMITS.snapshotBytes } = options;
  // The requested address may contain a credential.
  const { origin, pathname } = new URL(url);
  const shown = `${origin}${pathname}`;
  const beside = besideOf(url);
  let seen: Seen | null = null;
  const look = async (known: Seen | null, fetch: Fetch): Promise<LookResult> => {
    const statement =
      statements === 'ignored' ? SAME : await fetch(beside, known?.statement ?? null, STATEMENT_LIMITS.fileBytes);
    let snapshot = await fetch(url, known?.snapshot ?? null, maxBytes);
    if (snapshot.kind === 'same' && statement.kind === 'same') return { kind: 'same' };
    // If only the statement is new, the snapshot must be opened all the same.
    if (snapshot.kind === 'same') snapshot = await fetch(url, null, maxBytes);
    if (snapshot.kind === 'same' || snapshot.parts === null) {
      throw refusal('source.missing', 'there is no document at the address');
    }
    const isNew = statement.kind === 'new';
    const text = isNew ? (statement.parts?.whole() ?? null) : (known?.text ?? null);
    seen = { snapshot: snapshot.known, statement: isNew ? statement.known : (known?.statement ?? NOTHING), text };
    const content = { kind: 'parts', parts: snapshot.parts.give() } as const;
    const offered = { shown: statementPathOf(shown), read: () => Promise.resolve(text) };
    return { kind: 'offer', offer: { content, statement: offered, from: { kind: 'url', url: shown } } };
  };
  return {
    facts: { url: shown },
    look: async (why, signal) => {
      try {
        return await look(why === 'poll' ? seen : null, await fetchOf(options, signal));
      } catch (error) {
        throw refusalOf(error);
      }
    },
  };
}

const SAME: Fetched = { kind: 'same' };

type Fetch = (url: string, known: Known | null, maxBytes: number) => Promise<Fetched>;

const [OK, NOT_MODIFIED, NOT_FOUND] = [200, 304, 404];

/** All requests of one look share one certificate file and one deadline. */
async function fetchOf(
  { caFile, reach, timeout = SOURCE_LIMITS.lookTime, silence = SOURCE_LIMITS.silence }: UrlSourceOptions,
  signal: AbortSignal,
): Promise<Fetch> {
  const ca = caFile === null ? {} : { ca: (await readSmallFile(caFile, TLS_LIMITS.fileBytes)).bytes };
  const end = performance.now() + timeout;
  return async (url, known, maxBytes) => {
    const etag = known?.etag ?? null;
    const headers = etag === null ? {} : { 'If-None-Match': etag };
    const [parts, hash] = [makeParts(SOURCE_LIMITS.partBytes), createHash('sha256')];
    const left = Math.max(1, Math.floor(end - performance.now()));
    const answer = await receive({ url, headers, maxBytes, timeout: left, silence, signal, reach, ...ca }, (chunk) => {
      parts.add(chunk);
      hash.update(chunk);
    });
    if (answer.status === NOT_MODIFIED && etag !== null) return SAME;
    if (answer.status === NOT_FOUND) {
      return known?.digest === NOTHING.digest ? SAME : { kind: 'new', parts: null, known: NOTHING };
    }
    if (answer.status !== OK) throw new OutgoingError(`answers with status ${String(answer.status)}`);
    const digest = hash.digest('hex');
    if (digest === known?.digest) return SAME;
    return { kind: 'new', parts, known: { etag: answer.headers.etag ?? null, digest } };
  };
}

const NOTHING: Known = Object.freeze({ etag: null, digest: 'none' });

function besideOf(text: string): string {
  const url = new URL(text);
  url.pathname = statementPathOf(url.pathname);
  return url.href;
}

function refusalOf(error: unknown): unknown {
  if (error instanceof SmallFileError)
    return refusal('source.unreadable', `the file of \`snapshot.source.caFile\` ${error.message}`);
  return error instanceof OutgoingError ? refusal('source.unreachable', `the address ${error.message}`) : error;
}
