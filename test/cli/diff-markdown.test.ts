// The comment of a pull request, however much changes: short diffs in one table, long ones folded and cut, and every row
// either there or counted.
import { expect, test } from '@jest/globals';
import type { DiffReport, DiffRow } from '../../engine/compiler.js';
import type { NamespacePath } from '../../engine/index.js';
import { renderMarkdown } from '../../server/cli/render/diff-markdown.js';

const DIGEST = `sha256:${'0'.repeat(64)}`;
const SAME = { changed: false };
const COMPARED = {
  old: { snapshot: DIGEST, decisions: DIGEST },
  new: { snapshot: DIGEST, decisions: DIGEST },
  checks: {
    kind: 'stated',
    checks: { delegation: SAME, exclusive: SAME, guardrails: SAME, people: SAME, tests: SAME },
  },
} as const;

function rowsOf(count: number, width: number): readonly DiffRow[] {
  return Array.from({ length: count }, (_, index) => ({
    namespace: `/labs/n${String(index)}` as NamespacePath,
    extent: 'subtree',
    except: Array.from(
      { length: width },
      (_unused, i) => `/labs/n${String(index)}/left-out-${String(i)}` as NamespacePath,
    ),
    identities: Array.from({ length: width }, (_unused, i) => `orcid:0000-${String(index)}-${String(i)}`),
    scopes: ['resource:read', 'resource:write'],
    from: null,
    until: null,
    causes: [
      { change: 'added', kind: 'grant', id: `g-${String(index)}`, principal: 'orcid:x', file: 'a.yaml', line: 3 },
    ],
  }));
}

function commentOf(
  gained: readonly DiffRow[],
  lost: readonly DiffRow[],
  compared: Parameters<typeof renderMarkdown>[1] = COMPARED,
  exclusive: DiffReport['exclusive'] = { added: [], removed: [] },
): string {
  const cells = { compared: 100n, equal: 60n, gained: 20n, lost: 20n };
  const report: DiffReport = {
    equal: false,
    gained,
    lost,
    exclusive,
    scopes: { added: [], removed: [] },
    cells,
    visited: { groups: 0, nodes: 0 },
  };
  return renderMarkdown(report, compared);
}

const lines = (text: string, start: string): number => text.split('\n').filter((line) => line.startsWith(start)).length;

/** `1,204 more rows gained` */
function counted(text: string, verb: string): readonly number[] {
  return [...text.matchAll(new RegExp(`([0-9,]+) more rows? ${verb}`, 'g'))].map(([, digits = '']) =>
    Number(digits.replaceAll(',', '')),
  );
}

test.each([
  { name: 'a few rows', gained: 12, lost: 8, width: 3, folds: 0, cuts: 0 },
  { name: 'some rows', gained: 30, lost: 1, width: 3, folds: 1, cuts: 0 },
  { name: 'many rows of one sign', gained: 3000, lost: 2, width: 40, folds: 1, cuts: 1 },
  { name: 'many rows of both', gained: 3000, lost: 5000, width: 40, folds: 1, cuts: 1 },
])('$name: all are shown or counted, within the length of a comment', ({ gained, lost, width, folds, cuts }) => {
  const comment = commentOf(rowsOf(gained, width), rowsOf(lost, width));
  expect(comment.length).toBeLessThan(65_536);
  const [open = '', folded = '', after = ''] = comment.split(/<details>|<\/details>/);
  expect([lines(comment, '<details>'), lines(comment, '</details>'), lines(comment, '|---')]).toEqual([
    folds,
    folds,
    1 + folds,
  ]);
  expect(lines(open, '| +') + lines(open, '| −')).toBe(Math.min(20, gained + lost));
  for (const [sign, verb, all] of [
    ['+', 'gained', gained],
    ['−', 'lost', lost],
  ] as const) {
    const inFold = lines(folded, `| ${sign}`);
    expect(counted(folded, verb)).toEqual(inFold === 0 ? [] : [inFold]);
    const cut = counted(after, verb);
    expect(cut.length).toBeLessThanOrEqual(cuts);
    expect(lines(open, `| ${sign}`) + inFold + (cut[0] ?? 0)).toBe(all);
  }
  expect(comment).toContain('100 cells compared: 20 gained, 20 lost, 60 equal.');
  expect(comment.endsWith(`<sub>old \`${DIGEST}\`<br>new \`${DIGEST}\`</sub>\n`)).toBe(true);
});

