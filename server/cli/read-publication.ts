// What `publish` publishes: a snapshot that was verified as a whole, and the statement about it, if there is one.
import {
  decodeStatement,
  formatInstant,
  PAYLOAD_TYPE,
  type Policy,
  type PublicationStatement,
} from '../../engine/index.js';
import { systemClock } from '../lib/ports.js';
import { parseEnvelope, statementAt, statementPathOf } from '../signing/statement-file.js';
import { EXIT } from './exit-codes.js';
import { CliFailure, usage } from './failure.js';
import { type CliIo, pathOf } from './io.js';
import { openStated } from './open-policy.js';

export interface Publication {
  readonly policy: Policy;
  /** The snapshot's exact bytes. */
  readonly bytes: Uint8Array;
  readonly signed: { readonly bytes: Uint8Array; readonly statement: PublicationStatement } | null;
}

/** Throws `CliFailure` and `SigningError`. `statement` is the file that the user named. */
export async function readPublication(
  io: CliIo,
  path: string,
  options: { readonly statement?: string },
): Promise<Publication> {
  const { policy, bytes, source } = await openStated(io, path);
  if (source === 'folder') {
    throw usage('a snapshot is published, not a folder', 'compile it first: bailiwick compile <dir> -o snapshot.json');
  }
  const shown = options.statement ?? statementPathOf(path);
  const found =
    path === '-' && options.statement === undefined
      ? null
      : await statementAt({ path: pathOf(io, shown), shown }).read();
  if (found === null && options.statement !== undefined) {
    throw new CliFailure(EXIT.usage, { code: 'file.not_found', message: `\`${shown}\` does not exist` });
  }
  return { policy, bytes, signed: found === null ? null : aboutThis(policy, found, shown) };
}

/** The gateways judge who has signed it. Here it must be about this snapshot and in force. */
function aboutThis({ name, digest }: Policy, bytes: Uint8Array, shown: string): NonNullable<Publication['signed']> {
  const envelope = parseEnvelope(bytes, shown);
  const statement = envelope.payloadType === PAYLOAD_TYPE ? decodeStatement(envelope.payload) : null;
  if (statement === null) {
    const message = `\`${shown}\` is not a publication statement of this version`;
    throw new CliFailure(EXIT.integrity, { code: 'statement.invalid', message });
  }
  if (statement.snapshot !== digest || statement.policy !== name) {
    const message = `\`${shown}\` is a statement about another snapshot`;
    throw new CliFailure(EXIT.precondition, { code: 'statement.subject', message }, { help: 'sign this one first' });
  }
  if (statement.expires > systemClock.now()) return { bytes, statement };
  const message = `the statement \`${shown}\` expired at ${formatInstant(statement.expires)}`;
  throw new CliFailure(
    EXIT.stale,
    { code: 'statement.expired', message },
    { help: 'sign it again with a later expiry' },
  );
}
