// API keys in the store: made, listed, revoked and found (docs/credentials.md "API keys"). Rows are decoded strictly: a
// row that this code could not have written means a broken installation, never a weaker key.
import {
  canonicalize,
  formatInstant,
  type Identity,
  type Instant,
  instantOf,
  isScopeName,
  type NamespacePath,
  scopeNames,
  type ScopeSet,
  scopeSetOf,
} from '../../engine/index.js';
import { mapInTurns } from '../lib/in-turns.js';
import type { Database } from '../db/database.js';
import { sql } from '../db/sql.js';
import type { Store, Writing } from '../db/writing.js';
import { formatKey, hashSecret, makeKeyText } from './key-text.js';
import { announceRevocation, leasesEnded } from './revocation-news.js';

export interface NewKey {
  readonly actor: string;
  readonly identities: readonly Identity[];
  /** Null: not narrowed. */
  readonly scopes: ScopeSet | null;
  /** Null: not narrowed. */
  readonly restrictions: readonly NamespacePath[] | null;
  readonly expires: Instant | null;
  readonly admin: boolean;
  /** Whether it may ask what others may do, within its scopes and restrictions, instead of using identities. */
  readonly decide?: boolean;
  /** Sees what runs, and nothing else. Absent means false. */
  readonly monitor?: boolean;
}

export interface ApiKey extends NewKey {
  readonly id: string;
  readonly monitor: boolean;
  readonly createdAt: Instant;
  readonly revokedAt: Instant | null;
  readonly lastUsedAt: Instant | null;
}

export interface StoredKey extends ApiKey {
  readonly secretHash: Uint8Array;
}

/** Stores a new key. `text` is the only place where its secret is ever seen. */
export async function createKey(
  db: Store,
  fields: NewKey,
  now: Instant,
): Promise<{ readonly text: string; readonly key: ApiKey }> {
  const parts = makeKeyText();
  const key: ApiKey = { monitor: false, ...fields, id: parts.id, createdAt: now, revokedAt: null, lastUsedAt: null };
  const identities = JSON.stringify(key.identities.map(({ provider, subject }) => ({ provider, subject })));
  const scopes = key.scopes === null ? null : JSON.stringify(scopeNames(key.scopes));
  const restrictions = key.restrictions === null ? null : JSON.stringify(key.restrictions);
  const secret = Buffer.from(hashSecret(parts.secret)).toString('hex');
  await db.rows(
    sql`INSERT INTO api_keys (id, actor, secret_hash, identities, scopes, restrictions, admin, decide, monitor, created_at,
        expires_at)
      VALUES (${key.id}, ${key.actor}, decode(${secret}, 'hex'), ${identities}::jsonb, ${scopes}::jsonb,
        ${restrictions}::jsonb, ${key.admin}, ${key.decide === true}, ${key.monitor}, ${formatInstant(now)}::timestamptz,
        ${key.expires === null ? null : formatInstant(key.expires)}::timestamptz)`,
  );
  return { text: formatKey(parts), key };
}

/** All keys, oldest first, including revoked and expired ones. */
export async function listKeys(db: Store): Promise<readonly ApiKey[]> {
  const rows = await db.rows(sql`SELECT ${COLUMNS} FROM api_keys WHERE ${true} ORDER BY created_at, id`);
  return mapInTurns(rows, (row) => {
    const { secretHash: _, ...key } = decodeKey(row);
    return key;
  });
}

/** When a key was revoked, and what it was; null if its row cannot be read. */
export interface RevokedKey {
  readonly at: Instant;
  readonly key: NewKey | null;
}

/**
 * Revokes a key forever, in one transaction with `beside`. A key that was revoked before keeps its first instant. Null
 * if there is no such key. Resolves when no gateway of the store serves the key any more.
 */
export async function revokeKey(
  db: Pick<Database, 'write'>,
  { id, now, beside }: Revocation,
): Promise<RevokedKey | null> {
  const revoked = await db.write(async (writing) => {
    const done = await markRevoked(writing, id, now);
    if (done === null) return null;
    await Promise.all([announceRevocation(writing, id), beside?.(writing, done)]);
    return done;
  });
  if (revoked !== null) await leasesEnded();
  return revoked;
}

export interface Revocation {
  readonly id: string;
  readonly now: Instant;
  readonly beside?: (writing: Writing, revoked: RevokedKey) => Promise<void>;
}

async function markRevoked(db: Store, id: string, now: Instant): Promise<RevokedKey | null> {
  const rows = await db.rows(
    sql`UPDATE api_keys SET revoked_at = COALESCE(revoked_at, ${formatInstant(now)}::timestamptz)
      WHERE id = ${id} RETURNING ${COLUMNS}`,
  );
  const at = rows.length === 0 ? null : instantOrNull(fieldsOf(rows[0]).get('revoked_at'));
  return at === null ? null : { at, key: readableKey(rows[0]) };
}

