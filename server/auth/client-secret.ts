// The secret of a client at a token's issuer. A file holds it and nothing else.
import { TOKEN_LIMITS } from '../limits/credentials.js';
import { readSmallFile, SmallFileError } from '../lib/small-file.js';

/** `message` continues a sentence that begins with the name of the file. */
export class ClientSecretError extends Error {
  override readonly name = 'ClientSecretError';
}

/** Rejects with `ClientSecretError`. */
export async function readClientSecret(path: string): Promise<string> {
  try {
    const { bytes } = await readSmallFile(path, TOKEN_LIMITS.secretBytes);
    const secret = bytes.toString('utf8').replace(/\r?\n$/, '');
    if (secret === '') throw new ClientSecretError('is empty');
    return secret;
  } catch (error) {
    if (error instanceof SmallFileError) throw new ClientSecretError(error.message, { cause: error });
    throw error;
  }
}
