// Key pairs on disk. The private key is in a file that only its owner can read, with the public key beside it.
import { open, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { SIGNING_LIMITS } from '../limits/policy.js';
import { type NewKeyPair, openPrivatePem, openPublicPem, type SigningKey } from './ed25519.js';
import { SigningError } from './signing-error.js';
import { systemCodeOf } from '../lib/small-file.js';
import { syncFolder } from '../lib/whole-file.js';
import { type NamedFile, readNamedFile } from './named-file.js';

const PRIVATE_MODE = 0o600;
const PUBLIC_MODE = 0o644;
const OTHERS = 0o077;

/** Writes both files or neither, and never overwrites a file. Throws `SigningError`. */
export async function writeKeyPair(file: NamedFile, pair: NewKeyPair): Promise<void> {
  await writeNew(file, pair.privatePem, PRIVATE_MODE);
  try {
    await writeNew({ path: `${file.path}.pub`, shown: `${file.shown}.pub` }, pair.publicPem, PUBLIC_MODE);
  } catch (error) {
    await unlink(file.path);
    throw error;
  }
}

async function writeNew({ path, shown }: NamedFile, text: string, mode: number): Promise<void> {
  try {
    const handle = await open(path, 'wx', mode);
    try {
      // Sets the mode whatever the umask is.
      await handle.chmod(mode);
      await handle.writeFile(text);
      await handle.sync();
    } catch (error) {
      await unlink(path);
      throw error;
    } finally {
      await handle.close();
    }
    await syncFolder(dirname(path));
  } catch (error) {
    const code = systemCodeOf(error);
    if (code === 'EEXIST') {
      const help = 'keys are never overwritten: name another file, or move this one away';
      throw new SigningError('key.exists', `\`${shown}\` is there already`, { help });
    }
    throw new SigningError('file.unwritable', `\`${shown}\` cannot be written (${code})`, {
      ...(code === 'ENOENT' ? { help: 'make its folder first, or name a file in a folder that exists' } : {}),
      cause: error,
    });
  }
}

/** Throws `SigningError`, also for a key that others could have copied. No message ever contains any of the key. */
export async function readSigningKey(file: NamedFile): Promise<SigningKey> {
  const { bytes, facts } = await readNamedFile(file, SIGNING_LIMITS.keyBytes);
  try {
    const text = bytes.toString('latin1');
    const key = openPrivatePem(text);
    if (key === null) throw notPrivate(file.shown, text);
    if ((facts.mode & OTHERS) === 0) return key;
    const help = `make it yours alone: chmod 600 ${file.shown}; if others may have read it, make a new key`;
    throw new SigningError('key.exposed', `\`${file.shown}\` can be read by others`, { help });
  } finally {
    bytes.fill(0);
  }
}

/** The 32 bytes of a public key. Throws `SigningError`. */
export async function readPublicKey(file: NamedFile): Promise<Uint8Array> {
  const { bytes } = await readNamedFile(file, SIGNING_LIMITS.keyBytes);
  const key = openPublicPem(bytes.toString('latin1'));
  if (key !== null) return key;
  const help = 'name the file that `bailiwick keygen` wrote with `.pub` at its end';
  throw new SigningError('key.invalid', `\`${file.shown}\` is not an Ed25519 public key`, { help });
}

function notPrivate(shown: string, text: string): SigningError {
  if (/^-----BEGIN PUBLIC KEY-----$/m.test(text)) {
    const help = shown.endsWith('.pub')
      ? `sign with the private key, which \`keygen\` wrote beside it: \`${shown.slice(0, -'.pub'.length)}\``
      : 'sign with the private key, which `keygen` wrote beside it, without `.pub`';
    return new SigningError('key.invalid', `\`${shown}\` is a public key, and nobody can sign with one`, { help });
  }
  const help = 'the file must be an unencrypted Ed25519 key as `bailiwick keygen` makes it';
  return new SigningError('key.invalid', `\`${shown}\` is not a private key that can sign`, { help });
}