/** A row that is no key can be revoked nevertheless. */
function readableKey(row: unknown): NewKey | null {
  try {
    return decodeKey(row);
  } catch (error) {
    if (error instanceof KeyRowError) return null;
    throw error;
  }
}

/** The key of an id; null if there is none. Throws `KeyRowError` for a row that is not a key. */
export type FoundKeys = (id: string) => StoredKey | null;

/** The keys of these ids as they are stored now. */
export async function findKeys(db: Pick<Database, 'vital'>, ids: readonly string[]): Promise<FoundKeys> {
  const rows = await db.vital<{ readonly id: string }>(
    sql`SELECT ${COLUMNS} FROM api_keys WHERE id = ANY(${ids}::text[])`,
  );
  const byId = new Map(rows.map((row) => [row.id, row]));
  // A row that cannot be decoded fails its own request, not the other requests of this look-up.
  return (id) => {
    const row = byId.get(id);
    return row === undefined ? null : decodeKey(row);
  };
}

/** Notes when a key was used, unless a later use is already noted. */
export async function noteKeyUse(db: Store, id: string, at: Instant): Promise<void> {
  const used = sql`${formatInstant(at)}::timestamptz`;
  await db.rows(
    sql`UPDATE api_keys SET last_used_at = ${used} WHERE id = ${id} AND (last_used_at IS NULL OR last_used_at < ${used})`,
  );
}

const COLUMNS = sql`id, actor, secret_hash, identities, scopes, restrictions, admin, decide, monitor, created_at,
  expires_at, revoked_at, last_used_at`;

/** A row that no code of ours can have written. */
export class KeyRowError extends Error {
  override readonly name = 'KeyRowError';
}

function decodeKey(row: unknown): StoredKey {
  const fields = fieldsOf(row);
  const secretHash = fields.get('secret_hash');
  const createdAt = instantOrNull(fields.get('created_at'));
  const [admin, decide, monitor] = ['admin', 'decide', 'monitor'].map((name) => isTrue(fields.get(name)));
  if (!(secretHash instanceof Uint8Array) || createdAt === null || [admin, decide, monitor].filter(Boolean).length > 1)
    throw new KeyRowError('unreadable');
  return {
    id: textOf(fields.get('id')),
    actor: textOf(fields.get('actor')),
    secretHash,
    identities: listOf(fields.get('identities')).map(identityOf),
    scopes: narrowed(fields.get('scopes'), scopesOf),
    restrictions: narrowed(fields.get('restrictions'), (list) => list.map(pathOf)),
    admin: admin === true,
    decide: decide === true,
    monitor: monitor === true,
    createdAt,
    expires: instantOrNull(fields.get('expires_at')),
    revokedAt: instantOrNull(fields.get('revoked_at')),
    lastUsedAt: instantOrNull(fields.get('last_used_at')),
  };
}

function isTrue(value: unknown): boolean {
  if (typeof value !== 'boolean') throw new KeyRowError('not true or false');
  return value;
}

function fieldsOf(value: unknown): ReadonlyMap<string, unknown> {
  if (typeof value !== 'object' || value === null) throw new KeyRowError('not an object');
  return new Map(Object.entries(value));
}

function listOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new KeyRowError('not a list');
  return value;
}

/** Only null means "not narrowed". An absent column or anything else is refused, so that nothing widens a key. */
function narrowed<T>(value: unknown, decode: (list: readonly unknown[]) => T): T | null {
  return value === null ? null : decode(listOf(value));
}

function textOf(value: unknown): string {
  if (typeof value !== 'string' || value === '') throw new KeyRowError('not a text');
  return value;
}

function instantOrNull(value: unknown): Instant | null {
  if (value === null) return null;
  if (!(value instanceof Date) || Number.isNaN(value.getTime())) throw new KeyRowError('not an instant');
  return instantOf(value.getTime());
}

function identityOf(value: unknown): Identity {
  const fields = fieldsOf(value);
  return { provider: textOf(fields.get('provider')), subject: textOf(fields.get('subject')) };
}

function scopesOf(list: readonly unknown[]): ScopeSet {
  return scopeSetOf(
    list.map((name) => {
      if (!isScopeName(name)) throw new KeyRowError('not a scope');
      return name;
    }),
  );
}

function pathOf(value: unknown): NamespacePath {
  const result = canonicalize(value);
  if (!result.ok) throw new KeyRowError('not a canonical path');
  return result.path;
}
