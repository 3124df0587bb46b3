// What the processes of one gateway say to one another: the primary, which owns the audit log, the store and the sources, and the
// workers, which answer requests.
import type { TrailState } from '../audit/trail.js';
import type { Ending } from '../compose.js';
import type { Address, Config } from '../config/index.js';
import type { Series } from '../metrics/series.js';
import type { PublicationRule } from '../policy/verify-offer.js';
import type { Findings } from '../shadow/live-comparison.js';
import type { ToFollow } from '../shadow/shadow.js';
import type { Spending } from './rate-ledger.js';

export type ToWorker =
  /** The first message, and the only one of its kind. */
  | ({ readonly kind: 'start' } & WorkerStart)
  /** So many events were taken over since the last time, and the log is in this state. */
  | { readonly kind: 'audit'; readonly taken: number; readonly state: TrailState }
  /** What other workers have spent of the limits that all share. */
  | { readonly kind: 'spent'; readonly spending: Spending }
  /** The source says that this activation is still the one to serve. */
  | { readonly kind: 'confirmed'; readonly generation: number }
  /** The candidate to judge beside the policy in force; null: there is none any more. */
  | { readonly kind: 'shadow'; readonly toFollow: ToFollow | null }
  /** What it has counted and measured is asked for. */
  | { readonly kind: 'series' }
  /** Files are to be read again. */
  | { readonly kind: 'hurry' }
  | { readonly kind: 'end'; readonly ending: Ending };

export interface WorkerStart {
  /** Of all workers of the gateway, from 1. */
  readonly number: number;
  /** With what is due to one worker of what the settings give to the gateway. */
  readonly config: Config;
  readonly rule: PublicationRule | null;
  /** Of the primary: where traces go is not among the settings. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where all of them listen. */
  readonly listen: Address;
  readonly state: TrailState;
  readonly toFollow: ToFollow | null;
}

export type ToPrimary =
  /** It listens: whatever is said before nobody hears. */
  | { readonly kind: 'here' }
  | { readonly kind: 'serving'; readonly generation: number }
  /** It cannot start, and ends. */
  | ({ readonly kind: 'failed' } & WorkerFault)
  /** It decides by this activation from now on. */
  | { readonly kind: 'activated'; readonly generation: number }
  /** Audit events as JSON; and whether something is in the outbox. */
  | { readonly kind: 'events'; readonly events: readonly string[]; readonly isWoken: boolean }
  /** So many events found no room on their way. */
  | { readonly kind: 'lost'; readonly events: number }
  | { readonly kind: 'spent'; readonly spending: Spending }
  /** What it has counted and measured. */
  | { readonly kind: 'series'; readonly series: readonly Series[] }
  /** How a candidate has answered what it answered. */
  | { readonly kind: 'found'; readonly findings: Findings };

export interface WorkerFault {
  readonly code: string;
  readonly message: string;
}
