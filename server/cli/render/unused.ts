// What `unused` found, for people and as JSON: the rights, the smaller policy with its effect, the proof, and what the log does not tell.
import {
  type Kept,
  lineOf,
  type Rights,
  scopePatterns,
  type Unused,
  type UnusedRight,
} from '../../../engine/compiler.js';
import {
  formatIdentity,
  formatInstant,
  groupDigits,
  type GrantRef,
  type Instant,
  scopeSetOf,
  vocabularyOf,
} from '../../../engine/index.js';
import { instantJson } from '../../json/exact-json.js';
import type { SearchReport } from '../../audit/search.js';
import type { PastPolicies, UseCounts } from '../past-uses.js';
import type { Effect, Folder, SmallerPolicy } from '../smaller-policy.js';
import { namesOf } from '../compare-policies.js';
import { beginText, silenceText } from '../audit-log.js';
import { citedText, placeText, stretchText } from './words.js';
import { certificate, type ComparedPolicies, diffJson, renderRows } from './diff.js';
import { escapeText } from './escape.js';
import type { Paint } from './terminal.js';
import { count } from './text.js';

/** Everything that was found, for whoever prints it. */
export interface UnusedReport {
  readonly folder: Folder;
  readonly rights: Rights;
  readonly unused: Unused;
  readonly period: { readonly since: Instant; readonly until: Instant };
  /** Rights about which no decision of the period says anything. */
  readonly tooNew: Kept;
  readonly smaller: SmallerPolicy;
  readonly effect: Effect;
  readonly counts: UseCounts;
  readonly past: PastPolicies;
  readonly search: SearchReport;
}

