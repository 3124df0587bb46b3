// What `serve` demands before it serves a snapshot: that it was published. While it runs, the same applies to later
// snapshots.
import type { Policy } from '../../engine/index.js';
import type { Config } from '../config/index.js';
import type { PublicationRule } from '../policy/open/verify-offer.js';
import { systemClock } from '../lib/ports.js';
import { readKeyring } from '../signing/keyring-file.js';
import { statementBeside } from '../signing/statement-file.js';
import { type SignedStatement, verifyPublication } from '../policy/open/verify-publication.js';
import { statusOfFaults } from './commands/verify.js';
import { CliFailure, EXIT } from './exit.js';
import { asFailure } from './statement-flags.js';

/** Null if no signature is required. */
export function publicationRule({ snapshot }: Config): PublicationRule | null {
  const { requireSignature, keyringFile, environment } = snapshot;
  if (!requireSignature || keyringFile === null) return null;
  return { keyring: { path: keyringFile, shown: keyringFile }, environment };
}

interface OpenedPublication {
  readonly policy: Policy;
  readonly source: 'folder' | 'file' | 'stdin';
  /** As it was typed, and absolute. */
  readonly shown: string;
  readonly path: string;
}

/**
 * The statement under which it was published; null if none is required. Throws `CliFailure` 2, 6, 8 or 9, like
 * `verify`.
 */
export async function requirePublication(opened: OpenedPublication, config: Config): Promise<SignedStatement | null> {
  const rule = publicationRule(config);
  if (rule === null) return null;
  const { policy, source, shown, path } = opened;
  if (source !== 'file') {
    throw new CliFailure(
      EXIT.usage,
      'serve.signature',
      `a signature is required, and ${source === 'folder' ? `\`${shown}\` is a folder` : 'a snapshot on stdin has no statement beside it'}`,
      { help: 'serve a snapshot file that was signed: `bailiwick compile`, then `bailiwick sign`' },
    );
  }
  const keyring = await asFailure(readKeyring(rule.keyring));
  const { faults, signed } = await asFailure(
    verifyPublication(policy, statementBeside({ path, shown }), {
      keyring,
      at: systemClock.now(),
      environment: rule.environment,
      minimumGeneration: null,
    }),
  );
  if (signed !== null) return signed;
  const [{ code, message } = { code: 'signature.missing', message: 'it has no statement' }] = faults;
  throw new CliFailure(statusOfFaults(faults), code, `\`${shown}\` is not served: ${message}`, {
    help: `see \`bailiwick verify ${shown} --keyring ${rule.keyring.shown}\``,
    report: { snapshot: policy.digest, faults },
  });
}
