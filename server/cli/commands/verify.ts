// `bailiwick verify <snapshot>`: whether a snapshot is intact, and with a keyring whether it was published. Without a
// keyring nothing in a statement can be trusted, so the statement is not read.
import { formatInstant, type Keyring, type Policy, type SignatureReport } from '../../../engine/index.js';
import { addReport, usage } from '../exit.js';
import { type Answer, type CliIo, namedFile } from '../io.js';
import { openStated } from '../open-policy.js';
import { formats } from '../options.js';
import { escapeText } from '../render/escape.js';
import { paintFor, type Paint } from '../render/terminal.js';
import { count, renderCounts } from '../render/text.js';
import { asFailure, readStatementFlags, statementJson, sourceText, statusOfFaults } from '../statement-flags.js';
import { systemClock } from '../../lib/ports.js';
import { type PublicationReport, verifyPublication } from '../../policy/open/verify-publication.js';
import { accessRoot } from '../../signing/access-tree.js';
import { readKeyring } from '../../signing/keyring-file.js';
import { requiredStatement, statementAt, statementPathOf, type StatementText } from '../../signing/statement-file.js';
import { type Given, takes, verb } from '../verb.js';

const TAKES = takes({
  '<snapshot>': 'snapshot file (`-` is stdin); with --keyring and --statement also a policy folder',
  '--keyring <file>': 'file with the trusted public keys and how many of them are needed',
  '--statement <file>': 'the signed statement (default: `<snapshot>.dsse.json`)',
  '--environment <name>': 'refuse a statement for another environment',
  '--minimum-generation <number>': 'refuse a statement of an earlier generation',
  '--at <instant>': 'time at which the statement must be in force, as in 2027-01-01T00:00:00Z (default: now)',
  ...formats(),
});

export const defineVerify = verb(TAKES, verify, {
  examples: {
    'is the file intact?': 'bailiwick verify snapshot.json',
    'may it serve in production?':
      'bailiwick verify snapshot.json --keyring keyring.yaml --environment production --minimum-generation 7',
    'was this folder signed? It must compile to exactly the snapshot that the statement names':
      'bailiwick verify policies --keyring keyring.yaml --statement snapshot.json.dsse.json',
  },
  json: [
    '{"ok","policy","snapshot","decisions","signatures":[{"keyId","name","ok","reason"?}],"statement"?,',
    '"threshold"?,"faults"?:[{"code","message"}],"error"?}: threshold and faults with --keyring only, error is the first fault.',
    'For a file that is not an intact snapshot: "ok", "signatures", "file", "sha256", "error". A file that cannot be checked is not ok.',
  ],
});

interface Verification {
  readonly policy: Policy;
  /** Null without a keyring, because the statement is not checked then. */
  readonly signed: (PublicationReport & { readonly keyring: Keyring }) | null;
}

/** Ends with 8, 6 or 9 if the snapshot may not be used. Throws `CliFailure` if it cannot be judged. */
async function verify(io: CliIo, { snapshot: path, ...options }: Given<typeof TAKES>): Promise<Answer> {
  const values = readStatementFlags(options);
  const statement = statementOf(io, path, options);
  const { policy, source } = await openStated(io, path);
  if (source === 'folder' && options.statement === undefined)
    throw usage(
      `\`${path}\` is a folder, not a snapshot`,
      'to compare a folder with a signed snapshot, give `--keyring` and `--statement`',
    );
  try {
    const keyring = options.keyring === undefined ? null : await asFailure(readKeyring(namedFile(io, options.keyring)));
    const { environment, minimumGeneration, at } = values;
    const asked = { environment, minimumGeneration, at: at ?? systemClock.now() };
    const signed =
      keyring === null
        ? null
        : withAccess(policy, {
            keyring,
            ...(await asFailure(verifyPublication(policy, statement, { keyring, ...asked }))),
          });
    io.setStatus(statusOfFaults(signed?.faults ?? []));
    const verification = { policy, signed };
    return {
      json: () => verificationJson(verification),
      text: () => renderVerification(verification, paintFor(io, 'stdout')),
    };
  } catch (error) {
    throw addReport(error, factsOf(policy));
  }
}

