// The rows of all passes: medians beside those of the best peer, and beside casbin's. A contestant that failed or disagrees with the
// reference gets no figure.
import { median, row } from '../rows.mjs';

const CASBIN = 'casbin, role manager';
const GOALS = new Map([
  ['100000 warm bailiwick, raw, step', 'texts-step'],
  ['100000 warm bailiwick, raw, whole answer', 'texts-whole'],
  ['1000000 first bailiwick, raw, step', 'first-sight'],
]);
const RATES = { warm: 'repeated requests', first: 'first requests' };
const SIZES = { heap: 'heap', outside: 'outside the heap', heapAfter: 'heap after the requests' };

export function rowsOf(grants, runs, contestants) {
  const measured = Object.entries(contestants).map(([name, { own }]) => {
    const passes = runs.filter((run) => run.name === name);
    const isRight = passes.every(({ error, wrong }) => error === undefined && wrong === 0);
    const of = (figure) => median(passes.map((run) => run[figure]));
    return { name, own, isRight, of, n: passes.length };
  });
  const right = measured.filter(({ isRight }) => isRight);
  const peers = right.filter(({ own }) => !own);
  const casbin = peers.find(({ name }) => name === CASBIN);
  const size = grants.toLocaleString('en');
  return right.flatMap(({ name, own, of, n }) => [
    ...Object.entries(RATES).map(([figure, what]) => {
      const best = own && peers.length > 0 ? Math.max(...peers.map((peer) => peer.of(figure))) : null;
      const note = casbin === undefined ? '' : `${(of(figure) / casbin.of(figure)).toFixed(1)} of casbin`;
      const goal = best === null ? null : (GOALS.get(`${grants} ${figure} ${name}`) ?? null);
      return row(`${size} grants, ${what}: ${name}`, of(figure), { limit: best, unit: '/s', goal, n, note });
    }),
    row(`${size} grants, loading: ${name}`, of('load') / 1000, { unit: 's', n }),
    ...Object.entries(SIZES).map(([figure, what]) => row(`${size} grants, ${what}: ${name}`, of(figure) / 1e6, { unit: 'MB', n })), // prettier-ignore
  ]);
}
