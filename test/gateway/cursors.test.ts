// Cursors (docs/queries.md "Pages"): a cursor is valid exactly as long as its actor sees the same, across reloads and
// the passing of time. It opens only for its own actor and query, and is checked before any statement runs.
import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Actor, Instant } from '../../engine/index.js';
import type { PolicyGrant, PolicySet } from '../../engine/model/policy-set.js';
import { oracleVisible } from '../engine/oracle/oracle.js';
import { anyInstant, grantBody, pathOf, policyOf, UNIVERSE } from '../engine/oracle/worlds.js';
import type { Json } from '../server/query/oracle/evaluate.js';
import { rewriting } from '../support/broken-doors.js';
import { HOMES, READER, someResource } from '../support/one-reader.js';
import { type Answer, type Ask, type Asker, asList, openDoors } from '../support/query-doors.js';
import { anyContext, anyFamily, type Envelope, envelopeOf } from '../support/query-envelopes.js';
import { defaultOf, mayRead } from '../support/query-oracle.js';
import { compiled, likelyActor, PLACES, queryWorld, settle, withIds } from '../support/query-worlds.js';
import { describeOnStores } from '../support/stores.js';
import { shrinkingFor, stopwatch, testRuns } from '../support/test-runs.js';

/** Milliseconds for which a failing case is made smaller. */
const SHRINKING = 200_000;

type Edit = 'nothing' | 'narrower' | { readonly drop: readonly number[] } | { readonly grant: Omit<PolicyGrant, 'id'> };

interface Reload {
  readonly records: readonly Json[];
  readonly actor: Actor;
  readonly envelope: Envelope;
  readonly before: Reign;
  readonly after: Reign;
}

/** A policy and a time at which it is asked. */
interface Reign {
  readonly set: PolicySet;
  readonly at: Instant;
}

const edit: fc.Arbitrary<Edit> = fc.oneof(
  fc.constantFrom('nothing' as const, 'narrower' as const, 'narrower' as const),
  fc.record({ drop: fc.uniqueArray(fc.nat(17), { minLength: 3, maxLength: 14, size: 'max' }) }),
  fc.record({ grant: grantBody }),
);

function edited(set: PolicySet, made: Edit): PolicySet {
  if (made === 'nothing') return set;
  if (made === 'narrower') return { ...set, grants: set.grants.map((grant) => ({ ...grant, inherit: false })) };
  const grants =
    'drop' in made ? set.grants.filter((_, index) => !made.drop.includes(index)) : [...set.grants, made.grant];
  return { ...set, grants: policyOf(set.roles, grants).grants };
}

const reload: fc.Arbitrary<Reload> = queryWorld
  .chain((world) =>
    fc.record({
      world: fc.constant(world),
      actor: likelyActor.filter(({ kind }) => kind !== 'local'),
      envelope: anyFamily(world).chain((family) => envelopeOf(family, anyContext(world))),
      edit,
      at: anyInstant,
      later: anyInstant,
      passes: fc.boolean(),
    }),
  )
  .map(({ world: { set, records }, actor, envelope, edit: made, at, later, passes }) => ({
    records,
    actor,
    envelope: { ...widened(envelope), where: {}, includeArchived: true },
    before: { set, at },
    after: { set: edited(set, made), at: passes ? later : at },
  }));

/** In an exact reach there is everything to see or nothing: of more, a part can go. */
function widened(envelope: Envelope): Envelope {
  const isExact = (envelope.reach ?? (envelope.family === 'process-run' ? 'exact' : 'lineage')) === 'exact';
  return isExact ? { ...envelope, reach: 'subtree' } : envelope;
}

type End = 'survived' | 'refused' | 'denied' | 'none';

async function reloadUnderCursor(ask: Ask, { records, actor, envelope, before, after }: Reload): Promise<End> {
  const under = ({ set, at }: Reign): Asker => ({ actor, at, policy: compiled(set) });
  const first = await ask(under(before), 'query', { ...envelope, page: { size: 1 } });
  const next = first.status === 200 ? asList(first).page.next : null;
  if (next === null) return 'none';
  const onward = { ...envelope, page: { size: 3, after: next } };
  const here = await ask(under(before), 'query', onward);
  const there = await ask(under(after), 'query', onward);
  const [seen, sees] = [before, after].map(({ set, at }) => {
    const universe = [...UNIVERSE, ...PLACES.map(pathOf), envelope.namespace];
    const { family, namespace: context, reach = defaultOf(family) } = envelope;
    return [...oracleVisible(set, { actor, request: { family, context, reach }, at, universe })];
  });
  if (sees?.length === 0) {
    expect(codeOf(there)).toBe('authz.denied');
    return 'denied';
  }
  if (JSON.stringify(seen) !== JSON.stringify(sees)) {
    expect(codeOf(there)).toBe('query.cursor');
    return 'refused';
  }
  const exists = records.some(({ family, namespace }) => family === 'namespace' && namespace === envelope.namespace);
  if (!exists && mayRead(under(after), 'namespace:read', envelope.namespace).decision === 'allow') {
    expect(codeOf(there)).toBe('namespace.not_found');
    return 'none';
  }
  expect(asList(there)).toEqual({ ...asList(here), snapshot: under(after).policy.digest });
  return 'survived';
}

