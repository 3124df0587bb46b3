// The keys to trust: public keys with names, and how many of them must have signed (engine/README.md "Publication statements"). The
// only algorithm is Ed25519, and there is nothing to negotiate. The first twelve bytes of a public key's standard form name it.
import { isName } from '../model/identity.js';
import { decodeBase64, encodeBase64 } from './base64.js';
import { memberOf, textOf } from './fields.js';
import { STATEMENT_LIMITS } from '../limits.js';
import { keyIdOf, publicKeyFault, type PublicKeyFault } from './public-key.js';

export interface KeyringKey {
  readonly name: string;
  readonly keyId: string;
  /** The 32 bytes. */
  readonly publicKey: Uint8Array;
}

/** A keyring has at least one key, all keys differ, and they can reach the threshold. */
export interface Keyring {
  readonly threshold: number;
  readonly keys: readonly KeyringKey[];
}

export interface KeyringFault {
  /** A JSON pointer (RFC 6901). */
  readonly pointer: string;
  readonly part: 'key' | 'value';
  readonly message: string;
}

export type KeyringResult =
  { readonly ok: true; readonly keyring: Keyring } | { readonly ok: false; readonly faults: readonly KeyringFault[] };

/** SubjectPublicKeyInfo of Ed25519 up to the 32 bytes of the key (RFC 8410). */
const PREFIX = 'MCowBQYDK2VwAyEA';

/** The public key as in a keyring, which is also the line between the two marker lines of a PEM file. */
export function formatPublicKey(publicKey: Uint8Array): string {
  return PREFIX + encodeBase64(publicKey);
}

const FAULTS: ReadonlyMap<PublicKeyFault, string> = new Map([
  ['length', 'is not an Ed25519 public key: it must have 32 bytes'],
  ['not_canonical', 'is not an Ed25519 public key: its point is not encoded canonically'],
  ['small_order', 'must not be trusted: for a key of small order anyone can sign'],
  ['no_point', 'is not an Ed25519 public key: it is not a point of the curve; is a letter wrong?'],
]);

/** The 32 bytes, or what is wrong with the key as the end of a sentence about it. */
export function parsePublicKey(text: string): Uint8Array | string {
  if (!text.startsWith(PREFIX)) return `must be the middle line of a \`.pub\` file, which begins with \`${PREFIX}\``;
  const bytes = decodeBase64(text.slice(PREFIX.length));
  if (bytes === null) return 'is not strict base64';
  const fault = publicKeyFault(bytes);
  return fault === null ? bytes : (FAULTS.get(fault) ?? 'is not an Ed25519 public key');
}

/** Reads the parsed value of a keyring file. All faults are reported at once. */
export function decodeKeyring(value: unknown): KeyringResult {
  const faults: KeyringFault[] = [];
  const refuse: Refuse = (pointer, message, part = 'value') => void faults.push({ pointer, part, message });
  checkMembers(value, { pointer: '', allowed: ['threshold', 'keys'], refuse });
  const keys = decodeKeys(memberOf(value, 'keys'), refuse);
  const threshold = memberOf(value, 'threshold');
  if (!isThreshold(threshold)) refuse('/threshold', '`threshold` must be a whole number from 1');
  else if (faults.length === 0 && threshold > keys.length) {
    refuse(
      '/threshold',
      `\`threshold\` is ${String(threshold)}, more than the keyring has keys: nothing could ever pass`,
    );
  }
  return faults.length === 0 && isThreshold(threshold)
    ? { ok: true, keyring: { threshold, keys } }
    : { ok: false, faults };
}

type Refuse = (pointer: string, message: string, part?: 'key' | 'value') => void;

function isThreshold(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1;
}

function decodeKeys(value: unknown, refuse: Refuse): readonly KeyringKey[] {
  if (!Array.isArray(value) || value.length === 0) {
    refuse('/keys', '`keys` must be a list of at least one key');
    return [];
  }
  if (value.length > STATEMENT_LIMITS.keys) {
    refuse('/keys', `\`keys\` has more than ${String(STATEMENT_LIMITS.keys)} keys`);
    return [];
  }
  const keys: KeyringKey[] = [];
  value.forEach((entry: unknown, index) => {
    const pointer = `/keys/${String(index)}`;
    const key = decodeKey(entry, pointer, refuse);
    if (key === null) return;
    const same = keys.find((other) => other.keyId === key.keyId);
    if (same !== undefined)
      refuse(`${pointer}/publicKey`, `\`publicKey\` is the key of \`${same.name}\` again: it would count twice`);
    if (keys.some((other) => other.name === key.name))
      refuse(`${pointer}/name`, `\`${key.name}\` is the name of another key`);
    keys.push(key);
  });
  return keys;
}

function decodeKey(entry: unknown, pointer: string, refuse: Refuse): KeyringKey | null {
  if (!checkMembers(entry, { pointer, allowed: ['name', 'publicKey'], refuse })) return null;
  // A missing member has no place, so its parent's place is reported.
  const placeOf = (key: string): string => (memberOf(entry, key) === undefined ? pointer : `${pointer}/${key}`);
  const name = textOf(memberOf(entry, 'name'));
  const text = textOf(memberOf(entry, 'publicKey'));
  const named = name !== null && isName(name);
  if (!named) refuse(placeOf('name'), '`name` must be a name such as `release-2027`');
  const publicKey = text === null ? 'must be a string' : parsePublicKey(text);
  if (typeof publicKey === 'string') refuse(placeOf('publicKey'), `\`publicKey\` ${publicKey}`);
  return !named || typeof publicKey === 'string' ? null : { name, keyId: keyIdOf(publicKey), publicKey };
}

interface Members {
  readonly pointer: string;
  readonly allowed: readonly string[];
  readonly refuse: Refuse;
}

/** Whether the value is an object. Members with unknown names are refused. */
function checkMembers(value: unknown, { pointer, allowed, refuse }: Members): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    refuse(pointer, `must be a mapping of ${allowed.map((key) => `\`${key}\``).join(' and ')}`);
    return false;
  }
  for (const key of Object.keys(value)) {
    if (allowed.includes(key)) continue;
    const escaped = key.replaceAll('~', '~0').replaceAll('/', '~1');
    refuse(
      `${pointer}/${escaped}`,
      `there is no \`${key}\` here; the known keys are ${allowed.map((one) => `\`${one}\``).join(', ')}`,
      'key',
    );
  }
  return true;
}
