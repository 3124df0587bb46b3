// `bailiwick sign <snapshot>` (engine/README.md "Publication statements"): verifies the snapshot as a whole, and signs
// a statement about it that is kept beside it. An existing statement that says the same gets one more signature. One
// that states other values has signatures of other people, and is replaced only on request.
import {
  encodeEnvelope,
  encodeStatement,
  formatInstant,
  keyIdOf,
  type PublicationStatement,
} from '../../../engine/index.js';
import { accessRoot } from '../../signing/access-tree.js';
import { readSigningKey } from '../../signing/key-file.js';
import { signOnce, type StatementChange } from '../../signing/sign-statement.js';
import { statementPathOf } from '../../signing/statement-file.js';
import { usage } from '../exit.js';
import { writeWhole } from '../files.js';
import { type Answer, type CliIo, namedFile, pathOf, pathsOf } from '../io.js';
import { openStated } from '../open-policy.js';
import { formats } from '../options.js';
import { count, linesText } from '../render/text.js';
import { asFailure, readStatementFlags, sourceText, statementJson } from '../statement-flags.js';
import { sourceOf } from '../statement-source.js';
import { statementOfFile, statementOfFlags } from '../statement-to-sign.js';
import { excluding, type Given, required, takes, verb } from '../verb.js';

const FIELD = { group: 'Required without --add:' };

const TAKES = takes({
  '<snapshot>': 'snapshot file (`-` is stdin); it is verified first',
  '--key <file>': required('private key of `bailiwick keygen`, readable by its owner alone'),
  '--environment <name>': { ...FIELD, about: 'environment that the snapshot is for, such as `production`' },
  '--generation <number>': { ...FIELD, about: 'number that rises with each publication' },
  '--expires <instant>': { ...FIELD, about: 'end of the statement, as in 2027-06-30T00:00:00Z' },
  '--issued <instant>': 'time of issue (default: now, or that of the existing statement)',
  '--at <instant>': { about: '', hidden: true, excludes: ['issued'] },
  '--add <statement>': excluding(
    'add a signature to this statement, with all its fields',
    'environment',
    'generation',
    'expires',
    'issued',
    'at',
    'output',
    'replace',
  ),
  '--source-commit [commit]': excluding(
    'commit that the snapshot was compiled from; without a value, the current one, if it compiles to this snapshot',
    'add',
  ),
  '--source-repository [url]': excluding('repository of that commit; without a value, the remote `origin`', 'add'),
  '--replace': 'replace a statement that states other values, and drop its signatures',
  '-o, --output <file>': 'file for the statement; `-` is stdout (default: `<snapshot>.dsse.json`)',
  ...formats(),
});

export const defineSign = verb(TAKES, sign, {
  examples: {
    'for production, until July':
      'bailiwick sign snapshot.json --key release.key --environment production --generation 7 --expires 2027-07-01T00:00:00Z',
    'with the commit and the repository that it comes from, found in git':
      'bailiwick sign snapshot.json --key release.key --environment production --generation 7 --expires 2027-07-01T00:00:00Z --source-commit --source-repository',
    'a second signature: the same statement, another key':
      'bailiwick sign snapshot.json --key ana.key --add snapshot.json.dsse.json',
  },
});

/**
 * Throws `CliFailure`: 2 for wrong flags or files, 6 for an exposed key or if there is a different statement, 8 if the
 * snapshot is not intact.
 */
async function sign(io: CliIo, { snapshot: path, ...options }: Given<typeof TAKES>): Promise<Answer> {
  const values = readStatementFlags(options);
  requireFields(options);
  const output = outputOf(path, options);
  const key = await asFailure(readSigningKey(namedFile(io, options.key)));
  const { policy, source } = await openStated(io, path);
  if (source === 'folder') {
    throw usage(
      'only a snapshot file can be signed, not a folder',
      'compile it first: bailiwick compile <dir> -o snapshot.json',
    );
  }
  const origin = await sourceOf(io, options, policy.digest);
  const facts = {
    ...{ snapshot: policy.digest, policy: policy.name, access: accessRoot(policy) },
    ...(origin === null ? {} : { source: origin }),
  };
  const { statement, existing } = await (options.add === undefined
    ? statementOfFlags(io, facts, { values, output, replace: options.replace === true })
    : statementOfFile(io, facts, options.add));
  const signed = signOnce(key, encodeStatement(statement), existing);
  if (signed === null)
    throw usage('the statement already has as many signatures as one may have', 'no more are allowed');
  const text = `${encodeEnvelope(signed.envelope)}\n`;
  if (output !== '-') {
    const inputs = pathsOf(io, [options.key, path]);
    await writeWhole(pathOf(io, output), Buffer.from(text), { shown: output, inputs });
  }
  const { envelope, change } = signed;
  const keyId = keyIdOf(key.publicKey);
  const signatures = envelope.signatures.map((signature) => signature.keyId);
  const said = (): string =>
    linesText([
      `statement ${output}: ${CHANGES.get(change) ?? change}, ${count(signatures.length, 'signature')}`,
      ...statementLines(statement),
      `key       ${keyId}`,
    ]);
  return {
    json: () => ({
      ...{ file: output, snapshot: policy.digest, keyId, change, signatures },
      statement: statementJson(statement),
    }),
    ...(output === '-' ? { notes: said, text: () => text } : { text: said }),
  };
}

const FIELDS = ['environment', 'generation', 'expires'] as const;

function requireFields(options: Omit<Given<typeof TAKES>, 'snapshot'>): void {
  const missing = FIELDS.filter((field) => options[field] === undefined).map((field) => `\`--${field}\``);
  if (options.add !== undefined || missing.length === 0) return;
  throw usage(
    `the statement still needs ${missing.join(', ')}`,
    'or take every field from an existing statement with `--add <statement>`',
  );
}

function outputOf(path: string, { output, add, format }: Omit<Given<typeof TAKES>, 'snapshot'>): string {
  if (add !== undefined) return add;
  if (output === '-' && format === 'json') {
    throw usage('with `-o -` stdout carries the statement, so `--format json` has no place', 'name a file');
  }
  if (path === '-' && output === undefined) {
    throw usage(
      'a snapshot on stdin has no file beside which the statement could be written',
      'name a file for the statement with `-o`',
    );
  }
  return output ?? statementPathOf(path);
}

const CHANGES: ReadonlyMap<StatementChange, string> = new Map([
  ['created', 'signed'],
  ['added', 'signature added'],
  ['unchanged', 'already signed by this key'],
  ['replaced', 'signed; it replaces another statement and its signatures'],
]);

function statementLines(statement: PublicationStatement): readonly string[] {
  const { policy, environment, generation, issued, expires, snapshot, access, source } = statement;
  return [
    `snapshot  ${snapshot}`,
    `policy    ${policy} for ${environment}, statement generation ${String(generation)}`,
    `in force  ${formatInstant(issued)} until ${formatInstant(expires)}`,
    ...(access === undefined ? [] : [`access    ${access}`]),
    ...(source === undefined ? [] : [`source    ${sourceText(source)}`]),
  ];
}
