// Worlds to query: a policy with grants that meet, and hostile records of all five families where grants begin and end.
// There are few places, so that visible and invisible records are neighbours in every index.
import { unionScopes } from '../../engine/model/scope-set.js';
import fc from 'fast-check';
import {
  type Actor,
  ALL_SCOPES,
  FAMILIES,
  type Family,
  loadSnapshot,
  type Policy,
  type ScopeSet,
} from '../../engine/index.js';
import { compilePolicy } from '../../engine/compiler.js';
import type { PolicyGrant, PolicySet } from '../../engine/model/policy-set.js';
import { inTransaction } from '../../server/db/transaction.js';
import type { Database } from '../../server/db/database.js';
import { anyActor, grantBody, IDENTITIES, pathOf, policyOf, world } from '../engine/oracle/worlds.js';
import { NUMBERS, plant, TEXTS, VALUES } from '../server/query/hostile-records.js';
import type { Json } from '../server/query/oracle/evaluate.js';

/** Where records are. The last are neighbours in byte order of what grants name, and nobody is granted anything there alone. */
export const PLACES = [
  ...['/', '/a', '/a/b', '/a/a', '/a/b/a', '/a/b/a/z', '/a-b', '/a-b/a', '/b', '/b/a', '/b/a/b'],
  ...['/a.b', '/a0', '/ab', '/a/b-a', '/a/bb', '/b/z'],
  // To depth 8, beyond the levels that have keys of their own.
  ...['/a/b/a/z/c/d', '/a/b/a/z/c/d/e', '/a/b/a/z/c/d/e/f', '/b/a/b/1/2/3', '/b/a/b/1/2/3/4/5'],
  ...['/a/b/a/z/c/d-e', '/a/b/a/z/c/d/e0'],
];
const GRANTED = PLACES.slice(0, 11);
const DEEP = PLACES.slice(17, 22);

/** Texts that mean something to JSON, to SQL or to a terminal, and none that a store cannot hold. */
export const POISON_TEXTS = [
  '\\u0000',
  '\\ud800',
  "'; --",
  '$1',
  '?',
  '\u202e',
  'ß',
  'ﬀ',
  'x'.repeat(300),
  'SS',
  'ẞF',
  'İ',
  'ΣΑΣ',
  'σας',
];
export const WORDS = [...TEXTS, ...POISON_TEXTS];

const READS = 0b0101010101 as ScopeSet;
/** Of all but namespaces: who reads so must not learn which of them exist. */
const OTHER_READS = 0b0101010100 as ScopeSet;

/** Mostly of everything, mostly forever, and sometimes for its own namespace alone. */
const generousGrant: fc.Arbitrary<Omit<PolicyGrant, 'id'>> = fc
  .record({
    grant: grantBody,
    who: fc.constantFrom(...IDENTITIES),
    place: fc.constantFrom(...GRANTED.slice(0, 4), ...GRANTED, ...DEEP),
    timed: fc.integer({ min: 0, max: 3 }),
  })
  .map(({ grant, who, place, timed }) => ({
    ...grant,
    principal: { kind: 'identity', identity: who },
    namespace: pathOf(place),
    scopes: unionScopes(grant.scopes, READS),
    ...(timed === 0 ? {} : { notBefore: null, expires: null }),
  }));

const policy: fc.Arbitrary<PolicySet> = fc
  .tuple(world, fc.array(generousGrant, { minLength: 8, maxLength: 14, size: 'max' }))
  .map(([{ roles, grants, families = [] }, more]) => ({ ...policyOf(roles, [...grants, ...more]), families }));

/** Usually somebody who holds something and may use all of it. */
export const likelyActor: fc.Arbitrary<Actor> = fc.oneof(
  { weight: 1, arbitrary: anyActor },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('request' as const),
      identities: fc.subarray([...IDENTITIES], { minLength: 2 }),
      credentialScopes: fc.constantFrom(ALL_SCOPES, READS, OTHER_READS),
      namespaceRestrictions: fc.oneof(
        { weight: 5, arbitrary: fc.constant(null) },
        { weight: 1, arbitrary: fc.array(fc.constantFrom(...PLACES.slice(0, 6)).map(pathOf), { maxLength: 3 }) },
      ),
    }),
  },
);

