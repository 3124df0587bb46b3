// Ignore comments: `# bailiwick-ignore LINT_X: reason` stands above an entry, behind it, or at the head of a file to cover the whole
// file. A comment covers the whole entry, so the entry's layout does not matter. Lint checks the comments too: one without a reason
// ignores nothing, and one that ignores nothing is reported.
import { ENGINE_LIMITS, type EngineLimits } from '../limits.js';
import type { Diagnostic } from '../diagnostics/diagnostic.js';
import { lineTableOf, positionAt, type Range, rangeOf, type Span } from '../model/span.js';
import { commentsOf } from '../source/comments.js';
import { readTree } from '../source/read-tree.js';
import type { Node } from '../source/tree.js';

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
  return comments.flatMap((comment) => {
    const match = COMMENT.exec(comment.text);
    if (match === null) return [];
    const range = rangeOf(lines, comment);
    const codes = (match[1] ?? '').split(/[\s,]+/).filter((code) => code !== '');
    let line = range.start.line;
    const isHead = comment.ownLine && line < contentStart;
    while (
      comment.ownLine &&
      (own.has(line) || text.slice(lines[line - 1], lines[line] ?? text.length).trim() === '')
    ) {
      line += 1;
      if (line > lines.length) break;
    }
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

/** Whether a comment covers a diagnostic. */
export function isIgnoredBy(
  comment: IgnoreComment,
  code: string,
  diagnostic: Pick<Diagnostic, 'file' | 'range'>,
): boolean {
  return (
    comment.reason !== '' &&
    comment.file === diagnostic.file &&
    (comment.lines === null || isWithin(diagnostic.range.start.line, comment.lines)) &&
    comment.codes.includes(code)
  );
}

function isWithin(line: number, [first, last]: LineRange): boolean {
  return line >= first && line <= last;
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
