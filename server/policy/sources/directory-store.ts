// A directory store: snapshots and statements, each under the digest of its bytes and never changed, and one small file
// that says which of them are published. `bailiwick publish --to` fills it. Gateways that follow it only need to read
// it.
import { join } from 'node:path';
import { isName, STATEMENT_LIMITS } from '../../../engine/index.js';
import { parseStrictJson } from '../../json/strict-json.js';
import { POLICY_LIMITS } from '../../limits/policy.js';
import { readSmallFile, SmallFileError } from '../../lib/small-file.js';
import { refusal } from '../policy-fault.js';
import { sha256Of } from '../open/snapshot-bytes.js';
import { SigningError } from '../../signing/signing-error.js';
import { readNamedFile } from '../../signing/named-file.js';
import type { StatementText } from '../../signing/statement-file.js';

/** What is published. */
export interface Pointer {
  /** The name of the policy. */
  readonly policy: string;
  /** The digests of the bytes. */
  readonly snapshot: string;
  readonly statement: string | null;
}

export const STORE_FOLDERS = Object.freeze({ snapshots: 'snapshots', statements: 'statements' });

export function pointerPath(directory: string): string {
  return join(directory, 'current.json');
}

export function snapshotPath(directory: string, digest: string): string {
  return join(directory, STORE_FOLDERS.snapshots, `${hexOf(digest)}.json`);
}

export function statementPath(directory: string, digest: string): string {
  return join(directory, STORE_FOLDERS.statements, `${hexOf(digest)}.dsse.json`);
}

export function encodePointer({ policy, snapshot, statement }: Pointer): string {
  return `${JSON.stringify({ bailiwick: 1, policy, snapshot, statement })}\n`;
}

/** Null if nothing was published yet. Throws `PolicyRefused`. */
export async function readPointer(directory: string): Promise<Pointer | null> {
  try {
    const { bytes } = await readSmallFile(pointerPath(directory), POLICY_LIMITS.pointerBytes);
    const pointer = parsePointer(bytes);
    if (pointer !== null) return pointer;
  } catch (error) {
    if (!(error instanceof SmallFileError)) throw error;
    if (error.fault === 'missing') return null;
    throw refusal('source.unreadable', `\`current.json\` ${error.message}`);
  }
  throw refusal('source.invalid', '`current.json` is not what `bailiwick publish` writes');
}

const DIGEST = /^sha256:[0-9a-f]{64}$/;
const KEYS = 'bailiwick,policy,snapshot,statement';

function parsePointer(bytes: Uint8Array): Pointer | null {
  const parsed = parseStrictJson(bytes, { depth: 1 });
  if (!parsed.ok || typeof parsed.value !== 'object' || parsed.value === null) return null;
  const fields = new Map<string, unknown>(Object.entries(parsed.value));
  const [policy, snapshot, statement] = [fields.get('policy'), fields.get('snapshot'), fields.get('statement')];
  if ([...fields.keys()].sort().join() !== KEYS || fields.get('bailiwick') !== 1) return null;
  if (typeof policy !== 'string' || !isName(policy)) return null;
  if (typeof snapshot !== 'string' || !DIGEST.test(snapshot)) return null;
  if (statement !== null && (typeof statement !== 'string' || !DIGEST.test(statement))) return null;
  return { policy, snapshot, statement };
}

/** The statement that a pointer names. Its bytes must match the digest. */
export function storedStatement(directory: string, digest: string | null): StatementText {
  if (digest === null) return { shown: pointerPath(directory), read: () => Promise.resolve(null) };
  const path = statementPath(directory, digest);
  const read = async (): Promise<Uint8Array> => {
    const { bytes } = await readNamedFile({ path, shown: path }, STATEMENT_LIMITS.fileBytes);
    if (sha256Of(bytes) === digest) return bytes;
    throw new SigningError('statement.invalid', `\`${path}\` is not what its name says`);
  };
  return { shown: path, read };
}

/** File names are only ever made from this. */
function hexOf(digest: string): string {
  if (!DIGEST.test(digest)) throw new TypeError('not a digest');
  return digest.slice('sha256:'.length);
}
