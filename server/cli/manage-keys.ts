// What `keys create|list|revoke` do in the store: the flags of a new key read to a key, with every mistake at once and nothing
// that could be taken for "all" by accident; keys as they are printed. Refuses to know how the commands are declared.
import {
  canonicalize,
  formatIdentity,
  formatInstant,
  type Identity,
  type Instant,
  isScopeName,
  type NamespacePath,
  nearest,
  parseIdentity,
  parseInstant,
  scopeNames,
  SCOPES,
  scopeSetOf,
  subjectFault,
} from '../../engine/index.js';
import { type ApiKey, createKey, listKeys, type NewKey, revokeKey } from '../auth/api-keys.js';
import { isKeyId } from '../auth/key-text.js';
import { EXIT } from './exit-codes.js';
import { CliFailure } from './failure.js';
import { type CliIo, write, writeJson } from './io.js';
import { openStore, type OpenStoreOptions } from './open-store.js';
import { configOf, type Format } from './options.js';
import type { SettingFlags } from '../config/index.js';
import { makeOperatorRecorder } from './record-operator.js';
import { escapeText } from './render/escape.js';
import { renderTable } from './render/text.js';
import type { Database } from '../db/database.js';
import { KEY_LIMITS } from '../limits.js';
import { doubtsOf, type KeyDoubt } from '../policy/one-person.js';
import { systemClock } from '../ports.js';

/** As commander gives them. */
export interface KeyFlags {
  readonly actor: string;
  readonly identity?: readonly string[];
  readonly scope?: readonly string[];
  readonly scopeNone?: true;
  readonly restrict?: readonly string[];
  readonly restrictNone?: true;
  readonly expires?: string;
  readonly admin?: true;
}

/** Throws `CliFailure` 2 with every fault. */
export function readKeyFlags(flags: KeyFlags, now: Instant): NewKey {
  const faults: string[] = [];
  const key: NewKey = {
    actor: readActor(flags.actor, faults),
    identities: readIdentities(flags, faults),
    scopes: flags.scopeNone === true ? scopeSetOf([]) : readScopes(flags.scope, faults),
    restrictions: flags.restrictNone === true ? [] : readRestrictions(flags.restrict, faults),
    expires: readExpiry(flags.expires, now, faults),
    admin: flags.admin === true,
  };
  if (faults.length === 0) return key;
  const text = faults.map((fault) => escapeText(fault)).join('\n');
  throw new CliFailure(
    EXIT.usage,
    { code: 'keys.invalid', message: 'the key was not created' },
    { text, report: { faults } },
  );
}

function readActor(actor: string, faults: string[]): string {
  const fault = subjectFault(actor);
  if (fault !== null) faults.push(`--actor: ${SUBJECT_FAULTS.get(fault) ?? 'is not plain text'}`);
  return actor;
}

const SUBJECT_FAULTS: ReadonlyMap<string, string> = new Map([
  ['no_colon', 'must be `provider:subject`'],
  ['provider', 'the provider (before the first colon) must be a name such as `orcid`'],
  ['subject_empty', 'is empty'],
  ['subject_too_long', 'is longer than 255 bytes'],
  ['subject_space', 'begins or ends with white space'],
  ['subject_control', 'has control characters'],
  ['not_nfc', 'is not in composed form (NFC)'],
]);

function readIdentities({ identity = [] }: KeyFlags, faults: string[]): readonly Identity[] {
  if (identity.length > KEY_LIMITS.identities) faults.push(`--identity: more than ${String(KEY_LIMITS.identities)}`);
  const read = new Map<string, Identity>();
  for (const text of identity) {
    const result = parseIdentity(text);
    if (result.ok) read.set(text, result.identity);
    else faults.push(`--identity \`${text}\`: ${SUBJECT_FAULTS.get(result.fault) ?? 'is not an identity'}`);
  }
  return [...read.values()];
}

