// A statement beside its snapshot: one DSSE envelope as strict JSON.
import { decodeEnvelope, type Envelope, STATEMENT_LIMITS } from '../../engine/index.js';
import { parseStrictJson } from '../json.js';
import { SigningError } from './signing-error.js';
import { type NamedFile, readNamedFile } from './named-file.js';

/** Where a snapshot's statement is unless another place is named. */
export function statementPathOf(snapshot: string): string {
  return `${snapshot}.dsse.json`;
}

/** Throws `SigningError`. What it gives has been verified by nobody. */
export async function readStatementFile(file: NamedFile): Promise<Envelope> {
  const { bytes } = await readNamedFile(file, STATEMENT_LIMITS.fileBytes);
  const parsed = parseStrictJson(bytes, { depth: STATEMENT_LIMITS.fileDepth });
  const envelope = parsed.ok ? decodeEnvelope(parsed.value) : `it is not plain JSON (${parsed.fault.message})`;
  if (typeof envelope !== 'string') return envelope;
  throw new SigningError('statement.invalid', `\`${file.shown}\` is not a signed statement: ${envelope}`);
}
