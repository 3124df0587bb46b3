// `bailiwick check-proof <file>`: what a proof of access shows, without the policy.
import { readAccessProof } from '../../signing/access-proof.js';
import { CliFailure, EXIT, usage } from '../exit.js';
import { type Answer, type CliIo, namedFile } from '../io.js';
import { formats } from '../options.js';
import { readNamedFile } from '../../signing/named-file.js';
import { renderAccessProof } from '../render/answers.js';
import { asFailure } from '../statement-flags.js';
import { type Given, required, takes, verb } from '../verb.js';

const TAKES = takes({
  '<file>': 'proof of `bailiwick prove`',
  '--root <digest>': required('access root of the policy, from a statement that you trust'),
  ...formats(),
});

export const defineCheckProof = verb(TAKES, check, {
  examples: {
    'what a proof shows': 'bailiwick check-proof ann.proof --root sha256:…',
    'where the root comes from': 'bailiwick verify snapshot.json --keyring keyring.yaml',
  },
  json: ['{"ok":true,"root","size","identity","scope","namespace","at","holds","proof":{…}}'],
});

/** A proof takes a few kilobytes, and more where rights change at thousands of instants. */
const MOST_BYTES = 4 * 1024 * 1024;

/** Throws `CliFailure` 8 if the file does not show what it says. */
async function check(io: CliIo, { file, root }: Given<typeof TAKES>): Promise<Answer> {
  if (!/^sha256:[0-9a-f]{64}$/.test(root)) {
    throw usage('`--root` must be `sha256:` and 64 hex digits', '`bailiwick verify` prints it as `access`');
  }
  const { bytes } = await asFailure(readNamedFile(namedFile(io, file), MOST_BYTES));
  const read = readAccessProof(parsed(bytes.toString('utf8')), root);
  if ('fault' in read) {
    const message = `\`${file}\` proves nothing: ${read.fault}`;
    throw new CliFailure(EXIT.integrity, 'access.proof', message, { help: 'ask for a proof of this policy' });
  }
  return { json: () => ({ ok: true, ...read.proof }), text: () => renderAccessProof(read.proof) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // It is not a proof, and is reported as that.
    return null;
  }
}
