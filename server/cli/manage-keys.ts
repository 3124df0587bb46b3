// What `keys create|list|revoke` do in the store: turning flags into the request for a new key, and printing keys. This
// file does not know how the commands are declared.
import { formatInstant, type Instant, scopeNames } from '../../engine/index.js';
import { eventCredential } from '../audit/event-key.js';
import type { AnonymousSettings } from '../auth/anonymous.js';
import { createKey, listKeys, type NewKey, revokeKey } from '../auth/api-keys.js';
import { type Fingerprinter, makeFingerprinter } from '../auth/fingerprint.js';
import { isKeyId } from '../auth/key-text.js';
import { type KeyFault, type KeyRequest, readNewKey } from '../auth/new-key.js';
import type { ShownKey } from '../api/admin-schemas.js';
import { showKey } from '../auth/shown-key.js';
import { readSecrets } from '../db/secrets.js';
import { scopeHelp, unknownPerson } from './actor.js';
import { atPolicy } from './at-policy.js';
import { CliFailure, EXIT, usage } from './exit.js';
import { type Answer, type CliIo, print, write } from './io.js';
import { withNamedStore } from './open-store.js';
import { configOf, type Format } from './options.js';
import type { SettingFlags } from '../config/index.js';
import { makeOperatorRecorder } from './record-operator.js';
import { escapeText } from './render/escape.js';
import { linesText, renderTable } from './render/text.js';
import type { Database } from '../db/database.js';
import {
  type KnownPolicy,
  askPerson,
  askPolicy,
  judgeIdentities,
  type KeyDoubt,
  NOT_ASKED,
} from '../policy/open/one-person.js';
import { systemClock } from '../lib/ports.js';
import type { CREATE, REVOKE } from './takes/keys.js';
import type { Given } from './verb.js';

type KeyFlags = Given<typeof CREATE> & SettingFlags;

/** Throws `CliFailure` 2 with every fault. The policy, if it is known, has words for what was meant. */
function readKeyFlags(
  flags: KeyFlags,
  now: Instant,
  { anonymous, policy }: { readonly anonymous: AnonymousSettings | null; readonly policy: KnownPolicy['policy'] },
): NewKey {
  const request: KeyRequest = {
    actor: flags.actor,
    identities: flags.identity ?? [],
    scopes: flags.scopeNone === true ? [] : (flags.scope?.flatMap((list) => list.split(',')) ?? null),
    restrictions: flags.restrictNone === true ? [] : (flags.restrict?.flatMap((list) => list.split(',')) ?? null),
    expires: flags.expires ?? null,
    admin: flags.admin === true,
    decide: flags.decide === true,
    monitor: flags.monitor === true,
  };
  const read = readNewKey(request, now, anonymous);
  if (read.ok) return read.key;
  throw notCreated(read.faults.map((fault) => faultText(fault, request, policy)));
}

function notCreated(faults: readonly string[]): CliFailure {
  const text = faults.map((fault) => escapeText(fault)).join('\n');
  return new CliFailure(EXIT.usage, 'keys.invalid', 'the key was not created', { text, report: { faults } });
}

/** A key with a scope that the policy does not know would open nothing with it, and nobody would notice. */
function requireKnownScopes({ scopes }: Pick<NewKey, 'scopes'>, { policy }: KnownPolicy): void {
  if (scopes === null || policy === null) return;
  const unknown = scopeNames(scopes).filter((scope) => !policy.scopes.includes(scope));
  if (unknown.length === 0) return;
  throw notCreated(
    unknown.map((scope) => `${FLAGS.scopes} \`${scope}\`: is not a scope of the policy; ${scopeHelp(scope, policy)}`),
  );
}

const FLAGS: Readonly<Record<keyof KeyRequest, string>> = {
  actor: '--actor',
  identities: '--identity',
  scopes: '--scope',
  restrictions: '--restrict',
  expires: '--expires',
  admin: '--admin',
  decide: '--decide',
  monitor: '--monitor',
};

