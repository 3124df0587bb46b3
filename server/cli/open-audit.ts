// Opens the audit log for a gateway: the snapshot that decides is kept beside it, and failures are reported with an
// exit status.
import { AuditError } from '../audit/audit-error.js';
import type { CheckpointSettings } from '../audit/keep-checkpoints.js';
import type { LogWitness } from '../audit/witness.js';
import { eventPolicy } from '../audit/provenance.js';
import { keepSnapshots, type SnapshotKeeper } from '../audit/keep-snapshots.js';
import { folderFault } from '../audit/own-log.js';
import { keepSnapshot } from '../audit/snapshots.js';
import { type AuditTrail, openTrail } from '../audit/trail.js';
import { auditFolderOf, type Config } from '../config/index.js';
import type { Database } from '../db/database.js';
import { closeAfter } from '../lib/close-after.js';
import { type Logger, makeIdSource, systemClock } from '../lib/ports.js';
import type { FollowOptions } from '../policy/active/follow-source.js';
import type { Started } from '../policy/active/start-policy.js';
import { readSigningKey } from '../signing/key-file.js';
import { parseWitnessKey } from '../signing/signed-note.js';
import { auditFailure, usage } from './exit.js';
import { escapeText } from './render/escape.js';
import { asFailure } from './statement-flags.js';

interface Opening {
  readonly config: Config;
  readonly db: Database;
  readonly log: Logger;
  /** The policy that decides; null if no snapshot does. */
  readonly start: Pick<Started, 'candidate' | 'bytes'> | null;
}

export interface OpenAudit {
  readonly trail: AuditTrail;
  /** Keeps what decides from now on beside the log. */
  readonly keeper: SnapshotKeeper;
}

/** Records what a source offered that was not taken. */
export function refusalsTo(trail: Pick<AuditTrail, 'recordOwn'>): NonNullable<FollowOptions['onRefused']> {
  return ({ from }, { code: fault, message: reason }) => {
    trail.recordOwn('policy.refuse', { outcome: 'failed', policy: eventPolicy({ source: from, fault, reason }) });
  };
}

/** Throws `CliFailure`: 6 if the folder cannot be used, 8 if the log is damaged or has lost its end. */
export async function openAudit({ config, db, log, start }: Opening): Promise<OpenAudit> {
  const { queries, records, onFailure } = config.audit;
  const folder = auditFolderOf(config);
  try {
    const checkpoints = await checkpointsOf(config);
    const ports = { db, clock: systemClock, nextId: makeIdSource(), log };
    const held = { folder, queries, records, onFailure };
    const trail = await openTrail({ ...ports, ...held, lag: config.limits.auditLag, checkpoints });
    const write = (digest: string, bytes: Uint8Array): Promise<void> => keepSnapshot(folder, digest, bytes);
    const keeper = keepSnapshots(write, log);
    if (start !== null) {
      const { digest } = start.candidate.policy;
      // Where queries are answered all the same, it is tried again as while the gateway runs.
      const keep = onFailure === 'continue' ? keeper.keep : write;
      await keep(digest, start.bytes).catch((error: unknown) =>
        closeAfter(folderFault(folder, error), () => trail.close()),
      );
    }
    return { trail, keeper };
  } catch (error) {
    throw error instanceof AuditError ? auditFailure(error) : error;
  }
}

/** Null unless the settings name a key. Throws `CliFailure` (2). */
async function checkpointsOf({ audit }: Config): Promise<CheckpointSettings | null> {
  const { signingKey, witnesses } = audit;
  if (signingKey === null) return null;
  const key = await asFailure(readSigningKey({ path: signingKey, shown: signingKey }));
  return { key, witnesses: witnesses.map(readWitness) };
}

/** Throws `CliFailure` (2). */
export function readWitness({ url, key: text }: { readonly url: string; readonly key: string }): LogWitness {
  const key = parseWitnessKey(text);
  if (key !== null) return { url, key };
  throw usage(
    `\`audit.witnesses\`: the key of ${escapeText(url)} is not the verifier key of a witness with Ed25519 cosignatures`,
    'copy the line as the witness publishes it; its key id fits no other name or key',
  );
}
