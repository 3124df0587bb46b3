// What came out, for people as a table and for machines as JSON, with what it was measured on.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { PATIENCE } from './contest.mjs';
import { figure, geometricMean, loadNow, print, short, table } from './figures.mjs';
import { QUERIES } from './statements.mjs';

export function report({ settings, figures, cases }, { postgres, before }) {
  const { namespaces, grants } = settings;
  const all = [...figures, ...ratios(cases, settings)];
  writeReport({ settings, figures: all, before, postgres, more: { namespaces, grants, cases } });
}

/** Prints the figures and writes them, with `more`, to the file of the settings. */
export function writeReport({ settings, figures, before, postgres, more = {} }) {
  const about = {
    seed: settings.seed,
    records: settings.records,
    node: process.version,
    postgres,
    commit: commitOf(),
    load: { before, after: loadNow() },
  };
  mkdirSync(dirname(settings.out), { recursive: true });
  writeFileSync(settings.out, `${JSON.stringify({ ...about, ...more, figures }, null, 2)}\n`);
  const lines = figures.map(({ figure: name, value, goal, reached, n, note }) => [
    name,
    short(value),
    goal ?? '',
    reached === null ? '' : reached ? 'yes' : 'NO',
    n,
    note ?? '',
  ]);
  print(table([['figure', 'value', 'goal', 'reached', 'n', ''], ...lines]));
  print(`seed ${about.seed}, commit ${about.commit}, node ${about.node}, PostgreSQL ${postgres ?? 'not installed'}, load ${before[0]} to ${about.load.after[0]}`); // prettier-ignore
  print(`written to ${settings.out}`);
}

/**
 * Geometric means and worst cases of the ratios of one run: each over its queries on all visible sets, which are sets of subtrees. What
 * is measured beside them has a ratio of its own for each case and is in no mean.
 */
function ratios(measured, { records }) {
  const cases = measured.filter(({ beside }) => beside !== true);
  const of = (queries) => cases.filter(({ query }) => queries.includes(query));
  const over = (chosen, above, below) => chosen.map(({ milliseconds }) => milliseconds[above] / milliseconds[below]);
  const both = (name, numbers, goals) => [
    figure(`${name}, geometric mean`, geometricMean(numbers), { goal: goals.mean ?? null, n: numbers.length }),
    figure(`${name}, worst`, Math.max(...numbers), { goal: goals.worst ?? null, n: numbers.length }),
  ];
  const pages = of(['newest', 'by name', 'deep']);
  const everything = of(QUERIES.map(({ name }) => name));
  return [
    ...both('page, ours / phys', over(pages, 'ours', 'phys'), {
      mean: records >= 10_000_000 ? '<= 2.5' : '<= 3',
      worst: '<= 12',
    }),
    ...both('filtered page, ours / phys', over(of(['filter']), 'ours', 'phys'), { mean: '<= 4', worst: '<= 30' }),
    ...both('count, ours / phys', over(of(['count']), 'ours', 'phys'), { mean: '<= 1' }),
    ...both('filtered count, ours / phys', over(of(['filtered count']), 'ours', 'phys'), { mean: '<= 4' }),
    figure('tuned row-level security / ours, geometric mean', geometricMean(over(everything, 'rls', 'ours')), {
      goal: '>= 15',
      n: everything.length,
      note: gaveUp(cases, 'rls'),
    }),
    figure('grants-table join / ours, geometric mean', geometricMean(over(everything, 'join', 'ours')), {
      goal: '>= 10',
      n: everything.length,
      note: gaveUp(cases, 'join'),
    }),
    ...both('gateway / ours, milliseconds', over(everything, 'gateway', 'ours'), {}),
    ...measured.filter(({ beside }) => beside === true).map(besides),
  ];
}

function besides({ query, visible, milliseconds: { ours, phys }, n }) {
  const note = `${short(ours)} and ${short(phys)} ms, ${visible} visible; in no mean`;
  return figure(`beside: ${query}, ours / phys`, ours / phys, { n: n.ours, note });
}

function gaveUp(cases, name) {
  const count = cases.filter(({ milliseconds }) => milliseconds[name] >= PATIENCE).length;
  return count === 0 ? '' : `${count} of ${cases.length} given up after ${PATIENCE / 1000} s`;
}

function commitOf() {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim(); // prettier-ignore
  } catch {
    return 'unknown';
  }
}
