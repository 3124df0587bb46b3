// The scenes on which agreement is tested: a world of records and the requests of several actors.
import fc from 'fast-check';
import { unrestrictedPolicy } from '../../engine/index.js';
import type { Database } from '../../server/db/database.js';
import { anyInstant } from '../engine/oracle/worlds.js';
import type { Asker } from '../support/query-doors.js';
import { anyContext, anyFamily, type Envelope, envelopeOf, sweepOf } from '../support/query-envelopes.js';
import { anyQueryWorld, compiled, likelyActor, type QueryWorld, settle } from '../support/query-worlds.js';

/** Milliseconds for which a failing case is made smaller. */
export const SHRINKING = 400_000;

export interface Case {
  readonly asker: Asker;
  readonly envelope: Envelope;
}

export interface Scene extends QueryWorld {
  readonly cases: readonly Case[];
}

const scene: fc.Arbitrary<Scene> = anyQueryWorld.chain((world) => {
  const policy = compiled(world.set);
  const envelope = anyFamily(world).chain((family) => envelopeOf(family, anyContext(world)));
  const asked = (wanted: fc.Arbitrary<Envelope>): fc.Arbitrary<Case> =>
    fc.record({ actor: likelyActor, at: anyInstant, envelope: wanted }).map(({ actor, at, envelope: one }) => ({
      asker: { actor, at, policy: actor.kind === 'local' ? unrestrictedPolicy() : policy },
      envelope: one,
    }));
  const questions = fc.array(asked(envelope), { minLength: 4, maxLength: 14, size: 'max' });
  const sweeps = fc.tuple(...world.families.map((family) => asked(sweepOf(family))));
  return fc.tuple(questions, sweeps).map((cases) => ({ ...world, cases: cases.flat() }));
});

/** Of scenes whose records are the only ones of the store. */
export function onScenes(db: Database, judging: (one: Scene) => Promise<void>): fc.IAsyncProperty<[Scene]> {
  return fc.asyncProperty(scene, async (one) => {
    await settle(db, one.records);
    await judging(one);
  });
}