function codeOf({ text }: Answer): unknown {
  return (JSON.parse(text) as Json)['code'];
}

/** The cursor's text with each byte changed, cut at each place, and spelled otherwise. */
function forgeries(cursor: string): readonly string[] {
  const bytes = Buffer.from(cursor, 'base64url');
  const changed = [...bytes.keys()].flatMap((index) =>
    [0x01, 0x80].map((bit) => {
      const other = Buffer.from(bytes);
      other[index] = (bytes[index] ?? 0) ^ bit;
      return other.toString('base64url');
    }),
  );
  const cut = [...bytes.keys()].map((length) => bytes.subarray(0, length).toString('base64url'));
  const spelled = [`${cursor}=`, ` ${cursor}`, `${cursor}\n`, cursor.toLowerCase(), Buffer.from(bytes).toString('hex')];
  return [...changed, ...cut, ...spelled];
}

describeOnStores('cursors', (store) => {
  let ask: Ask;

  beforeAll(async () => {
    ask = await openDoors(store.db);
  });

  it('a cursor lives exactly as long as its actor sees the same', async () => {
    const runs = testRuns(store.name === 'postgres' ? { usual: 100, deep: 160 } : { usual: 20, deep: 80 });
    const told = stopwatch(`cursors over reloads on ${store.name}`, runs);
    const ends = { survived: 0, refused: 0, denied: 0, none: 0 };
    await fc.assert(
      fc.asyncProperty(reload, async (one) => {
        await settle(store.db, one.records);
        ends[await reloadUnderCursor(ask, one)] += 1;
      }),
      shrinkingFor(SHRINKING, runs),
    );
    told(runs.numRuns, 2 * runs.numRuns, ends);
    if (runs.numRuns >= 100) expect(Math.min(ends.survived, ends.refused)).toBeGreaterThan(runs.numRuns / 40);
  });

  describe('a cursor', () => {
    const envelope = {
      family: 'resource',
      namespace: '/a/b',
      where: { revision: { lte: 3 } },
      includeArchived: false,
    };
    const place = { ...envelope, orderBy: [{ name: 'asc' }] };
    let statements: readonly string[] = [];
    let counting: Ask;
    let cursor = '';

    beforeAll(async () => {
      const records = fc.sample(someResource, { seed: 2, numRuns: 60, unbiased: true }).map((record) => ({
        ...record,
        namespace: '/a/b',
        archivedAt: null,
      }));
      await settle(store.db, [...HOMES, ...withIds(records)]);
      counting = await openDoors(
        rewriting(store.db, (statement) => {
          statements = [...statements, statement[0]];
          return statement;
        }),
      );
      const first = asList(await ask(READER, 'query', { ...place, page: { size: 2 } }));
      cursor = first.page.next ?? '';
    });
    beforeEach(() => {
      statements = [];
    });

    it.each<[string, object]>([
      ['as it is', {}],
      ['with another page size', { page: { size: 7 } }],
      ['with another selection', { select: ['name'] }],
    ])('opens for its query %s', async (_, other) => {
      const body = {
        ...place,
        ...other,
        page: { size: 2, ...('page' in other ? (other.page as object) : {}), after: cursor },
      };
      expect(asList(await counting(READER, 'query', body)).items.length).toBeGreaterThan(0);
      expect(statements.length).toBeGreaterThan(0);
    });

    it.each<[string, object, string]>([
      ['family', { family: 'resource-template', where: {} }, 'anna'],
      ['namespace', { namespace: '/a' }, 'anna'],
      ['reach', { reach: 'exact' }, 'anna'],
      ['condition', { where: { revision: { lt: 3 } } }, 'anna'],
      ['order', { orderBy: [{ name: 'desc' }] }, 'anna'],
      ['view of archived records', { includeArchived: true }, 'anna'],
      ['actor', {}, 'bert'],
    ])('does not open for another %s, and nothing is run', async (_, other, id) => {
      const answer = await counting({ ...READER, id }, 'query', {
        ...place,
        ...other,
        page: { size: 2, after: cursor },
      });
      expect({ code: codeOf(answer), statements }).toEqual({ code: 'query.cursor', statements: [] });
    });

    it('does not open with any of its bytes changed, and nothing is run', async () => {
      const forged = forgeries(cursor);
      expect(forged.length).toBeGreaterThan(150);
      const answers = new Set<string>();
      for (const after of forged)
        answers.add((await counting(READER, 'query', { ...place, page: { size: 2, after } })).text);
      expect([...answers]).toHaveLength(1);
      expect(codeOf({ status: 400, text: [...answers][0] ?? '{}', headers: {} })).toBe('query.cursor');
      expect(statements).toEqual([]);
    });
  });
});
