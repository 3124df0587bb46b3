// Worlds and questions about them for programs that decide elsewhere, in SQL for instance: most answers lie between all and
// nothing.
import fc from 'fast-check';
import {
  type Actor,
  ALL_SCOPES,
  type Instant,
  type NamespacePath,
  type Reach,
  ROOT,
  scopeSetOf,
} from '../../engine/index.js';
import type { PolicyGrant, PolicySet } from '../../engine/model/policy-set.js';
import { vocabularyOf } from '../../engine/model/vocabulary.js';
import { anyActor, anyInstant, exclusiveWorld, grantBody, IDENTITIES, pathOf } from '../engine/oracle/worlds.js';
import { likelyActor, PLACES } from './query-worlds.js';

/** Grants of everything at places where rows are, beside any others: between all and nothing, for most who ask. */
export const generousWorld: fc.Arbitrary<PolicySet> = fc
  .tuple(
    exclusiveWorld,
    fc.array(
      fc.record({
        body: grantBody,
        identity: fc.constantFrom(...IDENTITIES),
        place: fc.constantFrom(...PLACES.slice(1)),
      }),
      { minLength: 10, maxLength: 16, size: 'max' },
    ),
  )
  .map(([set, more]) => {
    const scopes = scopeSetOf(vocabularyOf(set).scopes);
    const grants = more.map(({ body, identity, place }, i): PolicyGrant => {
      const bounds = i % 4 === 0 ? {} : { notBefore: null, expires: null };
      return {
        ...body,
        ...bounds,
        id: `m${String(i)}`,
        principal: { kind: 'identity', identity },
        namespace: pathOf(place),
        scopes,
      };
    });
    return { ...set, grants: [...set.grants, ...grants] };
  });

export interface Question {
  readonly actor: Actor;
  readonly at: Instant;
  readonly context: NamespacePath;
  /** Of a scope among those that the policy knows. */
  readonly pick: number;
  readonly reach: Reach;
}

export const question: fc.Arbitrary<Question> = fc.record({
  actor: fc.oneof(
    anyActor,
    ...[likelyActor, likelyActor, likelyActor].map((actor) =>
      actor.map((one) => ({ ...one, credentialScopes: ALL_SCOPES, identities: one.identities.slice(0, 2) })),
    ),
  ),
  at: anyInstant,
  context: fc.oneof(
    { weight: 4, arbitrary: fc.constant(ROOT) },
    { weight: 3, arbitrary: fc.constantFrom(...PLACES).map(pathOf) },
  ),
  pick: fc.nat(999),
  reach: fc.constantFrom(
    'lineage' as const,
    'exact' as const,
    'subtree' as const,
    'subtree' as const,
    'subtree' as const,
  ),
});
