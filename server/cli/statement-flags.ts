// What the verbs of publication share: the flags of statements, read with every fault at once, and failures with keys,
// keyrings and statements.
import {
  decodeStatement,
  type Envelope,
  formatInstant,
  type Instant,
  isName,
  PAYLOAD_TYPE,
  parseInstant,
  type PublicationStatement,
  STATEMENT_LIMITS,
  type StatementSource,
} from '../../engine/index.js';
import { CliFailure, EXIT, type ExitStatus } from './exit.js';
import { escapeText } from './render/escape.js';
import { type PublicationReport, verifyPublication } from '../policy/open/verify-publication.js';
import { SigningError, type SigningErrorCode } from '../signing/signing-error.js';

export interface StatementValues {
  readonly environment: string | null;
  readonly generation: number | null;
  readonly minimumGeneration: number | null;
  readonly expires: Instant | null;
  readonly issued: Instant | null;
  readonly at: Instant | null;
}

type StatementFlags = Readonly<Partial<Record<keyof StatementValues, string>>>;

/** Null if a flag is not given. Throws `CliFailure` 2. */
export function readStatementFlags(flags: StatementFlags): StatementValues {
  const faults: string[] = [];
  const read = <T>(text: string | undefined, parse: (text: string) => T | null, fault: string): T | null => {
    const value = text === undefined ? null : parse(text);
    if (text !== undefined && value === null) faults.push(fault);
    return value;
  };
  const most = String(STATEMENT_LIMITS.generation);
  const number = (flag: string, text: string | undefined): number | null =>
    read(text, generationOf, `\`${flag}\` must be a whole number from 1 to ${most}`);
  const time = (flag: string, text: string | undefined): Instant | null =>
    read(text, parseInstant, `\`${flag}\` must be an RFC 3339 instant with offset, such as \`2027-01-01T00:00:00Z\``);
  const values: StatementValues = {
    environment: read(flags.environment, nameOf, '`--environment` must be a name such as `production`'),
    generation: number('--generation', flags.generation),
    minimumGeneration: number('--minimum-generation', flags.minimumGeneration),
    expires: time('--expires', flags.expires),
    issued: time('--issued', flags.issued),
    at: time('--at', flags.at),
  };
  const [first, ...others] = faults;
  if (first === undefined) return values;
  const text = others.map((fault) => escapeText(fault)).join('\n');
  const code = 'cli.usage';
  const report = { faults: faults.map((message) => ({ code, message })) };
  throw new CliFailure(EXIT.usage, code, first, { ...(others.length === 0 ? {} : { text }), report });
}

function nameOf(text: string): string | null {
  return isName(text) ? text : null;
}

function generationOf(text: string): number | null {
  const number = /^[1-9][0-9]{0,14}$/.test(text) ? Number(text) : Infinity;
  return number <= STATEMENT_LIMITS.generation ? number : null;
}

const STATUSES: ReadonlyMap<SigningErrorCode, ExitStatus> = new Map<SigningErrorCode, ExitStatus>([
  ['key.exists', EXIT.precondition],
  ['key.exposed', EXIT.precondition],
  ['statement.invalid', EXIT.integrity],
]);

/** The result of `work`. Throws `CliFailure` if `work` throws `SigningError`. */
export async function asFailure<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof SigningError)) throw error;
    const { code, message, help, faults } = error;
    const report = { faults: faults.map((fault) => ({ code, message: fault })) };
    const told = faults.length === 0 ? {} : { text: faults.map(escapeText).join('\n'), report };
    const detail = { cause: error, ...(help === undefined ? {} : { help }), ...told };
    throw new CliFailure(STATUSES.get(code) ?? EXIT.usage, code, message, detail);
  }
}

/** What an envelope states; null if that is no publication statement of this version. Nobody has verified it. */
export function statementIn({ payloadType, payload }: Envelope): PublicationStatement | null {
  return payloadType === PAYLOAD_TYPE ? decodeStatement(payload) : null;
}

/** The same. Throws `CliFailure` 8 where it is none. */
export function requireStatement(envelope: Envelope, shown: string): PublicationStatement {
  const statement = statementIn(envelope);
  if (statement !== null) return statement;
  const message = `\`${shown}\` is not a publication statement of this version`;
  throw new CliFailure(EXIT.integrity, 'statement.invalid', message);
}

/** A statement as JSON output shows it. */
export function statementJson({ issued, expires, ...statement }: PublicationStatement): object {
  return { ...statement, issued: formatInstant(issued), expires: formatInstant(expires) };
}

/** Where a snapshot comes from, for people. */
export function sourceText({ commit, repository }: StatementSource): string {
  return repository === null ? commit : `${commit} of ${repository}`;
}

const UNMET: ReadonlySet<string> = new Set([
  'statement.environment',
  'statement.generation',
  'statement.not_yet_issued',
]);

/**
 * 8 before 6 before 9: a snapshot that is not genuine is worse than one that was not meant, and that is worse than one
 * that is late.
 */
export function statusOfFaults(faults: readonly { readonly code: string }[]): ExitStatus {
  if (faults.length === 0) return EXIT.ok;
  if (faults.some(({ code }) => !UNMET.has(code) && code !== 'statement.expired')) return EXIT.integrity;
  return faults.some(({ code }) => UNMET.has(code)) ? EXIT.precondition : EXIT.stale;
}

/** Throws `CliFailure` if the statement does not count for this policy. */
export async function requirePublished(...asked: Parameters<typeof verifyPublication>): Promise<PublicationReport> {
  const report = await asFailure(verifyPublication(...asked));
  const [fault] = report.faults;
  if (fault === undefined) return report;
  throw new CliFailure(statusOfFaults(report.faults), fault.code, `\`${asked[1].shown}\`: ${fault.message}`);
}
