// What the processes of one gateway say to one another. The primary owns the audit log, the store and the sources; the
// workers answer requests.
import type { TrailState } from '../audit/trail.js';
import type { Ending } from '../compose.js';
import type { Address, Config } from '../config/index.js';
import type { TcpAt } from '../http/listen-at.js';
import type { ReadPair } from '../http/tls-files.js';
import type { Series } from '../metrics/series.js';
import type { PublicationRule } from '../policy/open/verify-offer.js';
import type { Findings } from '../shadow/live-comparison.js';
import type { ToFollow } from '../shadow/shadow.js';
import type { Spending } from './rate-ledger.js';

export type ToWorker =
  /** The first message, sent only once. */
  | ({ readonly kind: 'start' } & WorkerStart)
  /**
   * How many events the primary has got since the last message, how many more are on the disk, and the state of the log.
   */
  | { readonly kind: 'audit'; readonly got: number; readonly written: number; readonly state: TrailState }
  /** What other workers have spent of the limits that all share. */
  | { readonly kind: 'spent'; readonly spending: Spending }
  /** The source says that this activation is still the one to serve. */
  | { readonly kind: 'confirmed'; readonly generation: number }
  /** The candidate to judge beside the policy in force; null if there is none any more. */
  | { readonly kind: 'shadow'; readonly toFollow: ToFollow | null }
  /** Another worker has found the disk of the store full. */
  | { readonly kind: 'full'; readonly reason: string }
  /** Asks for what the worker has counted and measured. */
  | { readonly kind: 'series' }
  /** Tells the worker to read its files again. */
  | { readonly kind: 'now' }
  | { readonly kind: 'end'; readonly ending: Ending };

export interface WorkerStart {
  /** The number of this worker, counted from 1. */
  readonly number: number;
  /** The settings, with each limit of the gateway reduced to one worker's share. */
  readonly config: Config;
  readonly rule: PublicationRule | null;
  /** The primary's environment, because the settings do not say where traces go. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where all of them listen. */
  readonly listen: Address;
  /** The certificate and key in use, which their files need not have any more; null without TLS. */
  readonly certificate: ReadPair | null;
  readonly state: TrailState;
  readonly toFollow: ToFollow | null;
  /** The activation in force, and how many milliseconds ago its source confirmed it. */
  readonly confirmed: { readonly generation: number; readonly age: number };
  /** What the other workers, and those before it, have spent of the limits that all share. */
  readonly spent: Spending;
}

export type ToPrimary =
  /** The worker listens from now on. Nobody hears a message sent before. */
  | { readonly kind: 'here' }
  /** Its event loop runs. */
  | { readonly kind: 'alive' }
  | { readonly kind: 'serving'; readonly generation: number; readonly at: TcpAt }
  /** The worker cannot start and ends. */
  | ({ readonly kind: 'failed' } & WorkerFault)
  /** The worker decides by this activation from now on. */
  | { readonly kind: 'activated'; readonly generation: number }
  /** Audit events as JSON; and whether something is in the outbox. */
  | { readonly kind: 'events'; readonly events: readonly string[]; readonly isWoken: boolean }
  /** How many events were lost because there was no room for them. */
  | { readonly kind: 'lost'; readonly events: number }
  /** A write of the worker has found the disk of the store full. */
  | { readonly kind: 'full'; readonly reason: string }
  | { readonly kind: 'spent'; readonly spending: Spending }
  /** What it has counted and measured. */
  | { readonly kind: 'series'; readonly series: readonly Series[] }
  /** How the candidate would have answered this worker's requests. */
  | { readonly kind: 'found'; readonly findings: Findings };

export interface WorkerFault {
  readonly code: string;
  readonly message: string;
}
