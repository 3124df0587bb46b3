// The file with the secret of a client: all of its bytes but one line end.
import { expect, test } from '@jest/globals';
import { join } from 'node:path';
import { ClientSecretError, readClientSecret } from '../../../server/auth/client-secret.js';
import { SmallFileError } from '../../../server/lib/small-file.js';
import { TOKEN_LIMITS } from '../../../server/limits/credentials.js';
import { makeFolder } from '../../support/temp-folder.js';

const longest = 'x'.repeat(TOKEN_LIMITS.secretBytes);

test.each([
  ['as an editor leaves it', 'of: the% client+\n', 'of: the% client+'],
  ['as it comes on Windows', 'secret\r\n', 'secret'],
  ['without a line end', 'secret', 'secret'],
  ['with line ends of its own', 'first\nsecond\r\nthird\n', 'first\nsecond\r\nthird'],
  ['with an empty last line', 'secret\n\n', 'secret\n'],
  ['with white space', ' secret \n', ' secret '],
  ['as long as it may be', longest, longest],
])('a secret %s', async (_, content, expected) => {
  expect(await readClientSecret(join(await makeFolder({ secret: content }), 'secret'))).toBe(expected);
});

test.each([
  ['is empty', ''],
  ['is empty', '\n'],
  ['is empty', '\r\n'],
  [`is larger than ${String(TOKEN_LIMITS.secretBytes)} bytes`, `${longest}\n`],
])('the operator is told that the file %s', async (message, content) => {
  const reading = readClientSecret(join(await makeFolder({ secret: content }), 'secret'));
  await expect(reading).rejects.toMatchObject({ name: 'ClientSecretError', message });
  await expect(reading).rejects.toThrow(ClientSecretError);
});

test('the operator is told why a file cannot be read', async () => {
  const folder = await makeFolder();
  for (const [path, message] of [
    [join(folder, 'nothing'), 'does not exist'],
    [folder, 'is not a regular file'],
  ] as const)
    await expect(readClientSecret(path)).rejects.toMatchObject({
      name: 'ClientSecretError',
      message,
      // For the log, which shows more than the message.
      cause: expect.any(SmallFileError),
    });
});
