// A remembered statement is the one that would be written, for every order, selection, size and place, whatever was
// asked before it. It never belongs to another visible set.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Fragment, listText } from '../../../server/db/sql.js';
import { remembering, type PageRequestKey } from '../../../server/query/remembered.js';
import { sortColumns, type SortPosition } from '../../../server/query/order.js';
import { parseQuery } from '../../support/parse-query.js';
import { chosenStatement } from '../../../server/query/records.js';
import { rowPredicate, type RowPredicate } from '../../../server/query/row-predicate.js';
import { pathOf } from '../../support/gateway.js';
import { testRuns } from '../../support/test-runs.js';

const subtrees = (count: number, name = 'n'): RowPredicate =>
  rowPredicate({
    kind: 'some',
    exact: [],
    subtrees: Array.from({ length: count }, (_, index) => pathOf(`/${name}/${String(index)}`)),
  });

const PREDICATES: readonly RowPredicate[] = [
  rowPredicate({ kind: 'all' }),
  ...[1, 2, 30, 300].map((count) => subtrees(count)),
  subtrees(1, 'other'),
];

const ORDERS = [
  [],
  [{ id: 'desc' }],
  [{ createdAt: 'desc' }],
  [{ name: 'asc' }],
  [{ name: 'desc' }, { id: 'desc' }],
  [{ 'properties.rank': 'desc' }, { name: 'asc' }],
];

const SELECTIONS = [undefined, [], ['id'], ['properties'], ['properties.a', 'properties.b'], ['properties.a.b']];

const anyBody = fc.record({
  family: fc.constantFrom('resource', 'process-run'),
  namespace: fc.constantFrom('/', '/a'),
  orderBy: fc.constantFrom(...ORDERS),
  select: fc.constantFrom(...SELECTIONS),
  page: fc.record({ size: fc.constantFrom(1, 50, 500) }),
  includeArchived: fc.boolean(),
});

const anyWanted = fc.record({
  body: anyBody,
  predicate: fc.constantFrom(...PREDICATES),
  texts: fc.option(fc.array(fc.option(fc.string()), { minLength: 8, maxLength: 8 })),
});

/** A place in the order of the query: NULL only where it can be. */
function wantedOf({ body, predicate, texts }: Omit<PageRequestKey, 'plan' | 'after'> & Asked): PageRequestKey {
  const { select, ...rest } = body;
  const plan = parseQuery(select === undefined ? rest : { ...rest, select }, 'query');
  const after: SortPosition | null =
    texts === null
      ? null
      : sortColumns(plan.orderBy).map(({ optional }, index) => texts[index] ?? (optional ? null : 'there'));
  return { predicate, plan, after };
}

interface Asked {
  readonly body: Readonly<Record<string, unknown>>;
  readonly texts: readonly (string | null)[] | null;
}

/** As it is sent: a remembered list is a text by then. */
const shown = ({ text, bindings }: Fragment): unknown => ({
  text,
  bindings: bindings.map((binding) => (typeof binding === 'object' && binding !== null ? listText(binding) : binding)),
});

describe('a known statement', () => {
  it('is the one that would be written', () => {
    fc.assert(
      fc.property(fc.array(anyWanted, { minLength: 2, maxLength: 12 }), (requests) => {
        const known = remembering(chosenStatement);
        for (const wanted of [...requests, ...requests].map(wantedOf)) {
          expect(shown(known(wanted))).toEqual(shown(chosenStatement(wanted)));
        }
      }),
      testRuns(150),
    );
  });

  it('is written once for a set and a query, whatever the place', () => {
    let written = 0;
    const known = remembering((wanted) => {
      written += 1;
      return chosenStatement(wanted);
    });
    const body = { family: 'resource', namespace: '/', orderBy: [{ createdAt: 'desc' }] };
    const [predicate, texts] = [subtrees(2), ['2027-01-01T00:00:00.000Z', '01900000-0000-7000-8000-000000000001']];
    known(wantedOf({ body, predicate, texts }));
    known(wantedOf({ body, predicate, texts: [...texts].reverse() }));
    expect(written).toBe(1);
    known(wantedOf({ body, predicate, texts: null }));
    known(wantedOf({ body, predicate: subtrees(2), texts }));
    known(wantedOf({ body: { ...body, page: { size: 7 } }, predicate, texts }));
    expect(written).toBe(4);
  });

  it('is kept by its size, with all that is bound in it, and so are all together', () => {
    let written = 0;
    const known = remembering((wanted) => {
      written += 1;
      return chosenStatement(wanted);
    });
    const ask = (predicate: RowPredicate, select: readonly string[] = []): number => {
      const before = written;
      known(wantedOf({ body: { family: 'resource', namespace: '/', select }, predicate, texts: null }));
      return written - before;
    };
    const predicate = subtrees(1);
    const long = [`properties.${'x'.repeat(10_000)}`];
    for (const large of [() => ask(subtrees(3_000)), () => ask(predicate, long)]) {
      expect([large(), large()]).toEqual([1, 1]);
    }
    expect([ask(predicate), ask(predicate)]).toEqual([1, 0]);
    const middling = [`properties.${'x'.repeat(3_000)}`];
    expect([ask(predicate, middling), ask(predicate, middling)]).toEqual([1, 0]);
    // Of these eight million characters hold fewer than a thousand.
    for (let index = 0; index < 1_000; index += 1) ask(predicate, [...middling, `properties.${String(index)}`]);
    expect(ask(predicate)).toBe(1);
  });
});
