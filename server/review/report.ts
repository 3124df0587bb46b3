// The report of a finished review: population, decisions and outcome in one in-toto statement, which DSSE signs (docs/access-review.md
// "The report").
import { hash } from 'node:crypto';
import type { RightState } from '../../engine/compiler.js';
import { canonicalJson } from '../json/canonical-json.js';
import { isObject, parseStrictJson } from '../json/strict-json.js';
import { checkPopulation, isDigest, isInstant, isListOf, isText } from './read-population.js';
import { type Population, populationText } from './population.js';
import type { ReviewOutcome } from './outcome.js';
import type { RowDecision } from './sheet.js';

const STATEMENT_TYPE = 'https://in-toto.io/Statement/v1';
export const REPORT_TYPE = 'urn:bailiwick:access-review:v1';
const DEPTH = 16;
const STATES: readonly RightState[] = ['ended', 'gone', 'covered', 'partly', 'held'];

export interface Report {
  readonly population: Population;
  /** One for each row, in their order. */
  readonly decisions: readonly (RowDecision & { readonly row: string })[];
  readonly outcome: ReviewOutcome;
}

/** The exact bytes to sign: canonical JSON. The subjects are the file of the population, and both snapshots. */
export function encodeReport({ population, decisions, outcome }: Report): Uint8Array {
  const text = canonicalJson({
    _type: STATEMENT_TYPE,
    subject: subjectsOf(population, outcome),
    predicateType: REPORT_TYPE,
    predicate: { population, decisions, outcome },
  });
  return new TextEncoder().encode(text);
}

function subjectsOf(population: Population, outcome: Pick<ReviewOutcome, 'snapshot'>): readonly object[] {
  const file = hash('sha256', populationText(population), 'hex');
  return [
    { name: 'population', digest: { sha256: file } },
    { name: 'reviewed policy', digest: { sha256: population.snapshot.slice('sha256:'.length) } },
    { name: 'checked policy', digest: { sha256: outcome.snapshot.slice('sha256:'.length) } },
  ];
}

/** The report, or what is wrong with it. Verify the signatures before calling this. */
export function readReport(payload: Uint8Array): Report | string {
  const parsed = parseStrictJson(payload, { depth: DEPTH });
  const statement = parsed.ok ? parsed.value : null;
  if (!isObject(statement) || statement['_type'] !== STATEMENT_TYPE || statement['predicateType'] !== REPORT_TYPE)
    return 'it is not a report of an access review';
  const { predicate } = statement;
  if (!isObject(predicate)) return 'it is not a report of an access review';
  const { decisions, outcome } = predicate;
  const population = checkPopulation(predicate['population']);
  if (typeof population === 'string') return `its population does not count: ${population}`;
  const decided = Array.isArray(decisions) ? decisions.filter(isDecided) : [];
  if (!isListOf(decisions, isDecided) || !isOutcome(outcome)) return 'its decisions or its outcome are malformed';
  const report = { population, decisions: decided, outcome };
  // Written again, so that nothing is in it that this version does not know.
  if (Buffer.compare(payload, encodeReport(report)) !== 0) return 'it is not spelled as this version spells a report';
  const isComplete =
    report.decisions.length === population.rows.length &&
    report.decisions.every(({ row }, index) => row === population.rows[index]?.id);
  if (!isComplete) return 'it does not decide each row of its population';
  return hasTotals(report) ? report : 'its totals are not those of its decisions';
}

function hasTotals({ decisions, outcome: { totals, revoked, states, stillHeld } }: Report): boolean {
  const revokedRows = new Set(decisions.filter(({ decision }) => decision === 'revoke').map(({ row }) => row));
  const countOf = (state: RightState): number =>
    decisions.filter(({ decision }, index) => decision === 'revoke' && states[index] === state).length;
  return (
    totals.rows === decisions.length &&
    totals.revoked === revokedRows.size &&
    totals.kept === decisions.length - revokedRows.size &&
    totals.undecided === 0 &&
    states.length === decisions.length &&
    STATES.every((state) => revoked[state] === countOf(state)) &&
    stillHeld.length === revoked.held + revoked.partly &&
    stillHeld.every(({ row }) => revokedRows.has(row))
  );
}

function isDecided(value: unknown): value is Report['decisions'][number] {
  if (!isObject(value)) return false;
  const { row, decision, by } = value;
  const isBy = (one: unknown): boolean =>
    isObject(one) && isText(one['reviewer']) && (one['note'] === undefined || isText(one['note']));
  return isText(row) && (decision === 'keep' || decision === 'revoke') && isListOf(by, isBy) && by.length > 0;
}

function isOutcome(value: unknown): value is ReviewOutcome {
  if (!isObject(value)) return false;
  const {
    version,
    snapshot,
    decisions,
    at,
    totals,
    revoked,
    states,
    stillHeld,
    covered,
    lapsed,
    appeared,
    ownDecisions,
  } = value;
  const areNumbers = (counts: unknown, names: readonly string[]): boolean =>
    isObject(counts) && names.every((name) => Number.isSafeInteger(counts[name]));
  return (
    isText(version) &&
    [snapshot, decisions].every(isDigest) &&
    isInstant(at) &&
    areNumbers(totals, ['rows', 'kept', 'revoked', 'undecided']) &&
    areNumbers(revoked, STATES) &&
    isListOf(states, (one) => STATES.some((state) => state === one)) &&
    isListOf(stillHeld, (one) => isNamed(one) && isObject(one) && isListOf(one['left'], isRegion)) &&
    [covered, lapsed, ownDecisions].every((list) => isListOf(list, isNamed)) &&
    isListOf(appeared, (one) => isRegion(one) && isObject(one) && isListOf(one['identities'], isText))
  );
}

function isNamed(value: unknown): boolean {
  return isObject(value) && isText(value['row']) && isText(value['identity']);
}

function isRegion(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { namespace, extent, scopes, from, until, grants, causes } = value;
  return (
    [namespace, extent].every(isText) &&
    isListOf(scopes, isText) &&
    [from, until].every((one) => one === null || isInstant(one)) &&
    isListOf(grants ?? causes, (one) => isObject(one) && isText(one['id']))
  );
}