/** With one more fault if the statement names another access root than that of the snapshot. */
function withAccess(policy: Policy, signed: NonNullable<Verification['signed']>): Verification['signed'] {
  const access = signed.statement?.access;
  if (access === undefined || signed.statement?.snapshot !== policy.digest) return signed;
  const own = accessRoot(policy);
  if (own === access) return signed;
  const message = `the statement has the access root ${access}, and that of the snapshot is ${own}`;
  return { ...signed, faults: [...signed.faults, { code: 'statement.access', message }] };
}

/** The facts about an intact snapshot. */
function factsOf({ name, digest, decisions }: Policy): object {
  return { policy: name, snapshot: digest, decisions };
}

function statementOf(io: CliIo, path: string, options: Omit<Given<typeof TAKES>, 'snapshot'>): StatementText {
  const { keyring, statement, environment, minimumGeneration, at } = options;
  const named = statement !== undefined;
  const flags = { '--statement': statement, '--environment': environment, '--minimum-generation': minimumGeneration };
  const needing = Object.entries({ ...flags, '--at': at }).flatMap(([flag, value]) =>
    value === undefined ? [] : flag,
  );
  if (keyring === undefined && needing.length > 0)
    throw usage(
      `\`${needing.join('`, `')}\` can be checked with \`--keyring\` only: without a keyring no signature is trusted`,
    );
  if (keyring !== undefined && path === '-' && !named)
    throw usage('a snapshot on stdin has no statement beside it: name one with `--statement`');
  const shown = statement ?? statementPathOf(path);
  const file = namedFile(io, shown);
  return named ? requiredStatement(file) : statementAt(file);
}

function verificationJson({ policy, signed }: Verification): object {
  const statement = signed?.statement ?? null;
  return {
    ok: signed === null || signed.faults.length === 0,
    ...factsOf(policy),
    signatures: signed?.signatures ?? [],
    threshold: signed?.keyring.threshold,
    faults: signed?.faults,
    statement: statement === null ? undefined : statementJson(statement),
    error: signed?.faults[0],
  };
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ['malformed', 'is not a signature'],
  ['unknown_key', 'matches no key of the keyring'],
  ['wrong', 'was not made by this key over this statement'],
  ['duplicate_key', 'by the same key again'],
]);
const SHOWN_KEY_ID = 71;

function renderVerification({ policy, signed }: Verification, paint: Paint): string {
  const lines = [
    `snapshot  ${policy.digest}`,
    `decisions ${policy.decisions}`,
    `policy    ${escapeText(policy.name)}: ${renderCounts(policy.counts)}`,
  ];
  if (signed === null) {
    lines.push(`${paint('good', 'intact')}; publisher not verified (use --keyring)`);
    return `${lines.join('\n')}\n`;
  }
  const { keyring, statement, signatures, faults } = signed;
  if (statement !== null) {
    const { environment, generation, issued, expires, access, source } = statement;
    lines.push(
      `published for ${environment}, statement generation ${String(generation)}`,
      `in force  ${formatInstant(issued)} until ${formatInstant(expires)}`,
      ...(access === undefined ? [] : [`access    ${access}`]),
      ...(source === undefined ? [] : [`compiled from ${sourceText(source)}`]),
    );
  }
  lines.push(signedLine(keyring, signatures.filter(({ ok }) => ok).length, paint));
  for (const signature of signatures) lines.push(`  ${signatureLine(signature, paint)}`);
  for (const fault of faults) lines.push(paint('error', `refused: ${escapeText(fault.message)}`));
  if (faults.length === 0) lines.push(paint('good', 'intact and published'));
  return `${lines.join('\n')}\n`;
}

/** `counted`: the keys whose signatures count. */
function signedLine({ keys, threshold }: Keyring, counted: number, paint: Paint): string {
  const by = `signed by ${String(counted)} of ${count(keys.length, 'key')}`;
  const needed = `${String(threshold)} ${threshold === 1 ? 'is' : 'are'} needed`;
  return counted < threshold ? paint('error', `${by}: too few, ${needed}`) : `${by}, ${needed}`;
}

function signatureLine({ ok, name, keyId, reason }: SignatureReport, paint: Paint): string {
  const who = escapeText([...(name === null ? [] : [name]), (keyId ?? 'no key id').slice(0, SHOWN_KEY_ID)].join(' '));
  return ok
    ? `${paint('good', 'ok')}  ${who}`
    : `${paint('error', 'no')}  ${who}: ${REASONS.get(reason ?? '') ?? 'does not count'}`;
}
