// What the files of `evidence` pass to each other.
import type { StoredEvent } from '../audit/event-schema.js';
import type { SettingFlags } from '../config/index.js';
import type { Format } from './options.js';

export type EvidenceFlags = SettingFlags & {
  readonly output: string;
  readonly format: Format;
  readonly log?: string;
  readonly archive?: string;
  readonly statement?: string;
  readonly statementKeyring?: string;
  readonly attestation?: string;
  readonly attestationKeyring?: string;
  readonly base?: string;
  readonly checkpoint?: string;
  readonly publicKey?: string;
  readonly key?: string;
};

/** What goes into the ZIP file, and what could not be found. */
export interface Bundle {
  readonly add: (name: string, bytes: Uint8Array | string) => void;
  readonly missing: (what: string) => void;
}

/** When a snapshot was put in force, by the audit log. */
export interface Activations {
  /** Each time that it began to decide, in the order of time. */
  readonly events: readonly StoredEvent[];
  /** Their lines, as in the log. */
  readonly lines: readonly string[];
  /** The digest of what decided before the first of them; null if nothing is known of it. */
  readonly before: string | null;
}
