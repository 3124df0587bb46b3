// The patterns in which scopes are shown: for each of the 1,024 sets they mean exactly it, and none means it with fewer.
import { expect, test } from '@jest/globals';
import { scopePatterns } from '../../engine/compiler.js';
import { ALL_SCOPES, FAMILIES, SCOPES, scopeNames, type ScopeSet, scopeSetOf } from '../../engine/index.js';
import { parseScopePattern } from '../../engine/model/scope.js';

const PATTERNS = [...SCOPES, ...FAMILIES.map((family) => `${family}:*`), '*:read', '*:write'];

/** By set, the least number of patterns of which it is the union. */
function fewest(): readonly number[] {
  const least = new Array<number>(ALL_SCOPES + 1).fill(Infinity);
  least[0] = 0;
  for (let set = 0; set <= ALL_SCOPES; set += 1) {
    for (const pattern of PATTERNS) {
      const more = set | (parseScopePattern(pattern) ?? 0);
      least[more] = Math.min(least[more] ?? Infinity, (least[set] ?? Infinity) + 1);
    }
  }
  return least;
}

test('patterns mean their set, in the fewest words', () => {
  const least = fewest();
  const found = least.map((_, set) => {
    const patterns = scopePatterns(set as ScopeSet);
    const meant = patterns.flatMap((pattern) => scopeNames(parseScopePattern(pattern) ?? 0));
    return [scopeSetOf(meant), patterns.length];
  });
  expect(found).toEqual(least.map((count, set) => [set, count]));
});
