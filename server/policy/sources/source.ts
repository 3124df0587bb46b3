// Where policies come from. A source only offers them: it knows neither which policy is in force nor who must sign one,
// and nothing that it says is trusted. Its follower (../follow-source.ts) verifies each offer.
import type { PolicySource } from '../active/active-policy.js';
import type { StatementText } from '../../signing/statement-file.js';

/** A policy that could replace the one in force. */
export interface Offer {
  readonly content: Content;
  /** Only read if a signature is required. */
  readonly statement: StatementText;
  /** Where it was found, for log and status. */
  readonly from: PolicySource;
  /** Releases what the offer occupies, once it has been opened or refused. */
  readonly release?: () => Promise<void>;
  /** Called when the offer is in force. */
  readonly onTaken?: () => void;
}

/** What to open. A path is absolute, and is read once, on the thread that verifies it. */
export type Content =
  | { readonly kind: 'folder'; readonly path: string }
  /** A snapshot. If a digest is given, it must match. */
  | { readonly kind: 'file'; readonly path: string; readonly digest?: string }
  /** A snapshot that arrived in parts. Opening it takes ownership of them. */
  | { readonly kind: 'parts'; readonly parts: readonly Uint8Array<ArrayBuffer>[]; readonly digest?: string };

export type LookResult =
  | { readonly kind: 'offer'; readonly offer: Offer }
  /** It offers the same as before, which confirms the policy in force. */
  | { readonly kind: 'same' }
  /** Somebody is still writing. */
  | { readonly kind: 'unsettled' };

export interface Source {
  /** Fields of log lines about this source. */
  readonly facts: Readonly<Record<string, string>>;
  /**
   * `now` offers whatever is there, even if it was offered before. `signal` is aborted when nobody waits for the
   * answer any more. `heard` is called whenever a disk has answered. Throws `PolicyRefused` if it has nothing to offer, or
   * cannot be reached.
   */
  readonly look: (why: Why, signal: AbortSignal, heard?: () => void) => Promise<LookResult>;
}

export type Why = 'poll' | 'now';
