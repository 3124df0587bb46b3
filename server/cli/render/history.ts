// What commits changed, on a terminal and as JSON Lines.
import { formatInstant, groupDigits } from '../../../engine/index.js';
import type { HistoryStep } from '../../policy/history/history.js';
import type { Changes } from '../../policy/history/outcome.js';
import { countChanges } from '../../policy/history/select-changes.js';
import type { TreeFault } from '../../policy/history/tree-policy.js';
import type { CommitLine, LoggedCommit } from '../../policy/sources/git-log.js';
import { type AnyRow, exclusiveLines, exclusiveText, renderRows, rowJson } from './diff.js';
import { escapeText } from './escape.js';
import { stretchText } from './words.js';
import type { Paint } from './terminal.js';
import { count, firstOf } from './text.js';

interface Tally {
  /** What is wrong with the policy of this step, if that is not what was wrong with the one before. */
  readonly add: (step: HistoryStep, shown: ShownStep['credits']) => TreeFault | null;
  readonly text: (line: CommitLine) => string;
}

/** Counts what is shown. The same fault is shown at its first commit only, though later ones have it, too. */
export function makeTally(): Tally {
  let last: { readonly tree: string | null; readonly isFault: boolean } = { tree: null, isFault: false };
  const counts = { commits: 0, changing: 0, rows: 0, faults: 0 };
  return {
    add: (step, shown) => {
      counts.commits += 1;
      const rows = shown.reduce((sum, { changes }) => sum + countChanges(changes), 0);
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
function faultOf({ outcome, compared }: HistoryStep): TreeFault | null {
  if (outcome.kind === 'fault') return outcome.fault;
  if (outcome.kind === 'policy' || compared === null) return null;
  return { code: 'policy.absent', message: 'there is no such folder at this commit' };
}

/** What the step has, in parts by who did it; null for its own commit. */
export interface ShownStep {
  readonly step: HistoryStep;
  readonly credits: readonly { readonly by: readonly LoggedCommit[] | null; readonly changes: Changes }[];
  readonly fault: TreeFault | null;
}

export function stepJson({ step, credits, fault }: ShownStep): readonly object[] {
  const said = { ...commitJson(step.commit), compared: step.compared };
  const { movedFrom: from, path: to } = step;
  return [
    ...(from === null ? [] : [{ ...said, moved: { from, to } }]),
    ...(fault === null ? [] : [{ ...said, fault: { code: fault.code, message: fault.message, ...fault.at } }]),
    ...credits.flatMap(({ by, changes }) => {
      const who = by === null ? {} : { by: by.map(commitJson) };
      const rowsJson = (change: 'gained' | 'lost'): readonly object[] =>
        changes[change].map((row) => ({ ...said, change, row: rowJson(row), ...reasonOf(row), ...who }));
      return [
        ...rowsJson('gained'),
        ...rowsJson('lost'),
        ...exclusiveLines(changes).map(({ gives, pair: exclusive }) => {
          return { ...said, change: gives ? 'gained' : 'lost', exclusive, ...who };
        }),
      ];
    }),
  ];
}

export function commitJson({ name, author, time, subject }: LoggedCommit): object {
  return { commit: name, author, time: formatInstant(time), subject };
}

function reasonOf({ causes }: AnyRow): { readonly reason?: string } {
  const reasons = new Set(causes.flatMap((cause) => (cause.kind === 'grant' ? (cause.reason ?? []) : [])));
  return reasons.size === 0 ? {} : { reason: [...reasons].join('; ') };
}

/** The empty string if there is nothing to show. */
export function stepText({ step, credits, fault }: ShownStep, paint: Paint): string {
  const { commit, movedFrom, path } = step;
  const lines = [
    ...(movedFrom === null ? [] : [`the folder was moved from ${folderText(movedFrom)} to ${folderText(path)}\n`]),
    ...(fault === null ? [] : [`${paint('error', 'no policy')}: ${faultText(fault)}\n`]),
    ...credits.flatMap(({ by, changes }) => {
      const rows = changesText(changes, paint);
      return rows.length === 0 ? [] : [byText(by, paint), ...rows];
    }),
  ];
  if (lines.length === 0) return '';
  return `${commitText(commit, paint)}${lines.join('').replaceAll(/^(?=.)/gm, '  ')}`;
}

function folderText(path: string): string {
  return path === '' ? 'the top' : escapeText(path);
}

function changesText(changes: Changes, paint: Paint): readonly string[] {
  const [good, bad] = [paint('good', '+'), paint('error', '-')];
  return [
    ...renderRows(changes.gained, { sign: good, timeOf: stretchText }, paint),
    ...renderRows(changes.lost, { sign: bad, timeOf: stretchText }, paint),
    ...exclusiveLines(changes).map((line) => `${line.gives ? good : bad} ${exclusiveText(line, escapeText)}\n`),
  ];
}

/** Who did what a merge changed. */
function byText(by: readonly LoggedCommit[] | null, paint: Paint): string {
  if (by === null) return '';
  if (by.length === 0) return `${paint('error', 'by the merge itself')}: none of the merged commits changed this\n`;
  const text = ({ name, author, subject }: LoggedCommit): string =>
    `by ${name.slice(0, SHORT_NAME)}  ${escapeText(author)}: ${escapeText(subject)}\n`;
  const more = (left: number): string => `and by ${count(left, 'more commit')}\n`;
  return firstOf(by, text, { most: SHOWN_COMMITS, more }).join('');
}

/** The others are counted; JSON lists all. */
const SHOWN_COMMITS = 8;
const SHORT_NAME = 12;

/** When, which, who and what for. */
export function commitText({ name, author, time, subject }: LoggedCommit, paint: Paint): string {
  const head = `${formatInstant(time)}  ${name.slice(0, SHORT_NAME)}  ${escapeText(author)}`;
  return `${paint('strong', head)}\n${subject === '' ? '' : `  ${escapeText(subject)}\n`}`;
}

function faultText({ code, message, at }: TreeFault): string {
  if (at === undefined) return escapeText(message);
  const others = at.more === 0 ? '' : `, and ${count(at.more, 'more mistake')}`;
  return `${escapeText(at.file)}:${String(at.line)}:${String(at.column)} ${code} ${escapeText(message)}${others}`;
}

/** Of a repository that does not have all commits; otherwise empty. */
export function missingText({ missing }: CommitLine, so: string): string {
  if (missing === null) return '';
  return `note: the history begins where the repository does: it does not have the commit ${missing}, so ${so}\n  help: git fetch --unshallow\n`;
}
