// `bailiwick sign <snapshot>` (engine/README.md "Publication statements"): verifies the snapshot as a whole, and signs
// a statement about it that is kept beside it. An existing statement that says the same gets one more signature. One
// that states other values has signatures of other people, and is replaced only on request.
import { type Command, Option } from 'commander';
import {
  decodeStatement,
  encodeEnvelope,
  encodeStatement,
  type Envelope,
  formatInstant,
  keyIdOf,
  PAYLOAD_TYPE,
  type PublicationStatement,
  statementFault,
} from '../../../engine/index.js';
import { systemClock } from '../../lib/ports.js';
import { accessRoot } from '../../signing/access-tree.js';
import { readSigningKey } from '../../signing/key-file.js';
import { signOnce, type StatementChange } from '../../signing/sign-statement.js';
import { SigningError } from '../../signing/signing-error.js';
import { readStatementFile, statementPathOf } from '../../signing/statement-file.js';
import { CliFailure, EXIT, usage } from '../exit.js';
import { writeWhole } from '../files.js';
import { type CliIo, namedFile, pathOf, write, writeJson } from '../io.js';
import { openStated } from '../open-policy.js';
import { type Format, formatOption, requiredOption, RuledOption, withExamples } from '../options.js';
import { escapeText } from '../render/escape.js';
import { count } from '../render/text.js';
import { asFailure, readStatementFlags, sourceText, statementJson, type StatementValues } from '../statement-flags.js';
import { type SourceFlags, sourceOf } from '../statement-source.js';

export function defineSign(command: Command, io: CliIo): void {
  command
    .argument('<snapshot>', 'snapshot file (`-` is stdin); it is verified first')
    .addOption(requiredOption('--key <file>', 'private key of `bailiwick keygen`, readable by its owner alone'))
    .addOption(unlessAdded('--environment <name>', 'environment that the snapshot is for, such as `production`'))
    .addOption(unlessAdded('--generation <number>', 'number that rises with each publication'))
    .addOption(unlessAdded('--expires <instant>', 'end of the statement, as in 2027-06-30T00:00:00Z'))
    .option('--issued <instant>', 'time of issue (default: now, or that of the existing statement)')
    .addOption(new RuledOption('--at <instant>').hideHelp().excluding('issued'))
    .addOption(
      new RuledOption('--add <statement>', 'add a signature to this statement, with all its fields').excluding(
        'environment',
        'generation',
        'expires',
        'issued',
        'at',
        'output',
        'replace',
      ),
    )
    .addOption(
      new RuledOption(
        '--source-commit [commit]',
        'commit that the snapshot was compiled from; without a value, the current one, if it compiles to this snapshot',
      ).excluding('add'),
    )
    .addOption(
      new RuledOption(
        '--source-repository [url]',
        'repository of that commit; without a value, the remote `origin`',
      ).excluding('add'),
    )
    .option('--replace', 'replace a statement that states other values, and drop its signatures')
    .option('-o, --output <file>', 'file for the statement; `-` is stdout (default: `<snapshot>.dsse.json`)')
    .addOption(formatOption())
    .action((snapshot: string, options: SignOptions) => sign(io, snapshot, options));
  withExamples(command, [
    [
      'for production, until July',
      'bailiwick sign snapshot.json --key release.key --environment production --generation 7 --expires 2027-07-01T00:00:00Z',
    ],
    [
      'with the commit and the repository that it comes from, found in git',
      'bailiwick sign snapshot.json --key release.key --environment production --generation 7 --expires 2027-07-01T00:00:00Z --source-commit --source-repository',
    ],
    [
      'a second signature: the same statement, another key',
      'bailiwick sign snapshot.json --key ana.key --add snapshot.json.dsse.json',
    ],
  ]);
}

interface SignOptions extends SourceFlags {
  readonly key: string;
  readonly environment?: string;
  readonly generation?: string;
  readonly expires?: string;
  readonly issued?: string;
  readonly at?: string;
  /** A statement to add a signature to, instead of the four fields. */
  readonly add?: string;
  readonly replace?: true;
  readonly output?: string;
  readonly format: Format;
}

