// What `sign` does: the snapshot is verified whole, the statement made from what was verified, and signed; a statement that
// says the same already gets one signature more.
import {
  decodeStatement,
  encodeEnvelope,
  encodeStatement,
  type Envelope,
  type EnvelopeSignature,
  formatInstant,
  type Instant,
  keyIdOf,
  PAYLOAD_TYPE,
  preAuthEncoding,
  type PublicationStatement,
  STATEMENT_LIMITS,
  statementFault,
} from '../../engine/index.js';
import { systemClock } from '../ports.js';
import { type SigningKey, verifyEd25519 } from '../signing/ed25519.js';
import { readSigningKey } from '../signing/key-file.js';
import { SigningError } from '../signing/signing-error.js';
import { readStatementFile, statementPathOf } from '../signing/statement-file.js';
import { EXIT } from './exit-codes.js';
import { CliFailure } from './failure.js';
import { type CliIo, pathOf, write, writeJson } from './io.js';
import { openPolicy } from './open-policy.js';
import type { Format } from './options.js';
import { count } from './render/text.js';
import { escapeText } from './render/escape.js';
import { asFailure } from './signing-failure.js';
import { readStatementFlags, type StatementValues } from './statement-flags.js';
import { statementJson } from './verify-snapshot.js';
import { writeWhole } from './write-whole.js';

export interface SignOptions {
  readonly key: string;
  readonly environment: string;
  readonly generation: string;
  readonly expires: string;
  readonly issued?: string;
  readonly at?: string;
  readonly output?: string;
  readonly format: Format;
}

/** Throws `CliFailure`: 2 wrong flags or files, 6 an exposed key, 8 a snapshot that is not whole. */
export async function signSnapshot(io: CliIo, path: string, options: SignOptions): Promise<void> {
  const values = readStatementFlags(options);
  const output = outputOf(path, options);
  const key = await asFailure(readSigningKey({ path: pathOf(io, options.key), shown: options.key }));
  const { policy, source } = await openPolicy(io, path);
  if (source === 'folder') {
    throw usage(
      'a snapshot file is signed, not a folder',
      'compile it first: bailiwick compile <dir> -o snapshot.json',
    );
  }
  const existing = output === '-' ? null : await readExisting(io, output);
  const statement = statementOf({ snapshot: policy.digest, policy: policy.name }, values, existing);
  const { envelope, change } = signWith(key, statement, existing);
  const text = `${encodeEnvelope(envelope)}\n`;
  if (output === '-') await write(io.stdout, text);
  else {
    const protectedFiles = [options.key, ...(path === '-' ? [] : [path])].map((file) => pathOf(io, file));
    await writeWhole(pathOf(io, output), Buffer.from(text), { shown: output, protectedFiles });
  }
  await tell(io, { output, format: options.format, statement, envelope, change, keyId: keyIdOf(key.publicKey) });
}

function usage(message: string, help: string): CliFailure {
  return new CliFailure(EXIT.usage, { code: 'cli.usage', message }, { help });
}

function outputOf(path: string, { output, format }: SignOptions): string {
  if (output === '-' && format === 'json') {
    throw usage('with `-o -` stdout is the statement, so `--format json` has no place', 'name a file');
  }
  if (path === '-' && output === undefined) {
    throw usage('a snapshot on stdin has no place beside it', 'say where the statement goes, with `-o`');
  }
  return output ?? statementPathOf(path);
}

/** What is there, to sign it once more or to replace it; a file that is something else is left alone. */
async function readExisting(io: CliIo, output: string): Promise<Envelope | null> {
  try {
    return await readStatementFile({ path: pathOf(io, output), shown: output });
  } catch (error) {
    if (!(error instanceof SigningError)) throw error;
    if (error.code === 'file.not_found') return null;
    throw usage(
      `\`${output}\` is there and is no signed statement`,
      'it is not overwritten: name another file with `-o`',
    );
  }
}