function readScopes(given: readonly string[] | undefined, faults: string[]): NewKey['scopes'] {
  if (given === undefined) return null;
  const names = given.flatMap((list) => list.split(','));
  for (const name of names) {
    if (isScopeName(name)) continue;
    const meant = nearest(name, SCOPES);
    faults.push(
      `--scope \`${name}\`: is not a scope${meant === null ? `; they are ${SCOPES.join(', ')}` : `; did you mean \`${meant}\`?`}`,
    );
  }
  return scopeSetOf(names.filter(isScopeName));
}

function readRestrictions(given: readonly string[] | undefined, faults: string[]): readonly NamespacePath[] | null {
  if (given === undefined) return null;
  const read = new Set<NamespacePath>();
  for (const text of given.flatMap((list) => list.split(','))) {
    const result = canonicalize(text);
    if (result.ok) read.add(result.path);
    else faults.push(`--restrict \`${text}\`: is not a namespace path`);
  }
  if (read.size > KEY_LIMITS.restrictions) faults.push(`--restrict: more than ${String(KEY_LIMITS.restrictions)}`);
  return [...read];
}

function readExpiry(text: string | undefined, now: Instant, faults: string[]): Instant | null {
  if (text === undefined) return null;
  const instant = parseInstant(text);
  if (instant === null) faults.push('--expires: must be a time with offset, as in `2027-06-30T00:00:00Z`');
  else if (instant <= now) faults.push('--expires: has passed');
  return instant;
}

export type KeysOptions = SettingFlags & { readonly format: Format };

export async function createKeyCommand(io: CliIo, options: KeysOptions & KeyFlags): Promise<void> {
  const now = systemClock.now();
  const fields = readKeyFlags(options, now);
  const config = await configOf(io, options);
  const doubts = await doubtsOf(fields.identities, config.policy);
  const record = makeOperatorRecorder(now);
  const { text, key } = await withStore(io, { options }, (db) =>
    db.transaction(async (transaction) => {
      const made = await createKey({ knex: transaction }, fields, now);
      await record(transaction, { operation: 'key.create', key: made.key.id });
      return made;
    }),
  );
  await write(io.stderr, doubts.map(warning).join(''));
  const { id, ...rest } = showKey(key, now);
  if (options.format === 'json') {
    await writeJson(io, { id, key: text, ...rest });
    return;
  }
  await write(io.stdout, `${text}\n`);
  await write(io.stderr, `${summary({ id, ...rest })}\nThe key is shown this once: keep it like a password.\n`);
}

function warning({ text, help }: KeyDoubt): string {
  return `warning: ${escapeText(text)}\n  help: ${escapeText(help)}\n`;
}

export async function listKeysCommand(io: CliIo, options: KeysOptions): Promise<void> {
  const keys = (await withStore(io, { options, asItIs: true }, listKeys)).map((key) => showKey(key, systemClock.now()));
  if (options.format === 'json') await writeJson(io, { keys });
  else
    await write(
      io.stdout,
      keys.length === 0 ? 'no keys; `bailiwick keys create` makes one\n' : renderTable(HEADINGS, keys.map(rowOf)),
    );
}

export async function revokeKeyCommand(io: CliIo, id: string, options: KeysOptions): Promise<void> {
  const help = 'see `bailiwick keys list`';
  // What is no id may be a whole key: it is not repeated.
  if (!isKeyId(id))
    throw new CliFailure(
      EXIT.usage,
      { code: 'keys.id', message: 'this is not the id of a key; give the id alone, never the key' },
      { help },
    );
  const now = systemClock.now();
  const record = makeOperatorRecorder(now);
  const revokedAt = await withStore(io, { options, asItIs: true }, (db) =>
    db.transaction(async (transaction) => {
      const at = await revokeKey({ knex: transaction }, id, now);
      if (at !== null) await record(transaction, { operation: 'key.revoke', key: id });
      return at;
    }),
  );
  if (revokedAt === null)
    throw new CliFailure(EXIT.usage, { code: 'keys.unknown', message: `there is no key \`${id}\`` }, { help });
  if (options.format === 'json') await writeJson(io, { id, revokedAt: formatInstant(revokedAt) });
  else await write(io.stdout, `revoked ${id}, ${formatInstant(revokedAt)}\n`);
}

