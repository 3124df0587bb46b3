// Actors of several identities: what `diff`, `who-can` and `what-can` say of each identity must tell what the actor may do, as
// an actor holds what one of its identities holds (engine/README.md "Why exact answers are exact").
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  ALL_SCOPES,
  decide,
  formatIdentity,
  type Identity,
  type Instant,
  type NamespacePath,
  type Policy,
  type ScopeName,
  SCOPES,
} from '../../../engine/index.js';
import type { PolicySet } from '../../../engine/model/policy-set.js';
import { diffPolicies, type DiffRow } from '../../../engine/prove/diff/diff-policies.js';
import { whatCan } from '../../../engine/prove/ask/what-can.js';
import { whoCan } from '../../../engine/prove/ask/who-can.js';
import { testRuns } from '../../support/test-runs.js';
import { anyInstant, IDENTITIES, STRANGER, UNIVERSE, world } from '../oracle/worlds.js';
import { isDuring, isInRegion, load, TIMES } from './brute.js';

const identities = fc.uniqueArray(fc.constantFrom(...IDENTITIES, STRANGER), { minLength: 2, maxLength: 4 });

/** A policy and another one: any, or the first without some of its grants. */
const pair: fc.Arbitrary<readonly [PolicySet, PolicySet]> = fc.oneof(
  fc.tuple(world, world),
  fc
    .tuple(world, fc.func(fc.boolean()))
    .map(([set, isKept]) => [set, { ...set, grants: set.grants.filter(({ id }) => isKept(id)) }] as const),
);

function mayDo(
  policy: Policy,
  who: readonly Identity[],
): (scope: ScopeName, path: NamespacePath, at: Instant) => boolean {
  const actor = {
    kind: 'request',
    identities: who,
    credentialScopes: ALL_SCOPES,
    namespaceRestrictions: null,
  } as const;
  return (scope, path, at) =>
    decide(policy, { actor, request: { kind: 'access', scope, context: path, target: path }, at }).decision === 'allow';
}

it('gain and lose exactly what one of them gains where none had it, and one loses where none keeps it', () => {
  const seen = { gained: 0, lost: 0, covered: 0 };
  const property = fc.property(pair, identities, ([before, after], who) => {
    const [old, changed] = [load(before), load(after)];
    const [had, has] = [mayDo(old, who), mayDo(changed, who)];
    const report = diffPolicies(old, changed);
    const texts = who.map(formatIdentity);
    const wrong: object[] = [];
    for (const path of UNIVERSE) {
      const rowsHere = (rows: readonly DiffRow[]): readonly DiffRow[] =>
        rows.filter((row) => isInRegion(row, path) && row.identities.some((identity) => texts.includes(identity)));
      const [gained, lost] = [rowsHere(report.gained), rowsHere(report.lost)];
      for (const at of TIMES as readonly Instant[]) {
        for (const scope of SCOPES) {
          const isIn = (rows: readonly DiffRow[]): boolean =>
            rows.some((row) => row.scopes.includes(scope) && isDuring(row, at));
          const [x, y] = [had(scope, path, at), has(scope, path, at)];
          const [isGained, isLost] = [isIn(gained), isIn(lost)];
          // Where both may, another of the identities may make up for what one of them gains or loses.
          const fits = x === y ? x || (!isGained && !isLost) : (y ? isGained : isLost) && !report.equal;
          if (!fits) wrong.push({ path, scope, at, had: x, has: y, isGained, isLost });
          if (x !== y) seen[y ? 'gained' : 'lost'] += 1;
          else if (isGained || isLost) seen.covered += 1;
        }
      }
    }
    expect(wrong).toEqual([]);
  });
  fc.assert(property, testRuns(25));
  expect(Math.min(seen.gained, seen.lost, seen.covered)).toBeGreaterThan(0);
});

it('may do exactly what who-can and what-can say of one of them', () => {
  const property = fc.property(world, identities, anyInstant, (set, who, at) => {
    const policy = load(set);
    const may = mayDo(policy, who);
    const texts = who.map(formatIdentity);
    const wrong: object[] = [];
    const regions = who.flatMap((identity) => whatCan(policy, { identities: [identity], at }));
    for (const path of UNIVERSE) {
      const covering = regions.filter((region) => isInRegion(region, path));
      for (const scope of SCOPES) {
        const allowed = may(scope, path, at);
        const holders = whoCan(policy, { scope, namespace: path, at }).map(({ identity }) => identity);
        const byWho = holders.some((one) => texts.includes(one));
        const byWhat = covering.some((region) => region.scopes.includes(scope));
        if (byWho !== allowed || byWhat !== allowed) wrong.push({ path, scope, allowed, byWho, byWhat });
      }
    }
    expect(wrong).toEqual([]);
  });
  fc.assert(property, testRuns(25));
});
