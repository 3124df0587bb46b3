// Reads the request for a new key, with the same rules wherever it comes from. It reports every fault at its place, and
// accepts nothing that could mean "all" by accident. No message repeats what was given.
import {
  canonicalize,
  type Identity,
  type Instant,
  isScopeName,
  type NamespacePath,
  parseIdentity,
  parseInstant,
  scopeSetOf,
  subjectFault,
} from '../../engine/index.js';
import { holdsCredential } from '../lib/mask.js';
import { KEY_LIMITS } from '../limits/credentials.js';
import { type AnonymousSettings, isAnonymous } from './anonymous.js';
import type { NewKey } from './api-keys.js';
import { carriedBytes } from './carried-bytes.js';

/** The request as it was written. */
export interface KeyRequest {
  readonly actor: string;
  /** Each as `provider:subject`. */
  readonly identities: readonly string[];
  /** Null: not narrowed. */
  readonly scopes: readonly string[] | null;
  /** Null: not narrowed. */
  readonly restrictions: readonly string[] | null;
  readonly expires: string | null;
  readonly admin: boolean;
  readonly decide: boolean;
  readonly monitor: boolean;
}

export interface KeyFault {
  readonly field: keyof KeyRequest;
  /** The index in the field's list; null if the fault is about the whole field. */
  readonly index: number | null;
  /** Continues a sentence that begins with the name of the place. */
  readonly message: string;
}

export type KeyReading =
  { readonly ok: true; readonly key: NewKey } | { readonly ok: false; readonly faults: readonly KeyFault[] };

/** `anonymous` is who reads without a credential. */
export function readNewKey(request: KeyRequest, now: Instant, anonymous: AnonymousSettings | null = null): KeyReading {
  const faults: KeyFault[] = [];
  const key: NewKey = {
    actor: readActor(request, faults),
    identities: readIdentities(request, anonymous, faults),
    scopes: readScopes(request, faults),
    restrictions: readRestrictions(request, faults),
    expires: readExpiry(request, now, faults),
    admin: request.admin,
    decide: request.decide,
    monitor: request.monitor,
  };
  const most = KEY_LIMITS.carriedBytes;
  if (carriedBytes(key.identities, key.restrictions) > most) {
    const message = `has more than ${String(most)} bytes together with the identities: name namespaces further up, or make several keys`;
    faults.push({ field: 'restrictions', index: null, message });
  }
  return faults.length === 0 ? { ok: true, key } : { ok: false, faults };
}

function readActor({ actor }: KeyRequest, faults: KeyFault[]): string {
  const fault = subjectFault(actor);
  if (fault !== null)
    faults.push({ field: 'actor', index: null, message: SUBJECT_FAULTS.get(fault) ?? 'is not plain text' });
  else if (holdsCredential(actor)) faults.push({ field: 'actor', index: null, message: A_CREDENTIAL });
  return actor;
}

/** Names are shown and recorded. */
const A_CREDENTIAL = 'holds an API key or a token, which is no name';

const SUBJECT_FAULTS: ReadonlyMap<string, string> = new Map([
  ['no_colon', 'must be `provider:subject`'],
  ['provider', 'the provider (before the first colon) must be a name such as `orcid`'],
  ['subject_empty', 'is empty'],
  ['subject_too_long', 'is longer than 255 bytes'],
  ['subject_space', 'begins or ends with white space'],
  ['subject_control', 'has control characters'],
  ['not_nfc', 'is not in composed form (NFC)'],
]);

function readIdentities(
  { identities, admin, decide, monitor, scopes, restrictions }: KeyRequest,
  anonymous: AnonymousSettings | null,
  faults: KeyFault[],
): readonly Identity[] {
  const fault = (index: number | null, message: string): void => {
    faults.push({ field: 'identities', index, message });
  };
  if ((admin || monitor) && (identities.length > 0 || scopes !== null || restrictions !== null)) {
    faults.push({
      field: admin ? 'admin' : 'monitor',
      index: null,
      message: `a key for ${admin ? 'administration' : 'monitoring'} has no identities, scopes or namespaces`,
    });
  }
  if (decide && (admin || identities.length > 0)) {
    const message = admin ? 'a key is of one kind' : 'a key that asks about others has no identities of its own';
    faults.push({ field: 'decide', index: null, message });
  }
  if (monitor && (admin || decide)) faults.push({ field: 'monitor', index: null, message: 'a key is of one kind' });
  if (identities.length === 0 && !admin && !decide && !monitor) {
    fault(null, 'at least one is needed, as `provider:subject`; a key without one can do nothing');
  }
  if (identities.length > KEY_LIMITS.identities) fault(null, `more than ${String(KEY_LIMITS.identities)}`);
  const read = new Map<string, Identity>();
  for (const [index, text] of identities.entries()) {
    const result = parseIdentity(text);
    if (result.ok) read.set(text, result.identity);
    else fault(index, SUBJECT_FAULTS.get(result.fault) ?? 'is not an identity');
    if (result.ok && holdsCredential(text)) fault(index, A_CREDENTIAL);
    if (result.ok && isAnonymous(result.identity, anonymous))
      fault(index, 'is who reads without a credential (`authentication.anonymous`), so no key can have it');
  }
  return [...read.values()];
}

function readScopes({ scopes }: KeyRequest, faults: KeyFault[]): NewKey['scopes'] {
  if (scopes === null) return null;
  for (const [index, name] of scopes.entries()) {
    if (!isScopeName(name)) faults.push({ field: 'scopes', index, message: 'is not a scope' });
  }
  return scopeSetOf(scopes.filter(isScopeName));
}

function readRestrictions({ restrictions }: KeyRequest, faults: KeyFault[]): readonly NamespacePath[] | null {
  if (restrictions === null) return null;
  const read = new Set<NamespacePath>();
  for (const [index, text] of restrictions.entries()) {
    const result = canonicalize(text);
    if (result.ok) read.add(result.path);
    else faults.push({ field: 'restrictions', index, message: 'is not a namespace path' });
  }
  const most = KEY_LIMITS.restrictions;
  if (read.size > most) faults.push({ field: 'restrictions', index: null, message: `more than ${String(most)}` });
  return [...read];
}

function readExpiry({ expires }: KeyRequest, now: Instant, faults: KeyFault[]): Instant | null {
  if (expires === null) return null;
  const instant = parseInstant(expires);
  const message =
    instant === null
      ? 'must be a time with offset, as in `2027-06-30T00:00:00Z`'
      : instant <= now
        ? 'has passed'
        : null;
  if (message !== null) faults.push({ field: 'expires', index: null, message });
  return instant;
}