function statementOf(
  facts: Pick<PublicationStatement, 'snapshot' | 'policy'>,
  { environment, generation, expires, issued, at }: StatementValues,
  existing: Envelope | null,
): PublicationStatement {
  const asked = {
    ...facts,
    environment: environment ?? '',
    generation: generation ?? 0,
    expires: expires ?? systemClock.now(),
  };
  const there = existing === null ? null : decodeStatement(existing.payload);
  // Whoever signs second says the same statement, its time of issue too.
  const same =
    there?.snapshot === asked.snapshot &&
    there.policy === asked.policy &&
    there.environment === asked.environment &&
    there.generation === asked.generation &&
    there.expires === asked.expires;
  const time: Instant = issued ?? at ?? (same ? there.issued : systemClock.now());
  const statement = { ...asked, issued: time };
  const fault = statementFault(statement);
  if (fault === null) return statement;
  throw usage(`such a statement cannot be signed: ${fault}`, 'see `bailiwick help sign`');
}

/** What became of the statement file. */
type Change = 'created' | 'added' | 'unchanged' | 'replaced';

function signWith(
  key: SigningKey,
  statement: PublicationStatement,
  existing: Envelope | null,
): { readonly envelope: Envelope; readonly change: Change } {
  const payload = encodeStatement(statement);
  const keyId = keyIdOf(key.publicKey);
  const signed = { payloadType: PAYLOAD_TYPE, payload };
  const message = preAuthEncoding(signed);
  const own = { keyId, bytes: key.sign(message) };
  const isSame = existing?.payloadType === PAYLOAD_TYPE && Buffer.compare(existing.payload, payload) === 0;
  if (!isSame)
    return { envelope: { ...signed, signatures: [own] }, change: existing === null ? 'created' : 'replaced' };
  const isOurs = ({ bytes }: EnvelopeSignature): boolean =>
    bytes !== null && verifyEd25519({ publicKey: key.publicKey, message, signature: bytes });
  const change = existing.signatures.some(isOurs) ? 'unchanged' : 'added';
  // Ours under any id, and what only claims to be ours.
  const others = existing.signatures.filter((signature) => signature.keyId !== keyId && !isOurs(signature));
  if (others.length >= STATEMENT_LIMITS.signatures) {
    throw usage(`the statement has ${String(others.length)} signatures already`, 'no more are allowed');
  }
  return { envelope: { ...signed, signatures: [...others, own] }, change };
}

interface Told {
  readonly output: string;
  readonly format: Format;
  readonly statement: PublicationStatement;
  readonly envelope: Envelope;
  readonly change: Change;
  readonly keyId: string;
}

const CHANGES: ReadonlyMap<Change, string> = new Map([
  ['created', 'signed'],
  ['added', 'signed once more'],
  ['unchanged', 'this key had signed it already'],
  ['replaced', 'signed; another statement that was there is replaced, with its signatures'],
]);

async function tell(io: CliIo, { output, format, statement, envelope, change, keyId }: Told): Promise<void> {
  if (format === 'json') {
    await writeJson(io, {
      file: output,
      snapshot: statement.snapshot,
      keyId,
      change,
      signatures: envelope.signatures.map((signature) => signature.keyId),
      statement: statementJson(statement),
    });
    return;
  }
  const { policy, environment, generation, issued, expires, snapshot } = statement;
  const lines = [
    `statement ${escapeText(output)}: ${CHANGES.get(change) ?? change}, ${count(envelope.signatures.length, 'signature')}`,
    `snapshot  ${snapshot}`,
    `policy    ${escapeText(policy)} for ${escapeText(environment)}, generation ${String(generation)}`,
    `in force  ${formatInstant(issued)} until ${formatInstant(expires)}`,
    `key       ${keyId}`,
  ];
  await write(output === '-' ? io.stderr : io.stdout, `${lines.join('\n')}\n`);
}
