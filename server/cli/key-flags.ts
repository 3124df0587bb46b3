// The flags of `keys create`, read to a key: every fault at once, and nothing that could be taken for "all" by accident.
import {
  canonicalize,
  type Identity,
  type Instant,
  isScopeName,
  type NamespacePath,
  parseIdentity,
  parseInstant,
  scopeSetOf,
  SCOPES,
  subjectFault,
} from '../../engine/index.js';
import type { NewKey } from '../auth/api-keys.js';
import { KEY_LIMITS } from '../limits.js';
import { nearest } from '../../engine/compiler.js';
import { EXIT } from './exit-codes.js';
import { CliFailure } from './failure.js';
import { escapeText } from './render/escape.js';

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

function readIdentities({ identity = [], admin }: KeyFlags, faults: string[]): readonly Identity[] {
  if (identity.length === 0 && admin !== true)
    faults.push('--identity: at least one is needed, as `provider:subject`; a key without one can do nothing');
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
