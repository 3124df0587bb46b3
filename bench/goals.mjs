// Every goal that a bench is held against, once. `make bench` prints a line for each: where a goal has several rows, that of the worst.
// A goal of a row with a limit is of their ratio. `bench` is null where no bench measures it.
const goals = (bench, list) => Object.fromEntries(Object.entries(list).map(([id, [what, goal]]) => [id, { bench, what, goal }])); // prettier-ignore

export const GOALS = {
  ...goals('decisions', {
    'texts-step': ['decisions from texts, the step, 100,000 grants / best peer', '>= 5'],
    'texts-whole': ['decisions from texts, the whole answer, 100,000 grants / best peer', '>= 4'],
    'first-sight': ['first sight of a request, from texts, the step, 1,000,000 grants / best peer', '>= 10'],
    visibility: ['visibility of an actor with 1,000 grants, us', '<= 50'],
  }),
  ...goals('policies', {
    'check-100k': ['check of 100,000 grants, s', '<= 2.3'],
    'compile-100k': ['compile of 100,000 grants, s', '<= 10'],
    'compile-100k-memory': ['compile of 100,000 grants, MiB', '<= 1024'],
    'compile-1m': ['compile of 1,000,000 grants, s', '<= 20'],
    'compile-1m-memory': ['compile of 1,000,000 grants, MiB', '<= 4096'],
    'load-1m-heap': ['heap kept by a loaded snapshot of 1,000,000 grants, MB', '<= 8'],
    'diff-100k': ['diff of 100,000 grants, ten edited, s', '<= 2'],
    'guardrails-100k': ['six guardrails over 100,000 grants, s', '<= 5'],
    'broken-100k': ['a guardrail that nearly all of 100,000 grants break, s', '<= 5'],
  }),
  ...goals('queries', {
    page: ['a page, geometric mean / the same rows alone', '<= 3'],
    'page-worst': ['a page, worst / the same rows alone', '<= 12'],
    'page-1k': ['a page of 1,000 roots, geometric mean / the same rows alone', '<= 4'],
    'page-10k': ['a page of 10,000 roots, geometric mean / the same rows alone', '<= 12'],
    filter: ['a page with a filter, geometric mean / the same rows alone', '<= 4'],
    'filter-worst': ['a page with a filter, worst / the same rows alone', '<= 30'],
    count: ['a count, geometric mean / the same rows alone', '<= 1'],
    'filtered-count': ['a count with a filter, geometric mean / the same rows alone', '<= 4'],
    'filtered-count-rls': ['a count with a filter, worst / row-level security', '<= 1'],
    rls: ['tuned row-level security / ours, geometric mean', '>= 15'],
    join: ['a join with a table of grants / ours, geometric mean', '>= 10'],
    'gateway-time': ['ms that the gateway adds to a bare Express handler', '<= 0.3'],
    'gateway-rate': ['queries a second / a bare Express handler', '>= 0.9'],
    load: ['time of load / plain COPY', '<= 2'],
    'load-again': ['rate of a second load of the same / the first', '>= 1'],
  }),
  ...goals('sizes', {
    'page-10m': ['a page of 10,000,000 records / of 1,000,000', '<= 1.3'],
  }),
  ...goals('commands', {
    create: ['creates over HTTP / the bare insert', '>= 0.5'],
    write: ['changes and copies over HTTP / the bare statement', '>= 0.7'],
  }),
  ...goals('swaps', {
    'start-time': ['first start with the embedded store, s until it serves', '<= 5'],
    'start-memory': ['first start with the embedded store, MiB at most', '<= 350'],
    converged: ['ms until every process decides by a new policy', '<= 1000'],
    wrong: ['answers during swaps that failed or mixed policies', '<= 0'],
    'held-up': ['ms that a swap holds up the event loop, p99.9', '<= 20'],
    'swap-memory': ['MiB left by a thousand swaps', '<= 5'],
  }),
  ...goals(null, {
    'own-families': ['time of a decision with 64 scopes / with ten (`node bench/decisions/beside.mjs`)', '<= 1.1'],
    batch: ['decisions in a batch / one by one', '>= 3'],
    'point-read': ['a record by id over HTTP / a bare Express handler, prepared', '>= 1'],
    'embedded-rate': ['queries a second on the embedded store / PGlite alone', '>= 0.9'],
    'follow-folder': [
      's until a gateway takes a line changed in a folder of 100,000 grants (`node bench/policies/again.mjs`)',
      '<= 0.5',
    ],
    'check-editor': ['ms of a check in an editor, 100,000 grants (`node bench/policies/again.mjs`)', '<= 100'],
  }),
};
