// Ignore comments: `# bailiwick-ignore LINT_X: reason`, above a line, behind it, or at the head of a file for all of it. They
// answer to lint themselves: one without a reason ignores nothing, and one that ignores nothing is told.
import type { EngineLimits } from '../limits.js';
import type { Diagnostic, Range } from '../model/diagnostic.js';
import { lineTableOf, positionAt, rangeOf } from '../model/span.js';
import { commentsOf } from '../source/comments.js';
import { readTree } from '../source/read-tree.js';

export interface IgnoreComment {
  readonly file: string;
  readonly range: Range;
  /** As written; perhaps no rules at all. */
  readonly codes: readonly string[];
  /** Empty: it ignores nothing. */
  readonly reason: string;
  /** Null: the whole file. */
  readonly line: number | null;
}

const WORD = 'bailiwick-ignore';
const COMMENT = new RegExp(`^#+\\s*${WORD}(?![\\w-])\\s*([^:]*)(?::\\s*(.*))?$`);

/** All ignore comments of these files; a file that has none is only searched for the word. */
export function findIgnores(sources: ReadonlyMap<string, string>, limits: EngineLimits): readonly IgnoreComment[] {
  return [...sources].flatMap(([file, text]) => (text.includes(WORD) ? ignoresIn(file, text, limits) : []));
}

function ignoresIn(file: string, text: string, limits: EngineLimits): readonly IgnoreComment[] {
  const parsed = readTree({ text, limits, report: () => undefined });
  if (parsed.kind !== 'tree') return [];
  const lines = lineTableOf(text);
  const comments = commentsOf(text, parsed.node);
  const own = new Set(comments.filter((comment) => comment.ownLine).map(({ start }) => positionAt(lines, start).line));
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
    return [{ file, range, codes, reason: (match[2] ?? '').trim(), line: isHead ? null : line }];
  });
}

/** Whether a comment speaks of a diagnostic. */
export function isIgnoredBy(
  comment: IgnoreComment,
  code: string,
  diagnostic: Pick<Diagnostic, 'file' | 'range'>,
): boolean {
  return (
    comment.reason !== '' &&
    comment.file === diagnostic.file &&
    (comment.line === null || comment.line === diagnostic.range.start.line) &&
    comment.codes.includes(code)
  );
}
