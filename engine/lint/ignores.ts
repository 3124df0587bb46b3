// Ignore comments: `# bailiwick-ignore LINT_X: reason` stands above an entry, behind it, or at the head of a file to cover the whole
// file. A comment covers the whole entry, so the entry's layout does not matter. Lint checks the comments too: one without a reason
// ignores nothing, and one that ignores nothing is reported.
import { ENGINE_LIMITS, type EngineLimits } from '../limits.js';
import { groupBy } from '../model/group.js';
import { firstFrom } from '../model/row-lists.js';
import { lineTableOf, positionAt, type Range, rangeOf, type Span } from '../model/span.js';
import { commentsOf } from '../source/comments.js';
import { readTree } from '../source/read-tree.js';
import type { Node } from '../source/tree.js';
import type { LintFinding } from './rule.js';

type LineRange = readonly [first: number, last: number];

export interface IgnoreComment {
  readonly file: string;
  readonly range: Range;
  /** As written; they may not be names of rules. */
  readonly codes: readonly string[];
  /** If it is empty, the comment ignores nothing. */
  readonly reason: string;
  /** The first and last line that are covered; null for the whole file. */
  readonly lines: LineRange | null;
}

const WORD = 'bailiwick-ignore';
const COMMENT = new RegExp(`^#+\\s*${WORD}(?![\\w-])\\s*([^:]*)(?::\\s*(.*))?$`);

/** All ignore comments of these files. A file without the word is not parsed. */
export function findIgnores(sources: ReadonlyMap<string, string>, limits: EngineLimits): readonly IgnoreComment[] {
  return [...sources].flatMap(([file, text]) => (text.includes(WORD) ? ignoresIn(file, text, limits) : []));
}

function ignoresIn(file: string, text: string, limits: EngineLimits): readonly IgnoreComment[] {
  const parsed = readTree({ text, limits, report: () => undefined });
  if (parsed.kind !== 'tree') return [];
  const lines = lineTableOf(text);
  const comments = commentsOf(text, parsed.node);
  const own = new Set(comments.filter((comment) => comment.ownLine).map(({ start }) => positionAt(lines, start).line));
  const lineAt = (offset: number): number => positionAt(lines, offset).line;
  // If several entries begin or open on one line, the outermost counts; it comes first.
  const [below, before] = [new Map<number, LineRange>(), new Map<number, LineRange>()];
  for (const { start, end, opens } of entriesOf(text, parsed.node)) {
    const range: LineRange = [lineAt(start), lineAt(end)];
    const behind = opens === -1 ? null : lineAt(opens ?? end);
    if (!below.has(range[0])) below.set(range[0], range);
    if (behind !== null && !before.has(behind)) before.set(behind, range);
  }
  const contentStart = positionAt(lines, parsed.node.start).line;
  // From each line on, the first one that is neither blank nor a comment alone.
  const contentFrom = new Int32Array(lines.length + 2).fill(lines.length + 1);
  for (let line = lines.length; line > 0; line -= 1) {
    const isPassed = own.has(line) || text.slice(lines[line - 1], lines[line] ?? text.length).trim() === '';
    contentFrom[line] = isPassed ? (contentFrom[line + 1] ?? 0) : line;
  }
  return comments.flatMap((comment) => {
    const match = COMMENT.exec(comment.text);
    if (match === null) return [];
    const range = rangeOf(lines, comment);
    const codes = (match[1] ?? '').split(/[\s,]+/).filter((code) => code !== '');
    const at = range.start.line;
    const isHead = comment.ownLine && at < contentStart;
    const line = comment.ownLine ? (contentFrom[at] ?? at) : at;
    const [first, last] = (comment.ownLine ? below : before).get(line) ?? [line, line];
    const covered: LineRange = [Math.min(line, first), Math.max(line, last)];
    return [{ file, range, codes, reason: (match[2] ?? '').trim(), lines: isHead ? null : covered }];
  });
}

