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
  return parseEnvelope(await readBytes(file), file.shown);
}

/** Throws `SigningError`, which calls the statement `shown`. What it gives has been verified by nobody. */
export function parseEnvelope(bytes: Uint8Array, shown: string): Envelope {
  const parsed = parseStrictJson(bytes, { depth: STATEMENT_LIMITS.fileDepth });
  const envelope = parsed.ok ? decodeEnvelope(parsed.value) : `it is not plain JSON (${parsed.fault.message})`;
  if (typeof envelope !== 'string') return envelope;
  throw new SigningError('statement.invalid', `\`${shown}\` is not a signed statement: ${envelope}`);
}

/** A statement that somebody may have to judge. */
export interface StatementText {
  /** What messages call it. */
  readonly shown: string;
  /** Null if there is none. Rejects with `SigningError`. */
  readonly read: () => Promise<Uint8Array | null>;
}

/** The one in a file that has to be there: it is no failure of the publication where it is not. */
export function requiredStatement(file: NamedFile): StatementText {
  return { shown: file.shown, read: () => readBytes(file) };
}

/** The one in a file that need not be there. */
export function statementAt(file: NamedFile): StatementText {
  const read = (): Promise<Uint8Array | null> =>
    readBytes(file).catch((error: unknown) => {
      if (error instanceof SigningError && error.code === 'file.not_found') return null;
      throw error;
    });
  return { shown: file.shown, read };
}

/** The one beside a snapshot. */
export function statementBeside({ path, shown }: NamedFile): StatementText {
  return statementAt({ path: statementPathOf(path), shown: statementPathOf(shown) });
}

async function readBytes(file: NamedFile): Promise<Uint8Array> {
  return (await readNamedFile(file, STATEMENT_LIMITS.fileBytes)).bytes;
}