function faultText({ field, index, message }: KeyFault, request: KeyRequest, policy: KnownPolicy['policy']): string {
  const list = request[field];
  const given = index === null || !Array.isArray(list) ? null : String(list[index]);
  const place = given === null ? FLAGS[field] : `${FLAGS[field]} \`${given}\``;
  return `${place}: ${message}${field === 'scopes' && given !== null ? `; ${scopeHelp(given, policy)}` : ''}`;
}

type KeysOptions = SettingFlags & { readonly format: Format };

export async function createKeyCommand(io: CliIo, options: KeyFlags): Promise<void> {
  const now = systemClock.now();
  const config = await configOf(io, options);
  const policy = options.policy ?? config.policy;
  const asked = policy === null ? NOT_ASKED : await askNamed(io, policy, options);
  const own = options.person === undefined ? [] : identitiesOfPerson(options.person, { policy, asked });
  const fields = readKeyFlags({ ...options, identity: [...own, ...(options.identity ?? [])] }, now, {
    anonymous: config.authentication.anonymous,
    policy: asked?.policy ?? null,
  });
  requireKnownScopes(fields, asked ?? NOT_ASKED);
  const { refusal, doubts: found } = judgeIdentities(fields.identities, asked ?? NOT_ASKED);
  const doubts = asked === null && fields.identities.length > 0 ? [notAsked(policy ?? ''), ...found] : found;
  if (refusal !== null)
    throw new CliFailure(EXIT.precondition, 'keys.identities', refusal.text, { help: refusal.help });
  const record = makeOperatorRecorder(now);
  const { text, shown } = await withNamedStore(io, { config }, async (db) => {
    // Read before the key is made: nobody would ever see one whose answer fails after COMMIT.
    const fingerprint = await fingerprinterOf(db);
    const made = await db.write(async (writing) => {
      const stored = await createKey(writing, fields, now);
      await record(writing, {
        operation: 'key.create',
        key: stored.key.id,
        credential: eventCredential(stored.key),
      });
      return stored;
    });
    return { text: made.text, shown: showKey(made.key, now, fingerprint) };
  });
  await write(io.stderr, doubts.map(warning).join(''));
  const { id, ...rest } = shown;
  await print(io, options.format, { json: () => ({ id, key: text, ...rest }), text: () => `${text}\n` });
  if (options.format === 'text')
    await write(io.stderr, `${summary(shown)}The key is shown only this once: keep it like a password.\n`);
}

/** Null if the policy that the settings name cannot be used. Throws `CliFailure` 2 for one that the command line names. */
async function askNamed(io: CliIo, policy: string, options: KeyFlags): Promise<KnownPolicy | null> {
  // Without identities and scopes there is nothing to ask.
  if (options.person === undefined && [...(options.identity ?? []), ...(options.scope ?? [])].length === 0)
    return NOT_ASKED;
  const asked = await atPolicy(io, policy, askPolicy);
  if (asked === null && (options.policy !== undefined || options.person !== undefined))
    throw usage(`the policy \`${policy}\` cannot be used`, SEE_CHECK);
  return asked;
}

const SEE_CHECK = '`bailiwick check` or `bailiwick verify` says what is wrong with it';

function notAsked(policy: string): KeyDoubt {
  const text = `the policy \`${policy}\` cannot be used, so these identities were not checked against it`;
  return { text, help: SEE_CHECK };
}

/** Throws `CliFailure` 2 unless the policy folder names the person. */
function identitiesOfPerson(
  person: string,
  { policy, asked }: { readonly policy: string | null; readonly asked: KnownPolicy | null },
): readonly string[] {
  if (policy === null || asked === null)
    throw usage('`--person` needs the policy that names people', 'name its folder with `--policy`');
  const answer = askPerson(person, asked);
  switch (answer.kind) {
    case 'person':
      return answer.identities;
    case 'unknown':
      throw unknownPerson(person, answer.known);
    case 'nameless':
      throw usage(`the snapshot \`${policy}\` does not name people`, 'name the policy folder with `--policy`');
  }
}

function warning({ text, help }: KeyDoubt): string {
  return `warning: ${escapeText(text)}\n  help: ${escapeText(help)}\n`;
}

