// The statement that `sign` signs: the one in a file of somebody else, or the one that its flags describe. Values that differ from
// those of an existing statement are listed.
import { type Envelope, formatInstant, type PublicationStatement, statementFault } from '../../engine/index.js';
import { systemClock } from '../lib/ports.js';
import { SigningError } from '../signing/signing-error.js';
import { readStatementFile } from '../signing/statement-file.js';
import { CliFailure, EXIT, usage } from './exit.js';
import { type CliIo, namedFile } from './io.js';
import { escapeText } from './render/escape.js';
import { count } from './render/text.js';
import { asFailure, requireStatement, sourceText, statementIn, type StatementValues } from './statement-flags.js';

/** What the snapshot and its source say about themselves. */
export type SignedFacts = Pick<PublicationStatement, 'snapshot' | 'policy' | 'access' | 'source'>;

/** What to sign, and the envelope that it is in or replaces. */
export interface ToSign {
  readonly statement: PublicationStatement;
  readonly existing: Envelope | null;
}

/** The statement that somebody else has made, field by field. */
export async function statementOfFile(io: CliIo, facts: SignedFacts, file: string): Promise<ToSign> {
  const existing = await asFailure(readStatementFile(namedFile(io, file)));
  const statement = requireStatement(existing, file);
  const differences = differencesOf(statement, asStatedBy(statement, { ...statement, ...facts }));
  if (differences.length === 0) return { statement, existing };
  throw new CliFailure(EXIT.precondition, 'statement.subject', `\`${file}\` is a statement about another snapshot`, {
    help: 'name the snapshot that it is about',
    ...listed(differences),
  });
}

/** The statement that the flags describe. An existing one must say the same, or be replaced explicitly. */
export async function statementOfFlags(
  io: CliIo,
  facts: SignedFacts,
  { values, output, replace }: { readonly values: StatementValues; readonly output: string; readonly replace: boolean },
): Promise<ToSign> {
  const existing = output === '-' ? null : await readExisting(io, output);
  const there = existing === null ? null : statementIn(existing);
  const asked = statedBy(facts, values);
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
  const lines = differences.map(({ field, there, asked }) => escapeText(`${field}: there ${there}, now ${asked}`));
  return { text: lines.join('\n'), report: { differences } };
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

function statedBy(facts: SignedFacts, values: StatementValues): PublicationStatement {
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
