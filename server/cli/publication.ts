// What `serve` asks of a snapshot before it is served: that it was published. While it runs, the same is asked of what follows.
import type { Policy, PublicationStatement } from '../../engine/index.js';
import type { Config } from '../config/index.js';
import type { Database } from '../db/database.js';
import type { Candidate } from '../policy/active-policy.js';
import { isRollback, rollbackText, storedActivations } from '../policy/activations.js';
import type { PublicationRule } from '../policy/verify-offer.js';
import { systemClock } from '../ports.js';
import { readKeyring } from '../signing/keyring-file.js';
import { statementBeside } from '../signing/statement-file.js';
import { verifyPublication } from '../policy/verify-publication.js';
import { statusOfFaults } from './commands/verify.js';
import { EXIT } from './exit-codes.js';
import { CliFailure } from './failure.js';
import { asFailure } from './statement-flags.js';

/** Null if nobody has to have signed. */
export function publicationRule({ snapshot }: Config): PublicationRule | null {
  const { requireSignature, keyringFile, environment } = snapshot;
  if (!requireSignature || keyringFile === null) return null;
  return { keyring: { path: keyringFile, shown: keyringFile }, environment };
}

interface Opened {
  readonly policy: Policy;
  readonly source: 'folder' | 'file' | 'stdin';
  /** As it was typed, and absolute. */
  readonly shown: string;
  readonly path: string;
}

/** The statement under which it was published; null if none is asked for. Throws `CliFailure` 2, 6, 8 or 9, as `verify` does. */
export async function requirePublication(opened: Opened, config: Config): Promise<PublicationStatement | null> {
  const rule = publicationRule(config);
  if (rule === null) return null;
  const { policy, source, shown, path } = opened;
  if (source !== 'file') {
    throw new CliFailure(
      EXIT.usage,
      {
        code: 'serve.signature',
        message: `a signature is required, and ${source === 'folder' ? `\`${shown}\` is a folder` : 'a snapshot on stdin has no statement beside it'}`,
      },
      { help: 'serve a snapshot file that was signed: `bailiwick compile`, then `bailiwick sign`' },
    );
  }
  const keyring = await asFailure(readKeyring(rule.keyring));
  const { faults, statement } = await asFailure(
    verifyPublication(policy, statementBeside({ path, shown }), {
      keyring,
      at: systemClock.now(),
      environment: rule.environment,
      minimumGeneration: null,
    }),
  );
  const [first] = faults;
  if (first === undefined) return statement;
  throw new CliFailure(
    statusOfFaults(faults),
    { code: first.code, message: `\`${shown}\` is not served: ${first.message}` },
    {
      help: `see \`bailiwick verify ${shown} --keyring ${rule.keyring.shown}\``,
      report: { snapshot: policy.digest, faults },
    },
  );
}

/** A restart must not bring back what was replaced. Throws `CliFailure` 6. */
export async function refuseRollback(db: Database, { policy, statement }: Candidate): Promise<void> {
  if (statement === undefined) return;
  const accepted = await storedActivations(db).accepted(policy.name, statement.environment);
  if (!isRollback(statement, accepted)) return;
  throw new CliFailure(EXIT.precondition, {
    code: 'snapshot.rollback_refused',
    message: `the snapshot is not served: ${rollbackText(statement, accepted)}`,
  });
}
