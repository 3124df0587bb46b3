// The rows of one run: geometric means and worst cases of the ratios over the queries on all visible sets, which are sets of subtrees. What
// is measured beside them has a row of its own for each case and is in no mean.
import { geometricMean, row } from '../rows.mjs';
import { PATIENCE } from './contest.mjs';
import { QUERIES } from './statements.mjs';

const PAGES = ['newest', 'by name', 'deep'];

export function ratios(measured) {
  const cases = measured.filter(({ beside }) => beside !== true);
  const over = (chosen, above, below) => chosen.map(({ milliseconds }) => milliseconds[above] / milliseconds[below]);
  const of = (queries, roots) =>
    cases.filter((one) => queries.includes(one.query) && (roots ?? one.roots) === one.roots);
  const mean = (what, numbers, about) => numbers.length === 0 ? [] : [row(`${what}, geometric mean`, geometricMean(numbers), { n: numbers.length, ...about })]; // prettier-ignore
  const worst = (what, numbers, about) => numbers.length === 0 ? [] : [row(`${what}, worst`, Math.max(...numbers), { n: numbers.length, ...about })]; // prettier-ignore
  const [page, filter, count, filtered] = [PAGES, ['filter'], ['count'], ['filtered count']].map((queries) => over(of(queries), 'ours', 'phys')); // prettier-ignore
  const everything = of(QUERIES.map(({ name }) => name));
  return [
    ...mean('page / phys', page, { goal: 'page' }),
    ...worst('page / phys', page, { goal: 'page-worst' }),
    ...mean('page of 1,000 roots / phys', over(of(PAGES, 1_000), 'ours', 'phys'), { goal: 'page-1k' }),
    ...mean('page of 10,000 roots / phys', over(of(PAGES, 10_000), 'ours', 'phys'), { goal: 'page-10k' }),
    ...mean('filtered page / phys', filter, { goal: 'filter' }),
    ...worst('filtered page / phys', filter, { goal: 'filter-worst' }),
    ...mean('count / phys', count, { goal: 'count' }),
    ...worst('count / phys', count),
    ...mean('filtered count / phys', filtered, { goal: 'filtered-count' }),
    ...worst('filtered count / phys', filtered),
    ...worst('filtered count / row-level security', over(of(['filtered count']), 'ours', 'rls'), { goal: 'filtered-count-rls' }), // prettier-ignore
    ...mean('row-level security / ours', over(everything, 'rls', 'ours'), { goal: 'rls', note: gaveUp(cases, 'rls') }),
    ...mean('grants-table join / ours', over(everything, 'join', 'ours'), {
      goal: 'join',
      note: gaveUp(cases, 'join'),
    }),
    ...mean('gateway / ours', over(everything, 'gateway', 'ours')),
    ...worst('gateway / ours', over(everything, 'gateway', 'ours')),
    ...measured.filter(({ beside }) => beside === true).map(besides),
  ];
}

function besides({ query, visible, milliseconds: { ours, phys }, n }) {
  return row(`beside: ${query}`, ours, { limit: phys, unit: 'ms', n: n.ours, note: `${visible} visible; in no mean` });
}

function gaveUp(cases, name) {
  const count = cases.filter(({ milliseconds }) => milliseconds[name] >= PATIENCE).length;
  return count === 0 ? '' : `${count} of ${cases.length} given up after ${PATIENCE / 1000} s`;
}
