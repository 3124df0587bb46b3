// What commits changed, on a terminal and as JSON Lines.
import { formatInstant, groupDigits } from '../../../engine/index.js';
import type { Step } from '../../policy/history/history.js';
import type { Changes } from '../../policy/history/outcome.js';
import type { TreeFault } from '../../policy/history/tree-policy.js';
import type { CommitLine } from '../../policy/sources/git-log.js';
import { type AnyRow, exclusiveText, renderRows, rowJson } from './diff.js';
import { escapeText } from './escape.js';
import { stretchText } from './region.js';
import type { Paint } from './terminal.js';
import { count } from './text.js';

/** Why a commit has no policy. */
type Fault = TreeFault | { readonly code: 'policy.absent'; readonly message: string };

export interface Tally {
  /** What is wrong with the policy of this step, if that is not what was wrong with the one before. */
  readonly add: (step: Step, changes: Changes | null) => Fault | null;
  readonly text: (line: CommitLine) => string;
}

/** Counts what is shown. The same fault is shown at its first commit only, though later ones have it, too. */
export function makeTally(): Tally {
  let last: { readonly tree: string | null; readonly isFault: boolean } = { tree: null, isFault: false };
  const counts = { commits: 0, changing: 0, rows: 0, faults: 0 };
  return {
    add: (step, changes) => {
      counts.commits += 1;
      const rows = changes === null ? 0 : rowsOf(changes).length + pairsOf(changes).length;
      if (rows > 0) counts.changing += 1;
      counts.rows += rows;
      const fault = faultOf(step);
      if (fault !== null) counts.faults += 1;
      const isKnown = last.isFault && last.tree === step.tree;
      last = { tree: step.tree, isFault: fault !== null };
      return isKnown ? null : fault;
    },
    text: ({ commits }) => {
      const { commits: seen, changing, rows, faults } = counts;
      const times = [commits[0], commits.at(-1)].flatMap((one) => (one === undefined ? [] : [formatInstant(one.time)]));
      const when = times.length === 0 ? '' : `, ${times.join(' to ')}`;
      const broken = faults === 0 ? '' : `; ${count(faults, 'commit')} without a policy that compiles`;
      const of = seen === commits.length ? '' : ` of ${groupDigits(commits.length)}`;
      return `${groupDigits(seen)}${of} ${seen === 1 && of === '' ? 'commit' : 'commits'}${when}: ${changing === 0 ? 'none changed these rights' : `${groupDigits(changing)} changed these rights, in ${count(rows, 'row')}`}${broken}\n`;
    },
  };
}

/** A commit from before there was a policy is no fault. */
function faultOf({ outcome, compared }: Step): Fault | null {
  if (outcome.kind === 'fault') return outcome.fault;
  if (outcome.kind === 'policy' || compared === null) return null;
  return { code: 'policy.absent', message: 'there is no such folder at this commit' };
}

function rowsOf({ gained, lost }: Changes): readonly (readonly ['gained' | 'lost', AnyRow])[] {
  return [...gained.map((row) => ['gained', row] as const), ...lost.map((row) => ['lost', row] as const)];
}

/** A pair that no longer excludes each other opens what an actor with both holds. */
function pairsOf({
  exclusive: { added, removed },
}: Changes): readonly (readonly ['gained' | 'lost', readonly [string, string]])[] {
  return [...removed.map((pair) => ['gained', pair] as const), ...added.map((pair) => ['lost', pair] as const)];
}

export function stepJson(step: Step, changes: Changes | null, fault: Fault | null): readonly object[] {
  const said = { ...commitJson(step), compared: step.compared };
  if (fault !== null) return [{ ...said, fault }];
  if (changes === null) return [];
  return [
    ...rowsOf(changes).map(([change, row]) => ({ ...said, change, row: rowJson(row), ...reasonOf(row) })),
    ...pairsOf(changes).map(([change, exclusive]) => ({ ...said, change, exclusive })),
  ];
}

export function commitJson({ commit: { name, author, time, subject } }: Pick<Step, 'commit'>): object {
  return { commit: name, author, time: formatInstant(time), subject };
}

function reasonOf({ causes }: AnyRow): { readonly reason?: string } {
  const reasons = new Set(causes.flatMap((cause) => (cause.kind === 'grant' ? (cause.reason ?? []) : [])));
  return reasons.size === 0 ? {} : { reason: [...reasons].join('; ') };
}

interface Shown {
  readonly step: Step;
  readonly changes: Changes | null;
  readonly fault: Fault | null;
}

/** The empty text if there is nothing to show. */
export function stepText({ step, changes, fault }: Shown, paint: Paint): string {
  if (fault !== null) return `${commitText(step, paint)}  ${paint('error', 'no policy')}: ${faultText(fault)}\n`;
  if (changes === null) return '';
  const [good, bad] = [paint('good', '+'), paint('error', '-')];
  const lines = [
    ...renderRows(changes.gained, { sign: good, timeOf: stretchText }, paint),
    ...renderRows(changes.lost, { sign: bad, timeOf: stretchText }, paint),
    ...pairsOf(changes).map(([change, [a, b]]) => {
      const text = exclusiveText(change === 'gained' ? 'removed' : 'added', escapeText(a), escapeText(b));
      return `${change === 'gained' ? good : bad} ${text}\n`;
    }),
  ];
  if (lines.length === 0) return '';
  return `${commitText(step, paint)}${lines.join('').replaceAll(/^/gm, '  ').trimEnd()}\n`;
}

/** When, which, who and what for. */
export function commitText({ commit: { name, author, time, subject } }: Pick<Step, 'commit'>, paint: Paint): string {
  return `${paint('strong', `${formatInstant(time)}  ${name.slice(0, 12)}  ${escapeText(author)}`)}\n  ${escapeText(subject)}\n`;
}

function faultText(fault: Fault): string {
  if (!('file' in fault)) return fault.message;
  const { file, line, column, code, message, more } = fault;
  const others = more === 0 ? '' : `, and ${count(more, 'more mistake')}`;
  return `${escapeText(file)}:${String(line)}:${String(column)} ${code} ${escapeText(message)}${others}`;
}

export function missingText({ missing }: CommitLine): string {
  return `note: the history begins where the repository does: it does not have the commit ${missing ?? ''}, so what the oldest commit here changed is not known\n  help: git fetch --unshallow\n`;
}