export async function listKeysCommand(io: CliIo, options: KeysOptions): Promise<Answer> {
  const now = systemClock.now();
  const keys = await withNamedStore(io, { config: await configOf(io, options), asItIs: true }, async (db) => {
    const fingerprint = await fingerprinterOf(db);
    return (await listKeys(db)).map((key) => showKey(key, now, fingerprint));
  });
  const none = 'no keys; `bailiwick keys create` makes one\n';
  return { json: () => ({ keys }), text: () => (keys.length === 0 ? none : renderTable(HEADINGS, keys.map(rowOf))) };
}

export async function revokeKeyCommand(
  io: CliIo,
  { 'key-id': id, ...options }: Given<typeof REVOKE> & SettingFlags,
): Promise<Answer> {
  const help = 'see `bailiwick keys list`';
  // A string that is not an id may be a whole key, so it is not repeated.
  if (!isKeyId(id))
    throw new CliFailure(EXIT.usage, 'keys.id', 'this is not the id of a key; give the id alone, never the key', {
      help,
    });
  const now = systemClock.now();
  const record = makeOperatorRecorder(now);
  const revoked = await withNamedStore(io, { config: await configOf(io, options), asItIs: true }, (db) =>
    revokeKey(db, {
      id,
      now,
      beside: async (writing, { key }) => {
        const credential = key === null ? {} : { credential: eventCredential(key) };
        await record(writing, { ...credential, operation: 'key.revoke', key: id });
      },
    }),
  );
  if (revoked === null) throw new CliFailure(EXIT.usage, 'keys.unknown', `there is no key \`${id}\``, { help });
  const revokedAt = formatInstant(revoked.at);
  return { json: () => ({ id, revokedAt }), text: () => `revoked ${id}, ${revokedAt}\n` };
}

async function fingerprinterOf(db: Database): Promise<Fingerprinter> {
  return makeFingerprinter((await readSecrets(db)).fingerprint);
}

const HEADINGS = ['ID', 'ACTOR', 'IDENTITIES', 'SCOPES', 'NAMESPACES', 'EXPIRES', 'LAST USED', 'STATUS', 'FINGERPRINT'];

/** Enough characters to find a fingerprint in a log. The JSON has the whole. */
const SHORT = 12;

function rowOf(key: ShownKey): readonly string[] {
  const other = key.identities.length > 0 ? null : key.admin ? 'admin' : key.monitor ? 'monitor' : null;
  return [
    key.id,
    key.actor,
    other !== null ? `(${other})` : key.decide ? '(decide)' : key.identities.join(','),
    other !== null ? '-' : key.scopes === null ? 'all' : key.scopes.join(',') || 'none',
    other !== null ? '-' : key.restrictions === null ? 'all' : key.restrictions.join(',') || 'none',
    key.expires ?? 'never',
    key.lastUsedAt ?? 'never',
    key.status,
    `${key.fingerprint.slice(0, SHORT)}…`,
  ].map((cell) => escapeText(cell));
}

function summary(key: ShownKey): string {
  // Only keys for data have identities, scopes and namespaces.
  const isForData = !key.admin && !key.monitor;
  const lines: readonly (readonly [string, string | null])[] = [
    ['id', key.id],
    ['actor', key.actor],
    ['opens', isForData ? null : key.admin ? 'the admin listener' : '`/metrics` and status of the admin listener'],
    ['identities', isForData ? key.identities.join(', ') || 'none' : null],
    ['scopes', isForData ? (key.scopes === null ? 'all' : key.scopes.join(', ') || 'none') : null],
    ['namespaces', isForData ? (key.restrictions === null ? 'all' : key.restrictions.join(', ') || 'none') : null],
    ['decide', key.decide ? 'yes' : null],
    ['created', key.createdAt],
    ['expires', key.expires],
    ['revoked', key.revokedAt],
    ['last used', key.lastUsedAt],
    ['fingerprint', key.fingerprint],
  ];
  return linesText(lines.map(([name, text]) => text !== null && `${name.padEnd(12)}${text}`));
}