/**
 * Throws `CliFailure`: 2 for wrong flags or files, 6 for an exposed key or if there is a different statement, 8 if the
 * snapshot is not intact.
 */
async function sign(io: CliIo, path: string, options: SignOptions): Promise<void> {
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
    ? composed(io, facts, { values, output, replace: options.replace === true })
    : taken(io, facts, options.add));
  const signed = signOnce(key, encodeStatement(statement), existing);
  if (signed === null)
    throw usage('the statement already has as many signatures as one may have', 'no more are allowed');
  const text = `${encodeEnvelope(signed.envelope)}\n`;
  if (output === '-') await write(io.stdout, text);
  else {
    const protectedFiles = [options.key, ...(path === '-' ? [] : [path])].map((file) => pathOf(io, file));
    await writeWhole(pathOf(io, output), Buffer.from(text), { shown: output, protectedFiles });
  }
  await tell(io, { ...signed, output, format: options.format, statement, keyId: keyIdOf(key.publicKey) });
}

const FIELDS = ['environment', 'generation', 'expires'] as const;

function unlessAdded(flags: string, description: string): Option {
  return new Option(flags, description).helpGroup('Required without --add:');
}

function requireFields(options: SignOptions): void {
  const missing = FIELDS.filter((field) => options[field] === undefined).map((field) => `\`--${field}\``);
  if (options.add !== undefined || missing.length === 0) return;
  throw usage(
    `the statement still needs ${missing.join(', ')}`,
    'or take every field from an existing statement with `--add <statement>`',
  );
}

function outputOf(path: string, { output, add, format }: SignOptions): string {
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

type Facts = Pick<PublicationStatement, 'snapshot' | 'policy' | 'access' | 'source'>;

/** What to sign, and the envelope that it is in or replaces. */
interface ToSign {
  readonly statement: PublicationStatement;
  readonly existing: Envelope | null;
}

/** The statement that somebody else has made, field by field. */
async function taken(io: CliIo, facts: Facts, file: string): Promise<ToSign> {
  const existing = await asFailure(readStatementFile(namedFile(io, file)));
  const statement = existing.payloadType === PAYLOAD_TYPE ? decodeStatement(existing.payload) : null;
  if (statement === null) {
    const message = `\`${file}\` is not a publication statement of this version`;
    throw new CliFailure(EXIT.integrity, 'statement.invalid', message);
  }
  const differences = differencesOf(statement, asStatedBy(statement, { ...statement, ...facts }));
  if (differences.length === 0) return { statement, existing };
  throw new CliFailure(EXIT.precondition, 'statement.subject', `\`${file}\` is a statement about another snapshot`, {
    help: 'name the snapshot that it is about',
    ...listed(differences),
  });
}

/** The statement that the flags describe. An existing one must say the same, or be replaced explicitly. */
async function composed(
  io: CliIo,
  facts: Facts,
  { values, output, replace }: { readonly values: StatementValues; readonly output: string; readonly replace: boolean },
): Promise<ToSign> {
  const existing = output === '-' ? null : await readExisting(io, output);
  const there = existing?.payloadType === PAYLOAD_TYPE ? decodeStatement(existing.payload) : null;
  const asked = statementOf(facts, values);
  // A second signer signs the same statement, with the same time of issue, and may leave out where it comes from.
  const isTimed = (values.issued ?? values.at) !== null;
  const same = there?.source === undefined || facts.source !== undefined ? {} : { source: there.source };
  const differences =
    there === null
      ? []
      : differencesOf(there, asStatedBy(there, { ...asked, ...(isTimed ? {} : { issued: there.issued }), ...same }));
  const isSame = there !== null && differences.length === 0;
  const statement = isSame ? there : asked;
  const fault = statementFault(statement);
  if (fault !== null) throw usage(`this statement cannot be signed: ${fault}`, 'see `bailiwick help sign`');
  if (existing === null || isSame || replace) return { statement, existing };
  const isAbout = there?.snapshot === statement.snapshot && there.policy === statement.policy;
  const signatures = count(existing.signatures.length, 'signature');
  throw new CliFailure(
    EXIT.precondition,
    'statement.differs',
    `\`${output}\` already states other values, and has ${signatures}`,
    {
      help: `${isAbout ? `to sign what it says, \`--add ${output}\`` : 'to keep it, name another file with `-o`'}; to replace it with yours, \`--replace\``,
      ...(there === null ? {} : listed(differences)),
    },
  );
}

