// Revoked credentials of every kind: a file of fingerprints, read again while the gateway runs. If the file becomes
// unreadable, nobody is let back in: its last content stays in force.
import { stat } from 'node:fs/promises';
import { TOKEN_LIMITS } from '../limits/credentials.js';
import type { Logger } from '../lib/ports.js';
import { readSmallFile, SmallFileError, systemCodeOf } from '../lib/small-file.js';
import { type Poller, makePoller } from '../lib/poller.js';

export interface Revocations extends Poller {
  readonly has: (fingerprint: string) => boolean;
}

/** `message` continues a sentence that begins with the name of the file. */
export class RevocationsError extends Error {
  override readonly name = 'RevocationsError';
}

/** The fingerprints in the file. Rejects with `RevocationsError`. */
export async function readRevocations(path: string): Promise<ReadonlySet<string>> {
  return parse(await readBytes(path));
}

/** Rejects with `RevocationsError` if the file cannot be used at the start. */
export async function watchRevocations(path: string, log: Logger): Promise<Revocations> {
  let seen = await identityOf(path);
  let revoked = await readRevocations(path);
  let isBad = false;
  const look = async (): Promise<void> => {
    try {
      const found = await identityOf(path);
      if (found === seen) return;
      const bytes = await readBytes(path);
      // The mark from before the file was read. So a change in the meantime makes it be read again, and so does a
      // failure to read.
      seen = found;
      revoked = parse(bytes);
      isBad = false;
      log.info({ path, revoked: revoked.size }, 'the list of revoked credentials was read again');
    } catch (error) {
      const reason = error instanceof RevocationsError ? error.message : 'cannot be read';
      if (!isBad)
        log.error(
          { path, reason, error },
          'the list of revoked credentials cannot be read; the last one stays in force',
        );
      isBad = true;
    }
  };
  return { ...makePoller(TOKEN_LIMITS.revocationsInterval, look), has: (fingerprint) => revoked.has(fingerprint) };
}

/** A mark that changes with every change of the file. A file that cannot be examined has a mark of its own. */
async function identityOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
  } catch (error) {
    return systemCodeOf(error);
  }
}

async function readBytes(path: string): Promise<Buffer> {
  try {
    return (await readSmallFile(path, TOKEN_LIMITS.revocationsBytes)).bytes;
  } catch (error) {
    if (error instanceof SmallFileError) throw new RevocationsError(error.message, { cause: error });
    throw error;
  }
}

const FINGERPRINT = /^[0-9a-f]{64}$/;

/**
 * One fingerprint per line. Empty lines and comments after `#` are ignored. Any other line is a mistake and is
 * reported.
 */
function parse(bytes: Buffer): ReadonlySet<string> {
  const revoked = new Set<string>();
  for (const [index, line] of bytes.toString('utf8').split('\n').entries()) {
    // Cut and not matched: in a pattern, `.` stands for no carriage return.
    const text = line.split('#', 1).join('').trim();
    if (text === '') continue;
    if (!FINGERPRINT.test(text)) throw new RevocationsError(`has no fingerprint in line ${String(index + 1)}`);
    revoked.add(text);
  }
  return revoked;
}
