// What `review report` and `review verify` do: one signed file of a review that is decided, and what an auditor checks of it.
import { heldRights } from '../../engine/compiler.js';
import {
  canonicalize,
  encodeEnvelope,
  type Envelope,
  type Instant,
  judgeEnvelope,
  keyIdOf,
  parseInstant,
  type Policy,
  type SignatureReport,
} from '../../engine/index.js';
import { REVIEW_LIMITS } from '../limits/command-line.js';
import { identityOf } from '../review/outcome.js';
import { makePopulation, type Population } from '../review/population.js';
import { encodeReport, readReport, type Report } from '../review/report.js';
import { verifyEd25519 } from '../signing/ed25519.js';
import { readSigningKey } from '../signing/key-file.js';
import { readKeyring } from '../signing/keyring-file.js';
import { readNamedFile } from '../signing/named-file.js';
import { signOnce } from '../signing/sign-statement.js';
import { parseEnvelope } from '../signing/statement-file.js';
import { decidedSheet, failureOf, openReview } from './check-review.js';
import { CliFailure, EXIT, usage } from './exit.js';
import { writeWhole } from './files.js';
import { type Answer, type CliIo, namedFile, pathOf, pathsOf } from './io.js';
import { openStated } from './open-policy.js';
import { instantOption } from './options.js';
import type { REPORT, VERIFY } from './takes/review.js';
import type { Given } from './verb.js';
import { countsText, renderOutcome, selectionText, totalLines } from './render/review.js';
import { count, linesText } from './render/text.js';
import { sheetOf } from './start-review.js';
import { asFailure } from './statement-flags.js';

/** Throws `CliFailure`: 6 if decisions are missing, 8 if a sheet is not what it should be. Nothing is signed then. */
export async function reportReview(io: CliIo, flags: Given<typeof REPORT>): Promise<Answer> {
  const { file, policy: path, output = flags.add, add } = flags;
  if (output === undefined)
    throw usage('`-o, --output <file>` or `--add <report>` is missing', 'see `bailiwick help review report`');
  if (add !== undefined && flags.at !== undefined)
    throw usage('`--at` has no place beside `--add`', 'a report is signed again at its own instant: leave out `--at`');
  const key = await asFailure(readSigningKey(namedFile(io, flags.key)));
  const existing = add === undefined ? null : await openReport(io, add);
  // A second signer signs what it has found itself, at the instant of the first.
  const at = existing === null ? instantOption(flags.at) : instantOf(existing.report);
  const checked = await openReview(io, flags, at);
  const failure = failureOf(checked, { mayAppear: true });
  if (failure !== null && failure.status !== EXIT.differences)
    throw new CliFailure(failure.status, failure.code, `the review cannot be reported: ${failure.message}`, {
      text: renderOutcome(checked).trimEnd(),
      report: { missing: checked.missing, faults: checked.faults },
    });
  const { population, outcome, byRow } = checked;
  const decisions = population.rows.flatMap(({ id }) => {
    const decided = byRow.get(id);
    return decided === undefined ? [] : [{ row: id, ...decided }];
  });
  const payload = encodeReport({ population, decisions, outcome });
  if (existing !== null && Buffer.compare(payload, existing.envelope.payload) !== 0) {
    const message = `\`${add ?? ''}\` reports something else than these files say`;
    throw new CliFailure(EXIT.precondition, 'review.differs', message, {
      help: 'name the same review, sheets and policy; to report what they say now, name another file with `-o` alone',
    });
  }
  const signed = signOnce(key, payload, existing?.envelope ?? null);
  if (signed === null) throw usage('the report already has as many signatures as one may have', 'no more are allowed');
  const inputs = pathsOf(io, [flags.key, file, path, ...(flags.decisions ?? [sheetOf(file)])]);
  await writeWhole(pathOf(io, output), Buffer.from(`${encodeEnvelope(signed.envelope)}\n`), {
    shown: output,
    inputs,
  });
  const keyId = keyIdOf(key.publicKey);
  const signatures = signed.envelope.signatures.length;
  const { totals, revoked, snapshot } = outcome;
  const facts = { file: output, digest: population.digest, snapshot, at: outcome.at, keyId, signatures };
  const lines = [
    `report    ${output}: ${count(signatures, 'signature')}`,
    `key       ${keyId}`,
    ...totalLines(outcome),
  ];
  return { json: () => ({ ...facts, totals, revoked }), text: () => linesText(lines) };
}

interface OpenedReport {
  readonly envelope: Envelope;
  readonly report: Report;
}

