// Steps of the table hold numbers of sets of scopes in ten bits, as long as there are at most 1,024 sets. At this border, and beyond it,
// every answer is that of the slow evaluator.
import { describe, expect, it } from '@jest/globals';
import { whoCan } from '../../engine/compiler.js';
import {
  ALL_SCOPES,
  decide,
  instantOf,
  type ScopeName,
  scopeSetOf,
  visibility,
  vocabularyOf,
} from '../../engine/index.js';
import type { PolicyGrant, PolicySet } from '../../engine/model/policy-set.js';
import { groundOf, UNRESTRICTED } from '../../engine/evaluate/policy.js';
import { oracleDecide, oracleGrants } from './oracle/oracle.js';
import { MANY, pathOf, policyOf } from './oracle/worlds.js';
import { times } from '../support/test-runs.js';
import { load } from './prove/brute.js';

const { scopes } = vocabularyOf({ families: MANY });
const AT = instantOf(0);
const ROWS = times({ usual: 12, deep: 75 });

/** The scopes at the bits of a number that is drawn for a row: different rows have different sets. */
function setOf(row: number): readonly ScopeName[] {
  const names = scopes.filter((_, bit) => ((((row + 1) * 2_654_435_761 * (1 + (bit >> 4))) >>> (bit % 31)) & 1) === 1);
  // The low bits of the row, by scopes of their own, so that no two rows are alike.
  return [
    ...new Set([...names.slice(0, 6), ...scopes.filter((_, bit) => bit >= 50 && ((row >> (bit - 50)) & 1) === 1)]),
  ];
}

const whoOf = (row: number): { readonly provider: string; readonly subject: string } => ({
  provider: 'orcid',
  subject: `s${String(row)}`,
});

/** Each of so many people holds a set that nobody else holds. */
function worldOf(people: number): PolicySet {
  const grants = Array.from({ length: people }, (_, row): Omit<PolicyGrant, 'id'> => ({
    principal: { kind: 'identity', identity: whoOf(row) },
    namespace: pathOf(row % 3 === 0 ? '/' : row % 3 === 1 ? '/a' : '/a/b'),
    scopes: scopeSetOf(setOf(row)),
    inherit: row % 5 !== 0,
    notBefore: null,
    expires: null,
    reason: null,
    place: null,
  })).filter(({ scopes: set }) => set !== 0);
  return { ...policyOf([], grants), families: MANY };
}

describe('numbers of sets', () => {
  it.each([
    [1023, false],
    [1024, true],
    [3000, true],
  ])('are exact for %d sets that are held', (people, isWide) => {
    const set = worldOf(people);
    const policy = load(set);
    const sets = new Set(set.grants.map(({ scopes: own }) => own)).size;
    expect(sets).toBe(people);
    const table = groundOf(policy);
    expect(table !== UNRESTRICTED && table.listSets.upper.length > 0).toBe(isWide);
    // Some of them, the first and the last among those.
    const some = Array.from({ length: ROWS }, (_, i) => Math.round((i * (people - 1)) / (ROWS - 1)));
    for (const row of some) {
      const identity = whoOf(row);
      const actor = {
        kind: 'request',
        identities: [identity, whoOf((row * 7 + 1) % people)],
        credentialScopes: ALL_SCOPES,
        namespaceRestrictions: null,
      } as const;
      const alone = { ...actor, identities: [identity] };
      const own = {
        ...set,
        grants: set.grants.filter(
          ({ principal }) =>
            principal.kind === 'identity' &&
            actor.identities.some(({ subject }) => subject === principal.identity.subject),
        ),
      };
      for (const scope of scopes) {
        for (const place of ['/', '/a', '/a/b', '/a/b/c'].map(pathOf)) {
          const request = { kind: 'access', scope, context: place, target: place } as const;
          for (const who of [actor, alone]) {
            const { grants = [], ...told } = decide(policy, { actor: who, request, at: AT }) as {
              readonly decision: string;
              readonly grants?: readonly { readonly id: string }[];
            };
            const { grants: expected = [], ...wanted } = oracleDecide(own, { actor: who, request, at: AT });
            expect([told, grants.map(({ id }) => id)]).toEqual([wanted, expected]);
          }
        }
      }
      const [family = '', action = ''] = (setOf(row)[0] ?? 'f00:do').split(':');
      const seen = visibility(policy, {
        actor: alone,
        request: { family, action, context: pathOf('/'), reach: 'exact' },
        at: AT,
      });
      const held = oracleGrants(own, {
        identities: [identity],
        scope: setOf(row)[0] ?? scopes[0] ?? 'resource:read',
        target: '/',
        at: 0,
      });
      expect(seen.kind === 'none').toBe(held.length === 0);
    }
    const scope = scopes[51] ?? 'resource:read';
    const expected = Array.from({ length: people }, (_, row) => row)
      .filter((row) =>
        set.grants.some(
          ({ principal, scopes: own, namespace }) =>
            principal.kind === 'identity' &&
            principal.identity.subject === `s${String(row)}` &&
            namespace === '/' &&
            String(own).split(' ').includes(scope),
        ),
      )
      .map((row) => `orcid:s${String(row)}`)
      .sort();
    expect(whoCan(policy, { scope, namespace: pathOf('/'), at: AT }).map(({ identity }) => identity)).toEqual(expected);
    expect(expected.length).toBeGreaterThan(50);
  });
});
