// The audit log as a gateway opens it: with the snapshot that decides kept beside it, and failures reported with an
// exit status.
import type { AuditTrail } from '../audit/trail.js';
import type { GatewayMode } from '../compose.js';
import { auditFolderOf, type Config } from '../config/index.js';
import type { Database } from '../db/database.js';
import { type Logger, makeIdSource, systemClock } from '../ports.js';
import { EXIT } from './exit-codes.js';
import { CliFailure } from './failure.js';

interface Opening {
  readonly config: Config;
  readonly db: Database;
  readonly log: Logger;
  readonly mode: GatewayMode;
  /** Of the snapshot that decides; null if none does. */
  readonly bytes: Uint8Array | null;
}

export interface OpenAudit {
  readonly trail: AuditTrail;
  /** Keeps a snapshot beside the log, before it decides anything. */
  readonly keep: (digest: string, bytes: Uint8Array) => Promise<void>;
}

/** Throws `CliFailure`: 6 where the folder cannot be used, 8 where the log is damaged or has lost its end. */
export async function openAudit({ config, db, log, mode, bytes }: Opening): Promise<OpenAudit> {
  const [{ openTrail }, { keepSnapshot }, { AuditError }] = await Promise.all([
    import('../audit/trail.js'),
    import('../audit/snapshots.js'),
    import('../audit/audit-error.js'),
  ]);
  const { queries, onFailure } = config.audit;
  const folder = auditFolderOf(config);
  const keep: OpenAudit['keep'] = (digest, kept) => keepSnapshot(folder, digest, kept);
  try {
    const ports = { db, clock: systemClock, nextId: makeIdSource(), log };
    const trail = await openTrail({ ...ports, folder, queries, onFailure, lag: config.limits.auditLag });
    try {
      if (mode.kind === 'serve' && bytes !== null) await keep(mode.policy.digest, bytes);
      return { trail, keep };
    } catch (error) {
      await trail.close();
      throw error;
    }
  } catch (error) {
    if (!(error instanceof AuditError)) throw error;
    const { code, message, help } = error;
    const status = code === 'audit.folder' ? EXIT.precondition : EXIT.integrity;
    throw new CliFailure(status, { code, message }, { help, cause: error });
  }
}