export function renderUnused(
  report: UnusedReport,
  { output }: { readonly output: string | null },
  paint: Paint,
): string {
  const { unused, tooNew, rights, period, counts, folder } = report;
  const section = (title: string, rows: readonly string[]): readonly string[] =>
    rows.length === 0 ? [] : [paint('strong', title), ...rows.map((row) => `  ${row}`)];
  const of = (use: UnusedRight['use']): readonly string[] =>
    unused.rights
      .filter((right) => right.use === use && !isNew(right, tooNew))
      .map((right) => rightText(right, report));
  const fresh = unused.rights.filter((right) => isNew(right, tooNew)).map((right) => textOf(right, rights, report));
  const lines = [
    `${count(counts.decisions, 'decision')} from ${formatInstant(period.since)} until ${formatInstant(period.until)}, ${groupDigits(counts.allowed)} of them allowed by policy \`${escapeText(folder.set.name)}\``,
    ...section('never cited: no decision rested on it', of('never_cited')),
    ...section('not needed: another right allowed the same each time', of('not_needed')),
    ...section('too new to say: not in force yet, or in no policy of the log', fresh),
    ...(unused.rights.length === 0 ? ['every grant, scope and membership was needed'] : []),
    ...smallerLines(report, output, paint),
    ...section('what the log does not tell', unknownLines(report)),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

function isNew(right: UnusedRight, tooNew: UnusedReport['tooNew']): boolean {
  return right.kind === 'member' ? tooNew.memberships.has(right.membership) : tooNew.grants.has(right.grant);
}

function rightText(right: UnusedRight, report: UnusedReport): string {
  const last = right.last === null ? '' : `, last cited ${formatInstant(right.last)}`;
  const known = knownSince(right, report);
  const since = known === null ? '' : `, known since ${formatInstant(known)}`;
  return `${textOf(right, report.rights, report)}${last}${since}${right.dropped ? '' : ' (stays)'}`;
}

/** Since when the log has decisions of a policy with the grant, if that is not the whole period. */
function knownSince(right: UnusedRight, { rights, past, counts }: UnusedReport): Instant | null {
  if (right.kind === 'member') return null;
  const since = past.since.get(rights.grants[right.grant]?.id ?? '');
  return since === undefined || counts.first === null || since <= counts.first ? null : since;
}

function textOf(right: UnusedRight, rights: Rights, { folder }: UnusedReport): string {
  switch (right.kind) {
    case 'grant':
      return `grant ${citedText(grantRef(rights, right.grant))}`;
    case 'scopes': {
      const patterns = scopePatterns(scopeSetOf(right.scopes), vocabularyOf(folder.set));
      return `${patterns.join(', ')} of grant ${citedText(grantRef(rights, right.grant))}`;
    }
    case 'member': {
      const { member, role, ...place } = memberRef(rights, right.membership);
      return `${escapeText(member)} in role ${escapeText(role)}${placeText(place)}`;
    }
  }
}

function grantRef({ grants }: Rights, at: number): GrantRef & { readonly reason?: string } {
  const grant = grants[at];
  if (grant === undefined) return { id: '' };
  const { id, place, reason } = grant;
  const where = place === null ? {} : { file: place.file, line: lineOf(place) };
  return { id, ...where, ...(reason === null ? {} : { reason }) };
}

type MemberRef = Omit<GrantRef, 'id'> & { readonly role: string; readonly member: string };

function memberRef({ memberships }: Rights, at: number): MemberRef {
  const found = memberships[at];
  if (found === undefined) return { role: '', member: '' };
  const { role, member } = found;
  const where = member.place === null ? {} : { file: member.place.file, line: lineOf(member.place) };
  return { role, member: member.kind === 'role' ? `role ${member.role}` : formatIdentity(member.identity), ...where };
}

function droppedText({ unused: { smaller } }: UnusedReport): string {
  const { grants, scopes, members } = sizesOf(smaller);
  const parts = [
    grants > 0 && count(grants, 'grant'),
    scopes > 0 && count(scopes, 'scope'),
    members > 0 && count(members, 'membership'),
  ];
  return parts.filter((part) => part !== false).join(', ');
}

function sizesOf({ grants, scopes, memberships }: Unused['smaller']): Record<'grants' | 'scopes' | 'members', number> {
  const all = [...scopes.values()].reduce((sum, { size }) => sum + size, 0);
  return { grants: grants.size, scopes: all, members: memberships.size };
}

function smallerLines(report: UnusedReport, output: string | null, paint: Paint): readonly string[] {
  const { effect, smaller, counts } = report;
  const without = droppedText(report);
  if (without === '') return ['nothing can be left out'];
  const rows = renderRows(effect.report.lost, { sign: paint('error', '-'), timeOf: stretchText }, paint);
  const { tests, guardrails } = effect.breaks;
  return [
    paint('strong', `a policy without ${without}: ${smaller.policy.digest}`),
    ...rows.map((row) => row.replace(/\n$/, '')),
    certificate(effect.report),
    ...tests.map((name) => `${paint('error', 'breaks')} test "${escapeText(name)}"`),
    ...guardrails.map((id) => `${paint('error', 'breaks')} guardrail ${escapeText(id)}`),
    `${paint('good', 'proof')}: ${count(counts.decisions, 'decision')} made again by it and by the present policy, 0 differ`,
    ...(output === null
      ? []
      : [
          `written to ${escapeText(output)}, ${count(smaller.changed.length, 'file')} changed: ${smaller.changed.map(escapeText).join(', ')}`,
        ]),
  ];
}

/** Plainly, so that nobody takes silence for no use. */
function unknownLines({ counts, past, search, period, folder }: UnusedReport): readonly string[] {
  const { flips } = counts;
  const { silences, begins } = search.unrecorded;
  const others = past.names.filter(([name]) => name !== folder.set.name);
  const { first } = counts;
  const lines = [
    first === null && 'anything: it has no decision of this time',
    first !== null &&
      first > period.since &&
      `what happened before ${formatInstant(first)}: that is its first decision of this time`,
    ...begins.map((one) => escapeText(beginText(one))),
    ...silences.map((silence) => escapeText(silenceText(silence))),
    counts.lost > 0 && `${count(counts.lost, 'event')} that could not be written`,
    counts.missing > 0 && `${count(counts.missing, 'log')} that the gateway found missing`,
    counts.unreadable > 0 && `${count(counts.unreadable, 'decision')} that cannot be made again`,
    counts.local > 0 &&
      `${count(counts.local, 'decision')} in local mode, where everything is allowed without a policy`,
    flips.denied > 0 &&
      `what was needed for ${count(flips.denied, 'decision')} that were allowed then, and that this policy denies`,
    flips.allowed > 0 &&
      `whether anybody still needs ${count(flips.allowed, 'access', 'accesses')} that were denied then, and that this policy allows`,
    flips.otherSet > 0 &&
      `what ${count(flips.otherSet, 'query', 'queries')} would have shown, of which this policy shows another set`,
    ...others.map(
      ([name, decisions]) =>
        `whether ${count(decisions, 'decision')} by policy \`${escapeText(name)}\` say anything about this one; they count`,
    ),
    past.unknown > 0 &&
      `since when grants exist: the snapshots of ${count(past.unknown, 'decision')} are not beside the log`,
    'use without a gateway: `decide`, the library, the database',
  ];
  return lines.filter((line) => line !== false);
}

export function unusedJson(report: UnusedReport): object {
  const { folder, rights, unused, period, tooNew, smaller, effect, counts, past, search } = report;
  const { first, last, snapshots: _, ...numbers } = counts;
  const compared: ComparedPolicies = {
    old: namesOf(folder),
    new: namesOf(smaller),
    checks: effect.checks,
  };
  const json = (right: UnusedRight): object => rightJson(right, rights, report);
  const { silences, begins } = search.unrecorded;
  return {
    policy: folder.set.name,
    snapshot: folder.policy.digest,
    period: {
      since: formatInstant(period.since),
      until: formatInstant(period.until),
      first: instantJson(first),
      last: instantJson(last),
    },
    unused: unused.rights.filter((right) => !isNew(right, tooNew)).map(json),
    tooNew: unused.rights.filter((right) => isNew(right, tooNew)).map(json),
    smaller: {
      ...compared.new,
      ...sizesOf(unused.smaller),
      files: smaller.changed,
      breaks: effect.breaks,
      diff: diffJson(effect.report, compared),
    },
    proof: { decisions: counts.decisions, changed: 0 },
    log: {
      ...{ events: search.found, ...numbers, malformed: search.malformed, unverified: search.unverified },
      policies: past.names.map(([name, decisions]) => ({ name, decisions })),
      ...{ unknownPolicies: past.unknown, silences, begins },
    },
  };
}

function rightJson(right: UnusedRight, rights: Rights, report: UnusedReport): object {
  const { kind, use, last, dropped } = right;
  const known = knownSince(right, report);
  const what =
    right.kind === 'member'
      ? memberRef(rights, right.membership)
      : { grant: grantRef(rights, right.grant), ...(right.kind === 'scopes' ? { scopes: right.scopes } : {}) };
  return {
    kind,
    use,
    last: instantJson(last),
    dropped,
    ...what,
    ...(known === null ? {} : { known: instantJson(known) }),
  };
}
