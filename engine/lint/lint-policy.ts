// Lint finds what is legal but probably not intended (engine/README.md "Shapes, layout, lint"). It is a pure function of the linked
// policy. Levels and ignore comments are applied here, once for all rules.
import { groupDigits } from '../diagnostics/fault-words.js';
import { ENGINE_LIMITS, type EngineLimits } from '../limits.js';
import { codePage, type LintCode } from '../diagnostics/diagnostic-codes.js';
import type { Severity } from '../diagnostics/codes/page.js';
import type { Diagnostic } from '../diagnostics/diagnostic.js';
import type { Instant } from '../model/instant.js';
import { nearest } from '../diagnostics/nearest.js';
import type { FileOutline, PolicySet } from '../model/policy-set.js';
import { makeDiagnostic, sortDiagnostics } from '../diagnostics/report.js';
import { findMissingWithin } from './delegation.js';
import { findEndingGrants, findUnreachableGrants, findUnstoredNamespaces, findWritesAtRoot } from './grant-rules.js';
import { makeNamespacePlaces } from './grant-places.js';
import { applyIgnores, findIgnores, type IgnoreComment } from './ignores.js';
import { makeLintWorld } from './lint-world.js';
import { findLookalikes } from './lookalikes.js';
import { findNearNamespaces } from './near-namespaces.js';
import { findRedundantGrants } from './redundant-grants.js';
import { findRepeatedMembers } from './repeated-members.js';
import { findIdleRoles } from './role-rules.js';
import type { LintFinding, LintRule, ShownPlace } from './rule.js';
import { findTestsOfStrangers } from './test-rules.js';
import { findUnreadWrites } from './unread-writes.js';

export type LintLevel = 'off' | Severity;

/** Each rule with the codes that it reports. */
const RULES: ReadonlyMap<LintRule, readonly LintCode[]> = new Map<LintRule, readonly LintCode[]>([
  [findUnreachableGrants, ['LINT_GRANT_UNREACHABLE']],
  [findRedundantGrants, ['LINT_GRANT_REDUNDANT']],
  [findEndingGrants, ['LINT_GRANT_EXPIRED', 'LINT_GRANT_EXPIRES_SOON']],
  [findIdleRoles, ['LINT_ROLE_EMPTY', 'LINT_ROLE_UNUSED']],
  [findRepeatedMembers, ['LINT_MEMBER_REPEATED']],
  [findWritesAtRoot, ['LINT_WRITE_AT_ROOT']],
  [findUnreadWrites, ['LINT_WRITE_UNREAD']],
  [findLookalikes, ['LINT_IDENTITY_LOOKALIKE']],
  [findNearNamespaces, ['LINT_NAMESPACE_LOOKALIKE']],
  [findUnstoredNamespaces, ['LINT_NAMESPACE_UNSTORED']],
  [findMissingWithin, ['LINT_WITHIN_MISSING']],
  [findTestsOfStrangers, ['LINT_TEST_IDENTITY']],
]);

/** Sorted. */
export const LINT_CODES: readonly LintCode[] = Object.freeze(
  [...[...RULES.values()].flat(), 'LINT_IGNORE_REASON' as const, 'LINT_IGNORE_UNUSED' as const].sort(),
);

/** Rules that depend on the clock, so they never make a policy invalid. */
export const CLOCK_RULES: ReadonlySet<string> = new Set<LintCode>(['LINT_GRANT_EXPIRED', 'LINT_GRANT_EXPIRES_SOON']);

/** Rules that give up at the limit `lintPairs`. */
const MAY_GIVE_UP: ReadonlySet<string> = new Set<LintCode>([
  'LINT_GRANT_REDUNDANT',
  'LINT_MEMBER_REPEATED',
  'LINT_WRITE_UNREAD',
]);

export function isLintCode(code: string): code is LintCode {
  return LINT_CODES.some((known) => known === code);
}

export interface LintOptions {
  /** Null: the rules about the clock are not run. */
  readonly at: Instant | null;
  readonly soonMilliseconds: number;
  /** Levels that replace the level on the page of the code. */
  readonly levels: ReadonlyMap<LintCode, LintLevel>;
  /**
   * Namespaces that a store has: all of those that grants name, plus some that may have been meant. Absent without a store; its rule is then
   * not run.
   */
  readonly stored?: ReadonlySet<string>;
}

/** What `readPolicy` gives for a policy without errors. */
export interface LintInput {
  readonly policy: PolicySet;
  readonly sources: ReadonlyMap<string, string>;
  readonly outlines: readonly FileOutline[];
}