/** Without the access root if there is none in the other statement, which is signed as it is. */
function asStatedBy(there: PublicationStatement, { access, ...rest }: PublicationStatement): PublicationStatement {
  return there.access === undefined || access === undefined ? rest : { ...rest, access };
}

interface Difference {
  readonly field: keyof PublicationStatement;
  readonly there: string;
  readonly asked: string;
}

function differencesOf(there: PublicationStatement, asked: PublicationStatement): readonly Difference[] {
  const [before, after] = [shownFields(there), shownFields(asked)];
  return before.flatMap(([field, value], index) => {
    const other = after[index]?.[1] ?? '';
    return value === other ? [] : [{ field, there: value, asked: other }];
  });
}

function shownFields(statement: PublicationStatement): readonly (readonly [keyof PublicationStatement, string])[] {
  const { snapshot, policy, environment, generation, issued, expires, access, source } = statement;
  return [
    ['snapshot', snapshot],
    ['access', access ?? 'nothing'],
    ['policy', policy],
    ['environment', environment],
    ['generation', String(generation)],
    ['issued', formatInstant(issued)],
    ['expires', formatInstant(expires)],
    ['source', source === undefined ? 'nothing' : sourceText(source)],
  ];
}

function listed(differences: readonly Difference[]): { readonly text: string; readonly report: object } {
  const lines = differences.map(({ field, there, asked }) => `${field}: there ${there}, now ${asked}`);
  return { text: escapeText(lines.join('\n')), report: { differences } };
}

/** The existing statement, to sign it again or to replace it. A file with anything else is left alone. */
async function readExisting(io: CliIo, output: string): Promise<Envelope | null> {
  try {
    return await readStatementFile(namedFile(io, output));
  } catch (error) {
    if (!(error instanceof SigningError)) throw error;
    if (error.code === 'file.not_found') return null;
    throw usage(
      `\`${output}\` exists and is not a signed statement`,
      'it is not overwritten: name another file with `-o`',
    );
  }
}

function statementOf(facts: Facts, values: StatementValues): PublicationStatement {
  const { environment, generation, expires, issued, at } = values;
  const now = systemClock.now();
  return {
    ...facts,
    environment: environment ?? '',
    generation: generation ?? 0,
    issued: issued ?? at ?? now,
    expires: expires ?? now,
  };
}

interface SignedResult {
  readonly output: string;
  readonly format: Format;
  readonly statement: PublicationStatement;
  readonly envelope: Envelope;
  readonly change: StatementChange;
  readonly keyId: string;
}

const CHANGES: ReadonlyMap<StatementChange, string> = new Map([
  ['created', 'signed'],
  ['added', 'signature added'],
  ['unchanged', 'already signed by this key'],
  ['replaced', 'signed; it replaces another statement and its signatures'],
]);

async function tell(io: CliIo, { output, format, statement, envelope, change, keyId }: SignedResult): Promise<void> {
  if (format === 'json') {
    await writeJson(io, {
      file: output,
      snapshot: statement.snapshot,
      keyId,
      change,
      signatures: envelope.signatures.map((signature) => signature.keyId),
      statement: statementJson(statement),
    });
    return;
  }
  const { policy, environment, generation, issued, expires, snapshot, access, source } = statement;
  const lines = [
    `statement ${escapeText(output)}: ${CHANGES.get(change) ?? change}, ${count(envelope.signatures.length, 'signature')}`,
    `snapshot  ${snapshot}`,
    `policy    ${escapeText(policy)} for ${escapeText(environment)}, statement generation ${String(generation)}`,
    `in force  ${formatInstant(issued)} until ${formatInstant(expires)}`,
    ...(access === undefined ? [] : [`access    ${access}`]),
    ...(source === undefined ? [] : [`source    ${sourceText(source)}`]),
    `key       ${keyId}`,
  ];
  await write(output === '-' ? io.stderr : io.stdout, `${lines.join('\n')}\n`);
}
