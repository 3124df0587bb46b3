// What `verify` does: the snapshot whole, then (with a keyring) the statement that lets it be used. Without a keyring nothing
// of a statement is believed, so nothing of it is asked.
import {
  formatInstant,
  judgeStatement,
  type Keyring,
  type Policy,
  type PublicationStatement,
  type StatementFault,
  type StatementReport,
} from '../../engine/index.js';
import { systemClock } from '../ports.js';
import { verifyEd25519 } from '../signing/ed25519.js';
import { readKeyring } from '../signing/keyring-file.js';
import { SigningError } from '../signing/signing-error.js';
import { readStatementFile, statementPathOf } from '../signing/statement-file.js';
import { EXIT, type ExitStatus } from './exit-codes.js';
import { addReport, CliFailure, usage } from './failure.js';
import { type CliIo, pathOf, write, writeJson } from './io.js';
import { openStated } from './open-policy.js';
import type { Format } from './options.js';
import { paintFor } from './render/palette.js';
import { renderVerification } from './render/verification.js';
import { asFailure } from './signing-failure.js';
import { readStatementFlags, type StatementValues } from './statement-flags.js';

export interface VerifyOptions {
  readonly keyring?: string;
  readonly statement?: string;
  readonly environment?: string;
  readonly minimumGeneration?: string;
  readonly at?: string;
  readonly format: Format;
}

/** What is wrong with a statement, or that there is none. */
export interface VerificationFault {
  readonly code: StatementFault['code'] | 'signature.missing' | 'statement.invalid';
  readonly message: string;
}

export interface Verification {
  readonly policy: Policy;
  /** Null without a keyring: nothing was asked of a statement. */
  readonly signed:
    | (Pick<StatementReport, 'signatures' | 'statement'> & {
        readonly keyring: Keyring;
        readonly faults: readonly VerificationFault[];
      })
    | null;
}

/** Ends with 8, 6 or 9 where the snapshot may not be used; throws `CliFailure` where it cannot be judged. */
export async function verifySnapshot(io: CliIo, path: string, options: VerifyOptions): Promise<void> {
  const values = readStatementFlags(options);
  const statement = statementFileOf(path, options);
  const policy = await openWhole(io, path, options.statement);
  try {
    const keyring =
      options.keyring === undefined
        ? null
        : await asFailure(readKeyring({ path: pathOf(io, options.keyring), shown: options.keyring }));
    const signed = keyring === null ? null : { keyring, ...(await judge(io, { statement, policy, keyring, values })) };
    await tell(io, { policy, signed }, options.format);
  } catch (error) {
    throw addReport(error, factsOf(policy));
  }
}

/** What is known of a snapshot that is whole. */
function factsOf({ name, digest, decisions }: Policy): object {
  return { policy: name, snapshot: digest, decisions };
}

interface StatementFile {
  readonly shown: string;
  /** Named by the user: then it must be there. */
  readonly named: boolean;
}

function statementFileOf(path: string, options: VerifyOptions): StatementFile {
  const named = options.statement !== undefined;
  const needing = [
    ...(named ? ['--statement'] : []),
    ...(options.environment === undefined ? [] : ['--environment']),
    ...(options.minimumGeneration === undefined ? [] : ['--minimum-generation']),
    ...(options.at === undefined ? [] : ['--at']),
  ];
  if (options.keyring === undefined && needing.length > 0) {
    const message = `\`${needing.join('`, `')}\` can be checked with \`--keyring\` only: without one no signature is believed`;
    throw usage(message);
  }
  if (options.keyring !== undefined && path === '-' && !named) {
    const message = 'a snapshot on stdin has no statement beside it: name one with `--statement`';
    throw usage(message);
  }
  return { shown: options.statement ?? statementPathOf(path), named };
}

async function openWhole(io: CliIo, path: string, statement: string | undefined): Promise<Policy> {
  const { policy, source } = await openStated(io, path);
  if (source === 'folder' && statement === undefined) {
    throw new CliFailure(
      EXIT.usage,
      { code: 'cli.usage', message: `\`${path}\` is a folder, not a snapshot` },
      { help: 'to compare a folder with a signed snapshot, give `--keyring` and `--statement`' },
    );
  }
  return policy;
}

interface Judged {
  readonly statement: StatementFile;
  readonly policy: Policy;
  readonly keyring: Keyring;
  readonly values: StatementValues;
}

type Judgement = Pick<StatementReport, 'signatures' | 'statement'> & { readonly faults: readonly VerificationFault[] };

async function judge(io: CliIo, { statement, policy, keyring, values }: Judged): Promise<Judgement> {
  const { environment, minimumGeneration, at } = values;
  try {
    const envelope = await readStatementFile({ path: pathOf(io, statement.shown), shown: statement.shown });
    const expected = {
      snapshot: policy.digest,
      policy: policy.name,
      at: at ?? systemClock.now(),
      ...(environment === null ? {} : { environment }),
      ...(minimumGeneration === null ? {} : { minimumGeneration }),
    };
    return judgeStatement(envelope, { keyring, verify: verifyEd25519 }, expected);
  } catch (error) {
    if (!(error instanceof SigningError)) throw error;
    const none = { signatures: [], statement: null };
    if (error.code === 'statement.invalid' || error.code === 'file.too_large') {
      return { ...none, faults: [{ code: 'statement.invalid', message: error.message }] };
    }
    if (error.code !== 'file.not_found' || statement.named) return asFailure(Promise.reject(error));
    const message = `there is no signed statement: \`${statement.shown}\` does not exist`;
    return { ...none, faults: [{ code: 'signature.missing', message }] };
  }
}

const UNMET: ReadonlySet<VerificationFault['code']> = new Set([
  'statement.environment',
  'statement.generation',
  'statement.not_yet_issued',
]);

/** 8 before 6 before 9: what is not genuine is worse than what is not meant, and that worse than what is late. */
function statusOf(faults: readonly VerificationFault[]): ExitStatus {
  if (faults.length === 0) return EXIT.ok;
  if (faults.some(({ code }) => !UNMET.has(code) && code !== 'statement.expired')) return EXIT.integrity;
  return faults.some(({ code }) => UNMET.has(code)) ? EXIT.precondition : EXIT.stale;
}

async function tell(io: CliIo, verification: Verification, format: Format): Promise<void> {
  const { policy, signed } = verification;
  const faults = signed?.faults ?? [];
  io.setStatus(statusOf(faults));
  if (format === 'text') {
    await write(io.stdout, renderVerification(verification, paintFor(io, 'stdout')));
    return;
  }
  const [first] = faults;
  const statement = signed?.statement ?? null;
  await writeJson(io, {
    ok: first === undefined,
    ...factsOf(policy),
    signatures: signed?.signatures ?? [],
    ...(signed === null ? {} : { threshold: signed.keyring.threshold, faults }),
    ...(statement === null ? {} : { statement: statementJson(statement) }),
    ...(first === undefined ? {} : { error: first }),
  });
}

/** A statement as JSON output shows it. */
export function statementJson({ issued, expires, ...statement }: PublicationStatement): object {
  return { ...statement, issued: formatInstant(issued), expires: formatInstant(expires) };
}
