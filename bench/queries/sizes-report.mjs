// The rows of the sizes: of each quantity the largest store's figure beside the smallest's, those of all stores, and where a line over the
// logarithm of the size leads.
import { geometricMean, row, short } from '../rows.mjs';
import { fitLog } from './fit.mjs';

/** The sizes that the goal of a page is about. */
const GOAL = { from: 1_000_000, to: 10_000_000 };
const FAR = 100_000_000;

export function rowsOf({ stores, fresh, late, before, after, days, updates, reads }) {
  return [
    ...loadRows(stores),
    ...spaceRows(stores, fresh, 'before'),
    ...spaceRows(stores, late, 'after a day'),
    ...dayRows(stores, days, updates),
    ...timeRows(stores, before, 'before'),
    ...timeRows(stores, after, 'after a day'),
    ...indexRows(fresh, reads),
  ];
}

function loadRows(stores) {
  return stores.map(({ from, size, rate, server, own, feed, isCut }) => {
    const spent = `processor time for 1,000: server ${short(server)}, load ${short(own)} ms`;
    const note = `${spent}; ${short(feed)} bytes each wait for the feed${isCut ? '; time was up' : ''}`;
    return row(`load from ${from} to ${size}`, rate, { limit: stores[0].rate, unit: '/s', n: size - from, note });
  });
}

/** The row of one quantity: its value at the largest size beside that at the smallest, and the values at all sizes. */
function values(what, numbers, { note = '', ...about } = {}) {
  return row(what, numbers.at(-1), { limit: numbers[0], ...about, note: `${numbers.map(short).join(', ')}${note}` });
}

/** The same with the line through them. */
function grown(what, stores, numbers, { note = '', ...about } = {}) {
  const fit = fitLog(stores.map(({ size }, place) => [size, numbers[place]]));
  const model =
    fit === null ? '' : `; at ${short(FAR)} ${short(fit.valueAt(FAR))}, residual ${short(100 * fit.residual)} %`;
  return values(what, numbers, { ...about, note: `${model}${note}` });
}

function spaceRows(stores, read, when) {
  const each = (part) => read.map((sizes) => sizes[part] / sizes.rows);
  return [
    grown(`table, bytes a record, ${when}`, stores, each('heap')),
    grown(`indexes, bytes a record, ${when}`, stores, each('indexes')),
    values(`whole database, bytes a record, ${when}`, each('whole')),
  ];
}

function dayRows(stores, days, updates) {
  const counts = days.map(({ writes }) => writes);
  const rates = days.map(({ rate }) => rate);
  return [
    grown('writes of the day', stores, rates, { unit: '/s', n: counts.at(-1), note: `; ${counts.join(', ')} writes` }),
    values('vacuum after it', days.map(({ vacuum }) => vacuum), { unit: 's' }), // prettier-ignore
    values('changes that wrote no index, share', updates.map(({ hot }) => hot)), // prettier-ignore
  ];
}

function timeRows(stores, cases, when) {
  const isGoal = stores[0].size === GOAL.from && stores.at(-1).size === GOAL.to;
  const pages = cases.filter(({ isPage }) => isPage);
  const ratios = pages.map(({ milliseconds }) => milliseconds.at(-1) / milliseconds[0]);
  return [
    ...cases.map(({ name, isPage, milliseconds, n }) => {
      const goal = isGoal && isPage ? 'page-10m' : null;
      return grown(`${name}, ${when}`, stores, milliseconds, { unit: 'ms', n, goal });
    }),
    row(`pages, ${when}: largest / smallest, geometric mean`, geometricMean(ratios), { n: ratios.length }),
  ];
}

/** What the indexes took before the day. */
function indexRows(fresh, reads) {
  return reads.load[0].map(({ name, unique }, place) => {
    const each = reads.load.map((indexes, store) => indexes[place].bytes / fresh[store].rows);
    const sum = (read) => read.reduce((all, indexes) => all + indexes[place].reads, 0);
    const sums = Object.entries(reads).map(([when, read]) => `${when} ${sum(read)}`);
    return values(`${name}, bytes a record`, each, { note: `; reads: ${sums.join(', ')}${unique ? '; unique' : ''}` });
  });
}