interface Opening extends OpenStoreOptions {
  readonly options: KeysOptions;
}

async function withStore<T>(
  io: CliIo,
  { options, ...opening }: Opening,
  work: (db: Database) => Promise<T>,
): Promise<T> {
  const db = await openStore(io, await configOf(io, options), opening);
  try {
    return await work(db);
  } finally {
    await db.close();
  }
}

type KeyStatus = 'active' | 'expired' | 'revoked' | 'replace';

/** A key as `keys list` prints it. */
interface ShownKey {
  readonly id: string;
  readonly actor: string;
  readonly identities: readonly string[];
  readonly scopes: readonly string[] | null;
  readonly restrictions: readonly string[] | null;
  readonly admin: boolean;
  /** `replace`: made for the admin listener and for data; each door will refuse it. */
  readonly status: KeyStatus;
  readonly expires: string | null;
  readonly revokedAt: string | null;
  readonly lastUsedAt: string | null;
  readonly createdAt: string;
}

function showKey(key: ApiKey, now: Instant): ShownKey {
  const instant = (at: ApiKey['expires']): string | null => (at === null ? null : formatInstant(at));
  return {
    id: key.id,
    actor: key.actor,
    identities: key.identities.map(formatIdentity).sort(),
    scopes: key.scopes === null ? null : scopeNames(key.scopes),
    restrictions: key.restrictions === null ? null : [...key.restrictions].sort(),
    admin: key.admin,
    status: statusOf(key, now),
    expires: instant(key.expires),
    revokedAt: instant(key.revokedAt),
    lastUsedAt: instant(key.lastUsedAt),
    createdAt: formatInstant(key.createdAt),
  };
}

function statusOf(key: ApiKey, now: Instant): KeyStatus {
  if (key.revokedAt !== null) return 'revoked';
  if (key.expires !== null && key.expires <= now) return 'expired';
  const hasData = key.identities.length > 0 || key.scopes !== null || key.restrictions !== null;
  return key.admin && hasData ? 'replace' : 'active';
}

const HEADINGS = ['ID', 'ACTOR', 'IDENTITIES', 'SCOPES', 'NAMESPACES', 'EXPIRES', 'LAST USED', 'STATUS'];

function rowOf(key: ShownKey): readonly string[] {
  return [
    key.id,
    key.actor,
    key.admin && key.identities.length === 0 ? '(admin)' : key.identities.join(','),
    key.scopes === null ? 'all' : key.scopes.join(',') || 'none',
    key.restrictions === null ? 'all' : key.restrictions.join(',') || 'none',
    key.expires ?? 'never',
    key.lastUsedAt ?? 'never',
    key.status === 'replace' ? 'replace: for admin and for data' : key.status,
  ].map((cell) => escapeText(cell));
}

function summary(key: ShownKey): string {
  const lines: readonly (readonly [string, string | null])[] = [
    ['id', key.id],
    ['actor', key.actor],
    ['identities', key.identities.join(', ') || 'none'],
    ['scopes', key.scopes === null ? 'all' : key.scopes.join(', ') || 'none'],
    ['namespaces', key.restrictions === null ? 'all' : key.restrictions.join(', ') || 'none'],
    ['admin', key.admin ? 'yes' : null],
    ['created', key.createdAt],
    ['expires', key.expires],
    ['revoked', key.revokedAt],
    ['last used', key.lastUsedAt],
  ];
  return lines.flatMap(([name, text]) => (text === null ? [] : [`${name.padEnd(12)}${escapeText(text)}`])).join('\n');
}
