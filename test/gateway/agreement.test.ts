// Agreement on generated worlds (design 2.4, 7): the records that `decide` allows one by one, and the slow evaluator matches,
// are what all pages hold together, whatever their size, in one order; and what is counted.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { unrestrictedPolicy } from '../../engine/index.js';
import { migrate } from '../../server/db/migrate.js';
import type { PolicySet } from '../../engine/model/policy-set.js';
import { oracleVisible } from '../engine/oracle/oracle.js';
import { anyActor, anyInstant, pathOf } from '../engine/oracle/worlds.js';
import { type Json, selected } from '../server/query/oracle/evaluate.js';
import { type Answer, type Ask, type Asker, asList, type HttpDoors, openDoors, openHttpDoors } from '../support/query-doors.js';
import { anyEnvelope, type Envelope, EVERYTHING, noteUse } from '../support/query-envelopes.js';
import { expectedOf, isOpen, mayRead } from '../support/query-oracle.js';
import { compiled, PLACES, queryWorld, type QueryWorld, settle } from '../support/query-worlds.js';
import { type OpenedStore, testStores } from '../support/stores.js';
import { say, shrinkingFor, testRuns } from '../support/test-runs.js';

const SIZES = [1, 2, 3, 5, 16, 53, 100];
/** A size that would need more pages than this for an answer is left to smaller answers. */
const MAX_PAGES = 24;

interface Case {
  readonly asker: Asker;
  readonly envelope: Envelope;
}

interface Scene extends QueryWorld {
  readonly cases: readonly Case[];
}

const scene: fc.Arbitrary<Scene> = fc
  .tuple(
    queryWorld,
    fc.array(fc.tuple(anyActor, anyInstant, anyEnvelope), { minLength: 1, maxLength: 12, size: 'max' }),
  )
  .map(([world, asked]) => {
    const policy = compiled(world.set);
    const cases = asked.map(([actor, at, envelope]) => {
      const decidedBy = actor.kind === 'local' ? unrestrictedPolicy() : policy;
      return { asker: { actor, at, policy: decidedBy }, envelope };
    });
    return { ...world, cases };
  });

/** What was met on the way: a comparison of empty answers would prove nothing. */
class Tally {
  cases = 0;
  answered = 0;
  denied = 0;
  missing = 0;
  nonEmpty = 0;
  partly = 0;
  statements = 0;
  readonly turned = new Map<number, number>();
  readonly used = new Set<string>();
}

async function judge(ask: Ask, { set, records }: QueryWorld, { asker, envelope }: Case, tally: Tally): Promise<void> {
  const expected = expectedOf(records, asker, envelope);
  agreeOnPlaces(set, asker, envelope);
  const { orderBy: _, select: __, ...counted } = envelope;
  const whole = await ask(asker, 'query', { ...envelope, page: { size: 500 } });
  const count = await ask(asker, 'count', counted);
  tally.cases += 1;
  tally.statements += 2;
  noteUse(envelope, tally.used);
  const refusal = refusalOf(records, asker, envelope);
  if (whole.status !== 200) {
    expect(refusal).toEqual(told(whole));
    expect(refusal).toEqual(told(count));
    expect(refusal?.code === 'authz.denied' ? expected : []).toEqual([]);
    tally[refusal?.code === 'authz.denied' ? 'denied' : 'missing'] += 1;
    return;
  }
  // Whether nothing is visible at all is the engine's to say; whatever it lets through holds what it should.
  expect([null, 'authz.denied']).toContain(refusal?.code ?? null);
  expect(asList(whole).items).toEqual(expected.map((record) => selected(record, envelope.select)));
  expect([count.status, (JSON.parse(count.text) as Json)['count']]).toEqual([200, expected.length]);
  for (const size of SIZES) {
    const turns = Math.max(1, Math.ceil(expected.length / size));
    if (turns > MAX_PAGES) continue;
    const pages = await readThrough(ask, asker, { ...envelope, select: ['id'] }, { size, turns });
    expect({ size, ids: pages.flat() }).toEqual({ size, ids: expected.map(({ id }) => id) });
    expect(pages).toHaveLength(turns);
    tally.statements += turns;
    if (turns > 1) tally.turned.set(size, (tally.turned.get(size) ?? 0) + 1);
  }
  tally.answered += 1;
  if (expected.length > 0) tally.nonEmpty += 1;
  if (expected.length > 0 && records.some((record) => record['family'] === envelope.family && !expected.includes(record))) {
    tally.partly += 1;
  }
}

/** The engine's `decide` is itself held against design 2 read aloud. */
function agreeOnPlaces(set: PolicySet, asker: Asker, { family, namespace, reach = 'lineage' }: Envelope): void {
  const universe = PLACES.map(pathOf);
  const request = { family, context: namespace, reach };
  const open = universe.filter((place) => isOpen(asker, request, place));
  expect(new Set(open)).toEqual(oracleVisible(set, { actor: asker.actor, request, at: asker.at, universe }));
}

interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly step?: string | undefined;
}

/** Whom the context itself does not let read is denied, unless something else in the reach is open; who may know is told 404. */
function refusalOf(records: readonly Json[], asker: Asker, { family, namespace }: Envelope): Refusal | null {
  const exists = records.some((record) => record['family'] === 'namespace' && record['namespace'] === namespace);
  const atContext = mayRead(asker, `${family}:read`, namespace);
  if (atContext.decision === 'deny') return { status: 403, code: 'authz.denied', step: atContext.step };
  if (exists || mayRead(asker, 'namespace:read', namespace).decision === 'deny') return null;
  return { status: 404, code: 'namespace.not_found', step: undefined };
}

function told({ text }: Answer): Refusal {
  const { status, code, step } = JSON.parse(text) as Refusal;
  return { status, code, step };
}

async function readThrough(
  ask: Ask,
  asker: Asker,
  envelope: Envelope,
  { size, turns }: { readonly size: number; readonly turns: number },
): Promise<readonly (readonly unknown[])[]> {
  const pages: (readonly unknown[])[] = [];
  let after: string | null = null;
  do {
    const { items, page } = asList(await ask(asker, 'query', { ...envelope, page: { size, after } }));
    pages.push(items.map(({ id }) => id));
    after = page.next;
  } while (after !== null && pages.length <= turns);
  return pages;
}
