// Signed notes with Ed25519 keys (C2SP signed-note): text, an empty line, and one line for each signature. Cosignatures
// of witnesses (C2SP tlog-cosignature) are such lines with the time at which they were made.
import { hash } from 'node:crypto';
import { type SigningKey, verifyEd25519 } from './ed25519.js';

export interface NoteKey {
  readonly name: string;
  /** The 32 bytes. */
  readonly publicKey: Uint8Array;
}

const ED25519 = 1;
const COSIGNATURE = 4;
const SIGNATURE = /^\u2014 ([^\s+]+) ([A-Za-z0-9+/]+={0,2})$/u;
/** A note has as many signatures at most. */
const SIGNATURES = 64;

function keyId({ name, publicKey }: NoteKey, kind = ED25519): Buffer {
  const bytes = Buffer.concat([Buffer.from(`${name}\n`), Buffer.of(kind), publicKey]);
  return hash('sha256', bytes, 'buffer').subarray(0, 4);
}

/** The text ends with a line end, and has no other control characters. */
export function signNote(text: string, name: string, key: SigningKey): string {
  const id = keyId({ name, publicKey: key.publicKey });
  const signature = Buffer.concat([id, key.sign(Buffer.from(text))]).toString('base64');
  return `${text}\n\u2014 ${name} ${signature}\n`;
}

/** As verifiers of other makes take it: `<name>+<key id in hex>+<base64>`. */
export function verifierKeyText(key: NoteKey): string {
  const bytes = Buffer.concat([Buffer.of(ED25519), key.publicKey]);
  return `${key.name}+${keyId(key).toString('hex')}+${bytes.toString('base64')}`;
}

const VERIFIER_KEY = /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+={0,2})$/u;

/** The key of a witness, as it publishes it (`<name>+<key id in hex>+<base64>`); null for anything else. */
export function parseWitnessKey(text: string): NoteKey | null {
  const [, name = '', id, encoded = ''] = VERIFIER_KEY.exec(text) ?? [];
  const bytes = Buffer.from(encoded, 'base64');
  if (bytes.length !== 33 || bytes[0] !== COSIGNATURE || bytes.toString('base64') !== encoded) return null;
  const key = { name, publicKey: bytes.subarray(1) };
  return keyId(key, COSIGNATURE).toString('hex') === id ? key : null;
}

/** The lines of these signatures that are true cosignatures of the text by this witness. */
export function cosignaturesOf(text: string, lines: string, { name, publicKey }: NoteKey): readonly string[] {
  const id = keyId({ name, publicKey }, COSIGNATURE);
  return lines.split('\n').filter((line) => {
    const found = SIGNATURE.exec(line);
    const bytes = Buffer.from(found?.[2] ?? '', 'base64');
    if (found?.[1] !== name || bytes.length !== 76 || !bytes.subarray(0, 4).equals(id)) return false;
    const message = Buffer.from(`cosignature/v1\ntime ${String(bytes.readBigUInt64BE(4))}\n${text}`);
    return verifyEd25519({ publicKey, message, signature: bytes.subarray(12) });
  });
}

export interface Note {
  readonly text: string;
  /** Whether the key has signed it; null if no signature claims to be of that key. */
  readonly isSignedBy: (key: NoteKey) => boolean | null;
}

/** Null if it is not a note. Its text must not be trusted before a signature is verified. */
export function parseNote(note: string): Note | null {
  const at = note.lastIndexOf('\n\n');
  const lines = note.slice(at + 2).split('\n');
  if (at < 0 || lines.pop() !== '' || lines.length === 0 || lines.length > SIGNATURES) return null;
  // eslint-disable-next-line no-control-regex -- a note has none but line ends
  if (/[\u0000-\u0009\u000b-\u001f]/.test(note)) return null;
  const signatures = lines.map((line) => SIGNATURE.exec(line));
  if (signatures.includes(null)) return null;
  const text = note.slice(0, at + 1);
  return {
    text,
    isSignedBy: (key) => {
      const id = keyId(key);
      const claimed = signatures.flatMap((found) => {
        const bytes = Buffer.from(found?.[2] ?? '', 'base64');
        return found?.[1] === key.name && bytes.subarray(0, 4).equals(id) ? [bytes.subarray(4)] : [];
      });
      if (claimed.length === 0) return null;
      const message = Buffer.from(text);
      const { publicKey } = key;
      return claimed.every((signature) => signature.length === 64 && verifyEd25519({ publicKey, message, signature }));
    },
  };
}
