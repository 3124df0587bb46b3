// A publisher's statement about a snapshot, in the only bytes that can express it: an in-toto statement in canonical JSON
// (engine/README.md "Publication statements"). Reading encodes the statement again and compares the bytes, so it refuses repeated
// keys, fields of a later version, other spellings of a number, and extra spaces.
import { isName } from '../model/identity.js';
import { formatInstant, type Instant, parseInstant } from '../model/instant.js';
import { snapshotJson } from '../snapshot/canonical.js';
import { memberOf, textOf } from './fields.js';
import { STATEMENT_LIMITS } from '../limits.js';

/** The media type of what is signed. */
export const PAYLOAD_TYPE = 'application/vnd.in-toto+json';
const STATEMENT_TYPE = 'https://in-toto.io/Statement/v1';
const PREDICATE_TYPE = 'urn:bailiwick:publication:v1';

export interface PublicationStatement {
  /** The snapshot digest. */
  readonly snapshot: string;
  readonly policy: string;
  readonly environment: string;
  readonly generation: number;
  readonly issued: Instant;
  /** The first instant at which the statement is no longer valid. */
  readonly expires: Instant;
  /** The access root (docs/proofs.md "Proofs of access"): `sha256:` and 64 hex digits. Absent if the publisher does not say. */
  readonly access?: string;
  /** Absent if the publisher does not say. */
  readonly source?: StatementSource;
}

/** What the snapshot was compiled from. */
export interface StatementSource {
  /** The name of a git commit. */
  readonly commit: string;
  /** Where the commit is found: a URL, or what git takes as one. Null if the publisher does not say. */
  readonly repository: string | null;
}

const DIGEST = /^sha256:[0-9a-f]{64}$/;

/** Why the statement is invalid, or null. */
export function statementFault(statement: PublicationStatement): string | null {
  if (!DIGEST.test(statement.snapshot)) return 'the snapshot must be named by its digest';
  if (!isName(statement.policy)) return 'the policy must have a name';
  if (!isName(statement.environment)) return 'the environment must be a name such as `production`';
  const { access, generation, issued, expires } = statement;
  if (access !== undefined && !DIGEST.test(access)) return 'the access root must be a digest';
  if (!Number.isSafeInteger(generation) || generation < 1 || generation > STATEMENT_LIMITS.generation) {
    return `the generation must be a whole number from 1 to ${String(STATEMENT_LIMITS.generation)}`;
  }
  if (issued >= expires) return 'it must expire after it is issued';
  return statement.source === undefined ? null : sourceFault(statement.source);
}

function sourceFault({ commit, repository }: StatementSource): string | null {
  if (!/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(commit)) return 'the commit must be named by all digits of its hash';
  return repository === null || /^[!-~]{1,1024}$/.test(repository)
    ? null
    : 'the repository must be named by a URL, without spaces and in ASCII';
}

/** The exact bytes to sign. The statement must have no fault (`statementFault`). */
export function encodeStatement(statement: PublicationStatement): Uint8Array {
  const { snapshot, policy, environment, generation, issued, expires, access, source } = statement;
  const predicate = {
    policy,
    environment,
    generation,
    issued: formatInstant(issued),
    expires: formatInstant(expires),
    ...(access === undefined ? {} : { access }),
    ...(source === undefined ? {} : { source: { commit: source.commit, repository: source.repository } }),
  };
  const subject = [{ digest: { sha256: snapshot.slice('sha256:'.length) } }];
  return new TextEncoder().encode(
    snapshotJson({ _type: STATEMENT_TYPE, subject, predicateType: PREDICATE_TYPE, predicate }),
  );
}

/** Null for any bytes that are not a statement. Verify the signatures before calling this. */
export function decodeStatement(bytes: Uint8Array): PublicationStatement | null {
  const parsed = parse(bytes);
  const subjects = memberOf(parsed, 'subject');
  const subject: unknown = Array.isArray(subjects) ? subjects[0] : undefined;
  const hex = textOf(memberOf(memberOf(subject, 'digest'), 'sha256'));
  const predicate = memberOf(parsed, 'predicate');
  const policy = textOf(memberOf(predicate, 'policy'));
  const environment = textOf(memberOf(predicate, 'environment'));
  const generation = memberOf(predicate, 'generation');
  const issued = parseInstant(memberOf(predicate, 'issued'));
  const expires = parseInstant(memberOf(predicate, 'expires'));
  if (hex === null || policy === null || environment === null || typeof generation !== 'number') return null;
  if (issued === null || expires === null) return null;
  const access = textOf(memberOf(predicate, 'access'));
  const statement = {
    ...{ snapshot: `sha256:${hex}`, policy, environment, generation, issued, expires },
    ...(access === null ? {} : { access }),
    ...sourceIn(memberOf(predicate, 'source')),
  };
  return statementFault(statement) === null && isSame(encodeStatement(statement), bytes) ? statement : null;
}

function sourceIn(value: unknown): Pick<PublicationStatement, 'source'> {
  const commit = textOf(memberOf(value, 'commit'));
  return commit === null ? {} : { source: { commit, repository: textOf(memberOf(value, 'repository')) } };
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    // Not UTF-8 or not JSON: it has none of the fields.
    return null;
  }
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}
