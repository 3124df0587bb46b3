// The patterns in which scopes are shown: for each of the 1,024 sets they mean exactly it, and none means it with fewer.
import { expect, test } from '@jest/globals';
import { scopePatterns } from '../../engine/compiler.js';
import { FAMILIES, parseScopePattern, SCOPES, scopeNames, type ScopeSet, scopeSetOf } from '../../engine/index.js';
import { NO_SCOPES, RECORD_SCOPE_SET } from '../../engine/model/scope-set.js';

const PATTERNS = [...SCOPES, ...FAMILIES.map((family) => `${family}:*`), '*:read', '*:write'];

/** By set, the least number of patterns of which it is the union. */
function fewest(): readonly number[] {
  const least = new Array<number>(RECORD_SCOPE_SET + 1).fill(Infinity);
  least[0] = 0;
  for (let set = 0; set <= RECORD_SCOPE_SET; set += 1) {
    for (const pattern of PATTERNS) {
      const more = set | Number(parseScopePattern(pattern));
      least[more] = Math.min(least[more] ?? Infinity, (least[set] ?? Infinity) + 1);
    }
  }
  return least;
}

test('patterns mean their set, in the fewest words', () => {
  const least = fewest();
  const found = least.map((_, set) => {
    const patterns = scopePatterns(set as ScopeSet);
    const meant = patterns.flatMap((pattern) => scopeNames(parseScopePattern(pattern) ?? NO_SCOPES));
    return [scopeSetOf(meant), patterns.length];
  });
  expect(found).toEqual(least.map((count, set) => [set, count]));
});