test('a row counts what does not fit', () => {
  const row = commentOf(rowsOf(1, 7), [])
    .split('\n')
    .find((line) => line.startsWith('| +'));
  expect(row).toBe(
    '| + | `orcid:0000-0-0`, `orcid:0000-0-1`, `orcid:0000-0-2`, `orcid:0000-0-3`, `orcid:0000-0-4` and 2 more | `resource:*` | at and below `/labs/n0`, without `/labs/n0/left-out-0`, `/labs/n0/left-out-1`, `/labs/n0/left-out-2`, `/labs/n0/left-out-3`, `/labs/n0/left-out-4` and 2 more | always | grant `g-0` added (`a.yaml:3`) |',
  );
});

test('rows that differ only in identities and exceptions are one row, which counts them', () => {
  const [first] = rowsOf(1, 0);
  if (first === undefined) throw new Error('one row was asked for');
  const alike = Array.from({ length: 12 }, (_, i): DiffRow => ({
    ...first,
    identities: [`orcid:p${String(i).padStart(2, '0')}`],
    except: Array.from({ length: i }, (_unused, left) => `/labs/n0/left-out-${String(left)}` as NamespacePath),
  }));
  const comment = commentOf(alike, rowsOf(1, 3));
  expect(lines(comment, '| +')).toBe(1);
  expect(comment).toContain(
    'at and below `/labs/n0`, without up to 11 subtrees that differ by identity (12 rows in JSON)',
  );
  expect(comment).toContain('`orcid:p00`, `orcid:p01`, `orcid:p02`, `orcid:p03`, `orcid:p04` and 7 more');
  expect(lines(commentOf(alike.slice(0, 8), []), '| +')).toBe(8);
});

const weakened = (text: string): Parameters<typeof renderMarkdown>[1] => ({
  ...COMPARED,
  merge: {
    ...{ reviewed: [], rows: [], cells: 0n },
    checks: [{ kind: 'guardrails', change: 'weaker', name: 'closed', text }],
  },
});

test('what only a merge weakens is neither a mention, nor HTML, nor a line of its own', () => {
  const comment = commentOf([], [], weakened('reason: @everyone <img src=x>\n# Approved'));
  expect(comment).toContain(
    '- **the merge alone**: guardrail `closed` is weaker: `reason: @everyone <img src=x>\\n# Approved`\n',
  );
});

test('changes of guardrails have their share of a comment, and the others are counted', () => {
  const guardrails = Array.from({ length: 400 }, (_, i) => ({
    id: `g-${String(i)}`,
    weaker: true,
    ...{ changes: ['x'.repeat(500)], before: '{}', after: '{}', weakenings: [] },
  }));
  const none = { removed: [], changed: [], added: [] };
  const comment = commentOf(rowsOf(3000, 40), [], {
    ...COMPARED,
    checks: {
      ...{ kind: 'listed', guardrails, delegation: [], accepted: [] },
      checks: { delegation: none, exclusive: none, guardrails: none, people: none, tests: none },
    },
  });
  expect(comment.length).toBeLessThan(65_536);
  const shown = lines(comment, '- `g-');
  expect(shown).toBeGreaterThan(10);
  expect(comment).toContain(`${String(400 - shown)} more changes of checks not shown: \`bailiwick diff\` lists all.\n`);
  expect(lines(comment, '| +')).toBeGreaterThan(20);
});

test('exclusive pairs have their share of a comment, and the others are counted', () => {
  const pair = (i: number): readonly [string, string] => [`okta:${'a'.repeat(200)}${String(i)}`, 'okta:b'];
  const removed = Array.from({ length: 2_000 }, (_, i) => pair(i));
  const comment = commentOf(rowsOf(3000, 40), [], COMPARED, { added: [], removed });
  expect(comment.length).toBeLessThan(65_536);
  const shown = lines(comment, '**an actor with both');
  expect(shown).toBeGreaterThan(10);
  const left = (2_000 - shown).toLocaleString('en');
  expect(comment).toContain(`${left} more changes of \`exclusive\` not shown: \`bailiwick diff\` lists all.\n`);
  expect(lines(comment, '| +')).toBeGreaterThan(20);
});