const value = fc.constantFrom(...VALUES, ...POISON_TEXTS);
const object = fc.record({
  rank: value,
  label: value,
  deep: fc.oneof(value, fc.record({ a: fc.oneof(value, fc.record({ b: value })) })),
});
const word = fc.constantFrom(...WORDS);
const day = fc
  .tuple(fc.integer({ min: 1, max: 9 }), fc.constantFrom(0, 1, 999))
  .map(([date, ms]) => new Date(Date.UTC(2030, 0, date, 0, 0, 0, ms)).toISOString());
/** Of records that most worlds have, whatever their family. */
export const REFERENCES = [24, 27, 30, 33].map(idAt);
const reference = fc.constantFrom(null, ...REFERENCES);

const own: Readonly<Record<Family, fc.Arbitrary<Json>>> = {
  namespace: fc.constant({}),
  'resource-template': fc.record({
    version: word,
    schema: fc.constantFrom({}, { type: 'object' }),
    uniqueName: fc.constant(false),
  }),
  resource: fc.record({ template: reference, copiedFrom: reference }),
  'process-template': fc.record({
    version: word,
    schema: fc.constant({}),
    uniqueName: fc.constant(false),
    slots: fc.constantFrom([], [{ name: 'in', template: REFERENCES[0], required: true }]),
  }),
  'process-run': fc.record({
    template: reference,
    parameters: object,
    resources: fc.constantFrom<Json>({}, { in: REFERENCES[1] }, { 'in.2': REFERENCES[1], in: REFERENCES[0] }),
    state: fc.constantFrom('pending', 'running', 'failed'),
  }),
};

/** A record of a family as the API shows it, still without an id. */
export function recordOf(family: Family, places: readonly string[]): fc.Arbitrary<Json> {
  const common = fc.record({
    family: fc.constant(family),
    namespace: fc.constantFrom(...places),
    name: family === 'process-run' ? fc.option(word, { freq: 4 }) : word,
    description: fc.option(word, { freq: 3 }),
    properties: object,
    revision: fc.integer({ min: 1, max: 4 }),
    createdAt: day,
    updatedAt: day,
    createdBy: fc.constantFrom('anna', 'bert'),
    archivedAt: fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: day }),
  });
  return fc
    .tuple(common, own[family])
    .map(([shared, more]) => JSON.parse(JSON.stringify({ ...shared, ...more })) as Json)
    .map((record) => (family === 'namespace' ? { ...record, name: record['namespace'] } : record));
}

export function idOf(hex: string): string {
  return `01900000-0000-7000-8000-${hex.padStart(12, '0')}`;
}

function idAt(index: number): string {
  return idOf(((index * 7919) % 100_003).toString(16));
}

/** The order of ids is not that in which records came; one namespace record a place. */
export function withIds(records: readonly Json[]): readonly Json[] {
  const namespaces = new Set<unknown>();
  return records
    .map((record, index): Json => ({ id: idAt(index), ...record }))
    .filter((record) => {
      if (record['family'] !== 'namespace') return true;
      if (namespaces.has(record['namespace'])) return false;
      namespaces.add(record['namespace']);
      return true;
    });
}

interface Where {
  readonly families: readonly Family[];
  readonly places: readonly string[];
}

/** Some of all families. */
function several({ families, places }: Where): fc.Arbitrary<readonly Json[]> {
  const any = fc.oneof(...families.map((family) => recordOf(family, places)));
  return fc.array(any, { minLength: 20, maxLength: 70, size: 'max' });
}

/** Enough of the first family at two places for the largest page to turn. */
function many({ families, places }: Where): fc.Arbitrary<readonly Json[]> {
  const any = recordOf(families[0] ?? 'resource', places.slice(0, 2));
  return fc.array(any, { minLength: 130, maxLength: 260, size: 'max' });
}

function recordsOf(where: Where, howMany = several): fc.Arbitrary<readonly Json[]> {
  const namespaces = fc.array(recordOf('namespace', where.places), { minLength: 10, maxLength: 20, size: 'max' });
  const others = fc.oneof({ weight: 7, arbitrary: howMany(where) }, { weight: 1, arbitrary: many(where) });
  // The root's record always exists.
  const root = recordOf('namespace', ['/']);
  return fc.tuple(root, namespaces, others).map((parts) => withIds(parts.flat()));
}