async function openEnvelope(io: CliIo, shown: string): Promise<Envelope> {
  const read = async (): Promise<Envelope> =>
    parseEnvelope((await readNamedFile(namedFile(io, shown), REVIEW_LIMITS.reportBytes)).bytes, shown);
  return asFailure(read());
}

async function openReport(io: CliIo, shown: string): Promise<OpenedReport> {
  const envelope = await openEnvelope(io, shown);
  return { envelope, report: reportOf(envelope, shown) };
}

function reportOf({ payload }: Envelope, shown: string): Report {
  const report = readReport(payload);
  if (typeof report !== 'string') return report;
  throw new CliFailure(EXIT.integrity, 'review.report', `\`${shown}\` cannot be used: ${report}`);
}

function instantOf({ outcome }: Report): Instant {
  const at = parseInstant(outcome.at);
  if (at === null) throw new TypeError('a report that was read has its instant');
  return at;
}

/** Throws `CliFailure` 8 if too few trusted keys have signed it, if it is not consistent, or if the policy gives other rows. */
export async function verifyReport(io: CliIo, flags: Given<typeof VERIFY>): Promise<Answer> {
  const { report: file } = flags;
  const keyring = await asFailure(readKeyring(namedFile(io, flags.keyring)));
  const envelope = await openEnvelope(io, file);
  const { signatures, fault } = judgeEnvelope(envelope, { keyring, verify: verifyEd25519 });
  if (fault !== null)
    throw new CliFailure(EXIT.integrity, fault.code, `\`${file}\` does not count: ${fault.message}`, {
      report: { signatures },
    });
  const report = reportOf(envelope, file);
  const { population, decisions, outcome } = report;
  if (flags.policy !== undefined)
    refuseIncomplete(population, (await openStated(io, flags.policy, 'study')).policy, flags.policy);
  const byRow = new Map(decisions.map(({ row, ...decided }) => [row, decided]));
  const isCompared = flags.policy !== undefined;
  return {
    json: () => ({ ok: true, complete: isCompared ? true : undefined, signatures, population, decisions, outcome }),
    text: () =>
      flags.format === 'csv'
        ? decidedSheet(population.rows, { byRow, states: outcome.states })
        : reportText(report, { signatures, isCompared }),
  };
}

/** The rows are what the policy gives, no more and no fewer: an id is made of all that a row says. */
function refuseIncomplete({ at, selection, snapshot, rows }: Population, policy: Policy, shown: string): void {
  const refuse = (message: string): never => {
    throw new CliFailure(EXIT.integrity, 'review.population', message);
  };
  if (policy.digest !== snapshot) refuse(`the review is of ${snapshot}, and \`${shown}\` is ${policy.digest}`);
  const under = canonicalize(selection.under);
  const then = parseInstant(at);
  if (!under.ok || then === null) throw new TypeError('a population that was read has its place and its instant');
  const identities = selection.identities?.map(identityOf) ?? null;
  const rights = heldRights(
    policy,
    { at: then, under: under.path, identities, scopes: selection.scopes },
    REVIEW_LIMITS.rows,
  );
  const own = makePopulation({
    ...{ policy, version: '', at: then, selection, persons: new Map<string, string>() },
    rights: rights ?? [],
  });
  const [known, stated] = [new Set(own.rows.map(({ id }) => id)), new Set(rows.map(({ id }) => id))];
  const missing = own.rows.filter(({ id }) => !stated.has(id)).length;
  const foreign = rows.filter(({ id }) => !known.has(id)).length;
  if (missing > 0)
    refuse(
      `the population is not complete: ${count(missing, 'row')} that the policy gives ${missing === 1 ? 'is' : 'are'} not in it`,
    );
  if (foreign > 0) refuse(`the population has ${count(foreign, 'row')} that the policy does not give`);
}

function reportText(
  { population, outcome }: Report,
  { signatures, isCompared }: { readonly signatures: readonly SignatureReport[]; readonly isCompared: boolean },
): string {
  const { policy, snapshot, at, counts, selection, digest } = population;
  const names = signatures.flatMap(({ ok, name, keyId }) => (ok ? [name ?? keyId ?? ''] : []));
  const about = linesText([
    `policy    ${policy}`,
    `snapshot  ${snapshot}`,
    `at        ${at}`,
    `reviewed  ${selectionText(selection)}`,
    `rows      ${countsText(counts)}`,
    `digest    ${digest}`,
    `signed    by ${names.join(', ')}`,
    isCompared
      ? 'complete: the rows are exactly what the policy gives'
      : 'not compared with the policy; name it with --policy',
  ]);
  return about + renderOutcome({ population, outcome, missing: [], faults: [] });
}
