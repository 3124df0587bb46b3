// How long answers about an actor stay as they are: no answer changes before that, and only its own grants count.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  type Actor,
  ALL_SCOPES,
  FAMILIES,
  heldScopesAs,
  instantOf,
  LOCAL_ACTOR,
  resolveActor,
  ROOT,
  steadyAs,
  unrestrictedPolicy,
  visibilityAs,
} from '../../engine/index.js';
import { policyOf } from '../support/gateway.js';
import { anyActor, anyInstant, INSTANTS, UNIVERSE, windowedWorld } from './oracle/worlds.js';
import { load } from './table-world.js';

describe('what is steady', () => {
  it('has one answer to every question until it ends', () => {
    fc.assert(
      fc.property(windowedWorld, anyActor, anyInstant, (set, actor, at) => {
        const resolved = resolveActor(load(set), actor);
        const { from, until } = steadyAs(resolved, at);
        expect(from <= at && at < until).toBe(true);
        const answers = (when: number): unknown => [
          UNIVERSE.map((namespace) => heldScopesAs(resolved, { namespace, at: instantOf(when) })),
          FAMILIES.map((family) => {
            const request = { family, context: ROOT, reach: 'subtree' } as const;
            return visibilityAs(resolved, { request, at: instantOf(when) });
          }),
        ];
        const expected = answers(at);
        for (const when of INSTANTS.flatMap((instant) => [instant - 1, instant])) {
          if (from <= when && when < until) expect(answers(when)).toEqual(expected);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('ends where one of its own grants begins or ends, and nowhere else', () => {
    const ada = { provider: 'orcid', subject: 'ada' };
    const bo = { ...ada, subject: 'bo' };
    const read = ['resource:read'];
    const policy = policyOf([
      [ada, '/a', read, null, { notBefore: instantOf(10), expires: instantOf(20) }],
      [ada, '/b', read, null, { expires: instantOf(30) }],
      [ada, '/c', read],
      [bo, '/a', read, null, { notBefore: instantOf(5), expires: instantOf(15) }],
    ]);
    const actor: Actor = { kind: 'key', identities: [ada], credentialScopes: ALL_SCOPES, namespaceRestrictions: null };
    const resolved = resolveActor(policy, actor);
    const periods = [0, 9, 10, 19, 20, 29, 30].map((at) => {
      const { from, until } = steadyAs(resolved, instantOf(at));
      return [from, until];
    });
    expect(periods).toEqual([
      [-Infinity, 10],
      [-Infinity, 10],
      [10, 20],
      [10, 20],
      [20, 30],
      [20, 30],
      [30, Infinity],
    ]);
    const local = resolveActor(unrestrictedPolicy(), LOCAL_ACTOR);
    expect(steadyAs(local, instantOf(0))).toEqual({ from: -Infinity, until: Infinity });
  });
});