interface EntrySpan extends Span {
  /**
   * For a block, the end of its key, or -1 for an item: no comment can stand behind the end of a block. Null for texts and brackets.
   */
  readonly opens: number | null;
}

/** Entries of mappings and items of lists. Each comes before those inside it. */
function entriesOf(text: string, node: Node): readonly EntrySpan[] {
  const found: EntrySpan[] = [];
  const visit = (inner: Node): number => {
    const parts =
      inner.kind === 'list'
        ? inner.items.map((value) => ({ key: null, value }))
        : inner.kind === 'mapping'
          ? inner.entries
          : [];
    let end = inner.end;
    const isBlock = parts.length > 0 && !/[[{]/.test(text.charAt(inner.start));
    for (const { key, value } of parts) {
      const at = found.length;
      const start = key?.start ?? value.start;
      const isBlockValue =
        (value.kind === 'list' || value.kind === 'mapping') && !/[[{]/.test(text.charAt(value.start));
      found.push({ start, end: start, opens: null });
      const last = Math.max(visit(value), key?.end ?? 0);
      found[at] = { start, end: last, opens: isBlockValue ? (key?.end ?? -1) : null };
      if (isBlock) end = last;
    }
    return end;
  };
  visit(node);
  return found;
}

interface Applied {
  /** The findings that no comment covers. */
  readonly kept: readonly LintFinding[];
  /** Of each comment, the codes of which it covers a finding. */
  readonly used: ReadonlyMap<IgnoreComment, ReadonlySet<string>>;
}

/** Findings are sorted by line, so a comment takes two searches, however many of them it covers. */
export function applyIgnores(comments: readonly IgnoreComment[], findings: readonly LintFinding[]): Applied {
  const keyOf = (code: string, file: string): string => `${code} ${file}`;
  const lineOf = (finding: LintFinding | undefined): number => finding?.place.range.start.line ?? 0;
  const groups = groupBy(findings, ({ code, place }) => keyOf(code, place.file));
  for (const alike of groups.values()) alike.sort((a, b) => lineOf(a) - lineOf(b));
  // At each finding of a group, how many more comments cover it than the one before.
  const turns = new Map(Array.from(groups, ([key, alike]) => [key, new Int32Array(alike.length + 1)]));
  const used = new Map<IgnoreComment, Set<string>>();
  for (const comment of comments) {
    const [first, last] = comment.lines ?? [0, Infinity];
    for (const code of comment.reason === '' ? [] : comment.codes) {
      const key = keyOf(code, comment.file);
      const [alike, more] = [groups.get(key) ?? [], turns.get(key)];
      const from = firstFrom(alike.length, (i) => lineOf(alike[i]) >= first);
      const until = firstFrom(alike.length, (i) => lineOf(alike[i]) > last);
      if (more === undefined || from === until) continue;
      more[from] = (more[from] ?? 0) + 1;
      more[until] = (more[until] ?? 0) - 1;
      used.set(comment, (used.get(comment) ?? new Set()).add(code));
    }
  }
  const ignored = new Set<LintFinding>();
  for (const [key, alike] of groups) {
    let covering = 0;
    for (const [i, finding] of alike.entries()) {
      covering += turns.get(key)?.[i] ?? 0;
      if (covering > 0) ignored.add(finding);
    }
  }
  return { kept: findings.filter((finding) => !ignored.has(finding)), used };
}

// The findings that a policy accepts (docs/language.md "Mistakes"), for comparing two policies: how often each rule is ignored for an
// entry, and for a whole file. Where the comments stand does not matter, so moving files changes nothing.

/** By `LINT_X` and `LINT_X for a whole file`, the number of comments that give a reason. */
export function acceptedFindings(
  sources: ReadonlyMap<string, string>,
  limits: EngineLimits = ENGINE_LIMITS,
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { codes, reason, lines } of findIgnores(sources, limits)) {
    if (reason === '') continue;
    for (const code of codes) {
      const name = lines === null ? `${code} for a whole file` : code;
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  return counts;
}
