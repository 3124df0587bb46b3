// A statement beside its snapshot: one DSSE envelope as strict JSON.
import { decodeEnvelope, type Envelope, STATEMENT_LIMITS } from '../../engine/index.js';
import { parseStrictJson } from '../json/strict-json.js';
import { SigningError } from './signing-error.js';
import { type NamedFile, readNamedFile } from './named-file.js';

/** The default place of a snapshot's statement. */
export function statementPathOf(snapshot: string): string {
  return `${snapshot}.dsse.json`;
}

/** Throws `SigningError`. Nobody has verified the result. */
export async function readStatementFile(file: NamedFile): Promise<Envelope> {
  return parseEnvelope(await readBytes(file), file.shown);
}

/** Throws `SigningError`, which calls the statement `shown`. Nobody has verified the result. */
export function parseEnvelope(bytes: Uint8Array, shown: string): Envelope {
  const parsed = parseStrictJson(bytes, { depth: STATEMENT_LIMITS.fileDepth });
  const envelope = parsed.ok ? decodeEnvelope(parsed.value) : `it is not plain JSON (${parsed.fault.message})`;
  if (typeof envelope !== 'string') return envelope;
  throw new SigningError('statement.invalid', `\`${shown}\` is not a signed statement: ${envelope}`);
}

/** A statement that somebody may have to judge. */
export interface StatementText {
  /** Its name in messages. */
  readonly shown: string;
  /** Null if there is none. Rejects with `SigningError`. */
  readonly read: () => Promise<Uint8Array | null>;
}

/** A statement in a file that must exist. A missing file is reported as such, not as a failure of the publication. */
export function requiredStatement(file: NamedFile): StatementText {
  return { shown: file.shown, read: () => readBytes(file) };
}

/** A statement in a file that may be missing. */
export function statementAt(file: NamedFile): StatementText {
  const read = (): Promise<Uint8Array | null> =>
    readBytes(file).catch((error: unknown) => {
      if (error instanceof SigningError && error.code === 'file.not_found') return null;
      throw error;
    });
  return { shown: file.shown, read };
}

/** The statement beside a snapshot. */
export function statementBeside({ path, shown }: NamedFile): StatementText {
  return statementAt({ path: statementPathOf(path), shown: statementPathOf(shown) });
}

async function readBytes(file: NamedFile): Promise<Uint8Array> {
  return (await readNamedFile(file, STATEMENT_LIMITS.fileBytes)).bytes;
}