/** Sorted as all diagnostics are. */
export function lintPolicy(
  input: LintInput,
  options: LintOptions,
  limits: EngineLimits = ENGINE_LIMITS,
): readonly Diagnostic[] {
  const { at, soonMilliseconds, levels, stored = null } = options;
  const findings: LintFinding[] = [];
  const gaveUp: { readonly place: ShownPlace; readonly message: string }[] = [];
  const isOff = (code: LintCode): boolean =>
    levels.get(code) === 'off' ||
    (at === null && CLOCK_RULES.has(code)) ||
    (stored === null && code === 'LINT_NAMESPACE_UNSTORED');
  const namespacePlace = makeNamespacePlaces(input.sources, limits);
  const world = makeLintWorld(input.policy, input.outlines, limits);
  for (const [rule, codes] of RULES) {
    if (codes.every(isOff)) continue;
    rule(world, {
      at,
      soonMilliseconds,
      stored,
      namespacePlace,
      maxPairs: limits.lintPairs,
      onLimit: (place, message) => gaveUp.push({ place, message }),
      report: (finding) => findings.push(finding),
    });
  }
  // A finding about the clock comes and goes, so a comment that ignores one is right even while there is none. The same goes for rules
  // that are off or gave up.
  const isQuiet = (code: string): boolean =>
    isLintCode(code) && (isOff(code) || CLOCK_RULES.has(code) || (MAY_GIVE_UP.has(code) && gaveUp.length > 0));
  const kept = withFaults(findings, findIgnores(input.sources, limits), isQuiet);
  const shown = kept.filter(({ code }) => !isOff(code));
  const notes = gaveUp.map(({ place, message }) =>
    makeDiagnostic({
      code: 'LIMIT_LINT',
      ...place,
      message,
      help: 'split the policy to have all of them compared',
    }),
  );
  const all = sortDiagnostics([...shown.map((finding) => toDiagnostic(finding, levels)), ...notes]);
  if (all.length <= limits.diagnostics) return all;
  const more = `${groupDigits(all.length - limits.diagnostics)} more findings of lint are not listed`;
  // Findings that can make the policy invalid are kept before others, so that neither the limit nor the clock decides whether it is valid.
  const ranked = all.toSorted((a, b) => weightOf(b) - weightOf(a));
  const last = ranked[limits.diagnostics];
  const rest =
    last === undefined
      ? []
      : [makeDiagnostic({ code: 'LIMIT_LINT', file: last.file, range: last.range, message: more, help: LISTED })];
  return [...sortDiagnostics(ranked.slice(0, limits.diagnostics)), ...rest];
}

/** Findings of more weight are listed first when not all can be listed. */
function weightOf({ code, severity }: Diagnostic): number {
  if (severity === 'error') return 2;
  return severity === 'warning' && !CLOCK_RULES.has(code) ? 1 : 0;
}

const LISTED = 'correct what is listed and check again';

function toDiagnostic({ place, ...finding }: LintFinding, levels: LintOptions['levels']): Diagnostic {
  const level = levels.get(finding.code);
  const severity = level === undefined || level === 'off' ? codePage(finding.code).severity : level;
  return { ...makeDiagnostic({ ...finding, ...place }), severity };
}

/** The findings that no comment ignores, plus the findings about the comments themselves. */
function withFaults(
  findings: readonly LintFinding[],
  ignores: readonly IgnoreComment[],
  isQuiet: (code: string) => boolean,
): readonly LintFinding[] {
  if (ignores.length === 0) return findings;
  const { kept, used } = applyIgnores(ignores, findings);
  return [...kept, ...ignores.flatMap((comment) => faultsOf(comment, used.get(comment) ?? new Set(), isQuiet))];
}

function faultsOf(
  comment: IgnoreComment,
  used: ReadonlySet<string>,
  isQuiet: (code: string) => boolean,
): readonly LintFinding[] {
  const place = { file: comment.file, range: comment.range };
  const [first] = comment.codes;
  if (first === undefined || comment.reason === '') {
    const message = first === undefined ? 'the ignore comment names no rule' : 'the ignore comment gives no reason';
    const help = `write \`# bailiwick-ignore ${first ?? 'LINT_WRITE_AT_ROOT'}: why\``;
    return [{ code: 'LINT_IGNORE_REASON', place, message, help }];
  }
  return comment.codes
    .filter((code) => !used.has(code) && !isQuiet(code))
    .map((code): LintFinding => {
      const near = isLintCode(code) ? null : nearest(code, LINT_CODES);
      const message = isLintCode(code)
        ? `there is no \`${code}\` here to ignore`
        : `\`${code}\` is not a lint rule, so nothing is ignored`;
      return {
        code: 'LINT_IGNORE_UNUSED',
        place,
        message,
        help: near === null ? 'remove the comment' : `did you mean \`${near}\`?`,
      };
    });
}