export interface QueryWorld {
  readonly set: PolicySet;
  readonly records: readonly Json[];
  /** Those that the records are of, beside namespaces. */
  readonly families: readonly Family[];
  /** Where the records are, those more often where more is to be asked. */
  readonly places: readonly string[];
  /** Places beside `PLACES` that somebody is granted. */
  readonly crowd: readonly string[];
}

function worldsOf(howMany: typeof several): fc.Arbitrary<QueryWorld> {
  const somewhere = fc
    .shuffledSubarray(PLACES.slice(3), { minLength: 2, maxLength: 7 })
    .map((more) => [...PLACES.slice(0, 3), ...more]);
  return fc
    .record({ families: fc.shuffledSubarray([...FAMILIES], { minLength: 1, maxLength: 2 }), places: somewhere })
    .chain(({ families, places }) =>
      fc
        .record({ set: policy, records: recordsOf({ families, places }, howMany) })
        .map((world): QueryWorld => ({ ...world, families, places: ['/', '/a', ...places], crowd: [] })),
    );
}

export const queryWorld: fc.Arbitrary<QueryWorld> = worldsOf(several);

/** As many small places as a filter is tried for on what comes first (server/query/merge-roots.ts), and more. */
const CROWD = Array.from({ length: 300 }, (_, index) => `/w/${index.toString(36)}`);

/** One who is granted each of the crowd's places by itself, and records at some of them, and below. */
const crowded: fc.Arbitrary<QueryWorld> = fc
  .record({ who: fc.constantFrom(...IDENTITIES), inherit: fc.boolean(), base: world })
  .chain(({ who, inherit, base }) => {
    const grants = CROWD.map((place): Omit<PolicyGrant, 'id'> => ({
      principal: { kind: 'identity', identity: who },
      namespace: pathOf(place),
      scopes: READS,
      inherit,
      notBefore: null,
      expires: null,
      reason: null,
      place: null,
    }));
    const { roles, families: own = [] } = base;
    const set = { ...policyOf(roles, [...base.grants, ...grants]), families: own };
    const families = ['resource' as const];
    const some = [...CROWD.filter((_, index) => index % 37 === 0), '/w/0/a', '/w/111/b/c'];
    const places = ['/', '/w', ...some, '/a'];
    // Most are asked from above.
    const asked = ['/', '/', '/', '/w', '/w', ...places];
    return recordsOf({ families, places }).map((records) => ({ set, records, families, places: asked, crowd: CROWD }));
  });

/** Few roots and few records as a rule, and sometimes several hundred of either. */
export const anyQueryWorld: fc.Arbitrary<QueryWorld> = fc.oneof(
  { weight: 3, arbitrary: queryWorld },
  { weight: 1, arbitrary: worldsOf(many) },
  { weight: 1, arbitrary: crowded },
);

export function compiled(set: PolicySet): Policy {
  const result = compilePolicy(set);
  if (!result.ok) throw new Error(result.diagnostics.map(({ message }) => message).join('\n'));
  const loaded = loadSnapshot(result.snapshot.bytes);
  if (!loaded.ok) throw new Error(loaded.fault.message);
  return loaded.policy;
}

/** Makes these the only records of the store. */
export async function settle(db: Database, records: readonly Json[]): Promise<void> {
  await inTransaction(db.knex, async (knex) => {
    await knex.raw('DELETE FROM records');
    await plant({ knex }, records);
  });
}

/** In one transaction some records go and others come. */
export async function exchange(
  db: Database,
  { gone, come }: { readonly gone: readonly Json[]; readonly come: readonly Json[] },
): Promise<void> {
  await inTransaction(db.knex, async (knex) => {
    await knex.raw('DELETE FROM records WHERE id = ANY(?::uuid[])', [gone.map(({ id }) => String(id))]);
    await plant({ knex }, come);
  });
}

/** Numbers that a condition can be about. Some are in no record. */
export const ASKED_NUMBERS = [...NUMBERS, 2, 3, 0.5, 6.02e23];
