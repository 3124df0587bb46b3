// `bailiwick keygen -o <file>`: a key pair for signing snapshots (engine/README.md "Publication statements").
import { basename } from 'node:path';
import { formatPublicKey, keyIdOf } from '../../../engine/index.js';
import { makeKeyPair } from '../../signing/ed25519.js';
import { writeKeyPair } from '../../signing/key-file.js';
import { type Answer, type CliIo, namedFile } from '../io.js';
import { formats } from '../options.js';
import { linesText } from '../render/text.js';
import { nameFrom } from '../name-from.js';
import { asFailure } from '../statement-flags.js';
import { type Given, required, takes, verb } from '../verb.js';

const TAKES = takes({
  '-o, --output <file>': required(
    'file for the private key, readable by its owner only; the public key goes to `<file>.pub`',
  ),
  ...formats(),
});

export const defineKeygen = verb(TAKES, keygen, {
  examples: {
    'a key for releases; what it prints goes into a keyring': 'bailiwick keygen -o release.key',
    'the same key, shown by another tool': 'openssl pkey -pubin -in release.key.pub -text',
  },
});

async function keygen(io: CliIo, { output }: Given<typeof TAKES>): Promise<Answer> {
  const pair = makeKeyPair();
  await asFailure(writeKeyPair(namedFile(io, output), pair));
  const keyId = keyIdOf(pair.publicKey);
  const publicKey = formatPublicKey(pair.publicKey);
  const publicKeyFile = `${output}.pub`;
  // So that the keys of a keyring have different names: `keys/Ana.key` is `ana`.
  const name = nameFrom(basename(output).replace(/\.(?:key|pem)$/i, '')) ?? 'key';
  const lines = [
    `private key ${output} (keep it secret: whoever has it can sign)`,
    `public key  ${publicKeyFile}`,
    `key id      ${keyId}`,
    '',
    'In a keyring, which `verify --keyring` reads:',
    'threshold: 1',
    'keys:',
    `  - name: ${name}`,
    `    publicKey: ${publicKey}`,
  ];
  return { json: () => ({ keyId, name, file: output, publicKeyFile, publicKey }), text: () => linesText(lines) };
}
