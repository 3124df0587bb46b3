// Where policies come from. A source only offers them: it knows neither which policy is in force nor who has to have
// signed one, and nothing that it says is trusted. Its follower (../follow-source.ts) verifies each offer.
import type { PolicySource } from '../active-policy.js';
import type { StatementText } from '../../signing/statement-file.js';
import type { PolicyFault } from '../policy-fault.js';

/** A policy that could take the place of the one in force. */
export interface Offer {
  readonly content: Content;
  /** Read only where somebody has to have signed. */
  readonly statement: StatementText;
  /** Where it was found, for log and status. */
  readonly from: PolicySource;
  /** Gives back what it occupies, once it has been opened or refused. */
  readonly release?: () => Promise<void>;
  /** Told that it is in force. */
  readonly onTaken?: () => void;
}

/** What is to be opened; a path is absolute, and read once, in the thread that verifies it. */
export type Content =
  | { readonly kind: 'folder'; readonly path: string }
  /** A snapshot; with a digest it has to be the one of that digest. */
  | { readonly kind: 'file'; readonly path: string; readonly digest?: string }
  /** A snapshot that arrived in parts, which belong to whoever opens it. */
  | { readonly kind: 'parts'; readonly parts: readonly Uint8Array<ArrayBuffer>[]; readonly digest?: string };

export type Found =
  | { readonly kind: 'offer'; readonly offer: Offer }
  /** It offers the same as before, which is thereby confirmed. */
  | { readonly kind: 'same' }
  /** Somebody is still writing. */
  | { readonly kind: 'unsettled' }
  /** It has nothing to offer, or cannot be asked. */
  | { readonly kind: 'fault'; readonly fault: PolicyFault };

export interface Source {
  /** What log lines about it have. */
  readonly facts: Readonly<Record<string, string>>;
  /** `hurry` offers whatever is there, also what was offered before. `signal`: nobody waits for the answer any more. */
  readonly look: (why: Why, signal: AbortSignal) => Promise<Found>;
}

export type Why = 'poll' | 'hurry';
