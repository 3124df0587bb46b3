// The difference of two visible sets, compared namespace by namespace.
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  canonicalize,
  comparePaths,
  isWithin,
  type NamespacePath,
  type Visibility,
  visibleDifference,
  type VisibleRegion,
} from '../../engine/index.js';
import { testRuns } from '../support/test-runs.js';

const PLACES = ['/', '/a', '/a/b', '/a/b/c', '/a/c', '/a-b', '/a-b/c', '/b', '/b/a', '/b/a/b'].map(path);
/** That no set names, so it stands for everything below its parent that none of them names. */
const OTHER = 'other';
const PROBES = PLACES.flatMap((place) => [place, below(place)]);

function path(text: string): NamespacePath {
  const read = canonicalize(text);
  if (!read.ok) throw new Error(`not a path: ${text}`);
  return read.path;
}

function below(place: NamespacePath): NamespacePath {
  return path(place === '/' ? `/${OTHER}` : `${place}/${OTHER}`);
}

const places = fc.uniqueArray(fc.constantFrom(...PLACES), { maxLength: 5 });
const visible: fc.Arbitrary<Visibility> = fc.oneof(
  { weight: 1, arbitrary: fc.constant<Visibility>({ kind: 'none', step: 'no_matching_grant' }) },
  { weight: 1, arbitrary: fc.constant<Visibility>({ kind: 'all' }) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('some' as const), exact: places, subtrees: places }) },
);

function has(set: Visibility, place: NamespacePath): boolean {
  if (set.kind !== 'some') return set.kind === 'all';
  return set.exact.includes(place) || set.subtrees.some((root) => isWithin(place, root));
}

function isIn({ namespace, extent, except = [] }: VisibleRegion, place: NamespacePath): boolean {
  if (extent === 'exact') return place === namespace;
  if (!isWithin(place, namespace) || (extent === 'below' && place === namespace)) return false;
  return !except.some((root) => isWithin(place, root));
}

it('is exactly the namespaces that one set has and the other does not have, in as few regions as there can be', () => {
  const met = new Map<string, number>();
  const meet = (what: string): unknown => met.set(what, (met.get(what) ?? 0) + 1);
  fc.assert(
    fc.property(visible, visible, (a, b) => {
      const regions = visibleDifference(a, b);
      const isDifferent = (place: NamespacePath): boolean => has(a, place) && !has(b, place);
      for (const place of PROBES) {
        expect([place, regions.filter((region) => isIn(region, place)).length]).toEqual([
          place,
          isDifferent(place) ? 1 : 0,
        ]);
      }
      expect(regions.map(({ namespace }) => namespace)).toEqual(
        regions.map(({ namespace }) => namespace).sort(comparePaths),
      );
      for (const { namespace, extent, except } of regions) {
        meet(extent);
        const above = PLACES.filter((place) => place !== namespace && isWithin(namespace, place))
          .sort(comparePaths)
          .at(-1);
        const reaches = (place: NamespacePath): boolean => isDifferent(below(place));
        // Nothing could be said with what is above, and all that could be said with what is below is said.
        if (extent !== 'exact') meet(except === undefined ? 'with all below' : 'with exceptions');
        if (extent === 'subtree') expect(above === undefined || !reaches(above)).toBe(true);
        if (extent === 'exact') expect(reaches(namespace)).toBe(false);
        if (extent === 'below') expect(isDifferent(namespace)).toBe(false);
        expect(except).not.toEqual([]);
        for (const root of except ?? []) {
          expect(root !== namespace && isWithin(root, namespace)).toBe(true);
          expect(isDifferent(root) && reaches(root)).toBe(false);
        }
      }
    }),
    testRuns({ usual: 500, deep: 5_000 }),
  );
  for (const what of ['exact', 'subtree', 'below', 'with all below', 'with exceptions']) {
    expect([what, (met.get(what) ?? 0) > 10]).toEqual([what, true]);
  }
});

it('is nothing between equal sets, and everything between all and nothing', () => {
  fc.assert(
    fc.property(visible, (a) => visibleDifference(a, a).length === 0),
    testRuns(200),
  );
  const none: Visibility = { kind: 'none', step: 'no_matching_grant' };
  expect(visibleDifference({ kind: 'all' }, none)).toEqual([{ namespace: '/', extent: 'subtree' }]);
  expect(visibleDifference(none, { kind: 'all' })).toEqual([]);
});
