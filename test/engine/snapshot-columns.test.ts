// Columns of a file that no policy has are refused with the field and the reason, each at its border; what is taken is the table that
// was written.
import { expect, it, test } from '@jest/globals';
import { ENGINE_LIMITS, type EngineLimits } from '../../engine/limits.js';
import { compileTables } from '../../engine/compile/compile-tables.js';
import { FIRST_INSTANT, instantOf, LAST_INSTANT } from '../../engine/model/instant.js';
import { scopeSetOf } from '../../engine/index.js';
import { fromParts } from '../../engine/model/scope-set.js';
import type { PolicySet } from '../../engine/model/policy-set.js';
import { statedTables } from '../../engine/model/tables.js';
import { decodeTables } from '../../engine/snapshot/decode-tables.js';
import type { SnapshotBody } from '../../engine/snapshot/document.js';
import { toSnapshotBody } from '../../engine/snapshot/encode.js';
import { digestChecks } from '../../engine/snapshot/checks.js';
import { digestOf } from '../../engine/snapshot/hash.js';
import { compile, FULL } from './full-policy.js';
import { pathOf, policyOf } from './oracle/worlds.js';

const DECISIONS = digestOf('');

function bodyOf(set = FULL): SnapshotBody {
  return toSnapshotBody(compileTables(set).tables, { checks: digestChecks(set), decisions: DECISIONS });
}

type Fields = Readonly<Record<string, unknown>>;

/** Replaces some fields, as deep as they are stated. */
function changed(body: unknown, change: Fields): Fields {
  const fields: Record<string, unknown> = { ...(body as Fields) };
  for (const [key, value] of Object.entries(change)) {
    const isGroup = typeof value === 'object' && value !== null && !Array.isArray(value);
    fields[key] = isGroup ? changed(fields[key], value as Fields) : value;
  }
  return fields;
}

function refusal(change: Fields, limits: Partial<EngineLimits> = {}): string {
  const body = changed(bodyOf(), change) as unknown as SnapshotBody;
  const tables = decodeTables(body, { ...ENGINE_LIMITS, ...limits });
  return typeof tables === 'string' ? tables : 'taken';
}

const long = (count: number, letter = 'a'): string => letter.repeat(count);

test.each<[string, Fields]>([
  ['taken', {}],
  ['decisions: not a digest', { decisions: `${DECISIONS}0` }],
  ['decisions: not a digest', { decisions: ` ${DECISIONS}` }],
  ['checks: not a digest', { checks: { people: { digest: 'sha256:' } } }],
  ['taken', { checks: undefined }],
  ['name: not a name', { name: 'Full' }],
  ['providers: not sorted names', { providers: ['github', 'github'] }],
  ['providers: not sorted names', { providers: ['GitHub', 'orcid'] }],
  ['roles.name: not sorted names', { roles: { name: ['leads', 'crew'] } }],
  ['roles.name: not sorted names', { roles: { name: ['Crew', 'leads'] } }],
  ['grants.id: not sorted names', { grants: { id: ['crew-read', 'bob-all'] } }],
  ['grants.id: not sorted names', { grants: { id: ['Bob', 'crew-read'] } }],
  ['files: not sorted file names', { files: ['', 'roles/a.yaml', 'roles/b.yaml'] }],
  ['files: not sorted file names', { files: ['a', 'c', 'b'] }],
  ['segments: not sorted segments', { segments: ['optics', 'labs'] }],
  ['segments: not sorted segments', { segments: ['Labs', 'optics'] }],
  ['segments: not sorted segments', { segments: ['labs/a', 'optics'] }],

  ['identities.perProvider: does not count the identities of each provider', { identities: { perProvider: [2] } }],
  ['identities.perProvider: does not count the identities of each provider', { identities: { perProvider: [0, 1] } }],
  ['identities.subject: not a subject', { identities: { subject: ['ada', ''] } }],
  ['identities.subject: not sorted within its provider', { identities: { subject: ['ada', 'ada'] } }],
  ['identities.subject: not sorted within its provider', { identities: { subject: ['bob', 'ada'] } }],
  ['taken', { identities: { perProvider: [1, 1], subject: ['bob', 'ada'] } }],

  ['members.perRole: does not count the members of each role', { members: { perRole: [3] } }],
  ['members.perRole: does not count the members of each role', { members: { perRole: [2, 2] } }],
  ['members.member: no such principal', { members: { member: [1, 2, 4] } }],
  ['members.member: not sorted within its role', { members: { member: [2, 2, 3] } }],
  ['members.member: not sorted within its role', { members: { member: [2, 1, 3] } }],
  ['members.file: not a place', { members: { file: [2, 2] } }],
  ['members.file: not a place', { members: { line: [3, 3] } }],
  ['members.file: not a place', { members: { file: [2, 2, 4] } }],
  ['members.file: not a place', { members: { file: [2, 2, 0] } }],
  ['members.file: not a place', { members: { line: [3, 0, 4] } }],
  ['taken', { members: { file: [2, 0, 3], line: [3, 0, 4] } }],
  ['members.notBefore: not rows of members and instants', { members: { notBefore: { row: [3] } } }],
  ['members.notBefore: not rows of members and instants', { members: { notBefore: { at: [FIRST_INSTANT] } } }],
  ['members.notBefore: not rows of members and instants', { members: { notBefore: { at: [0, 0] } } }],
  ['members.expires: not rows of members and instants', { members: { expires: { row: [3] } } }],
  ['taken', { members: { expires: { at: [FIRST_INSTANT], row: [2] } } }],
  ['taken', { members: { expires: undefined, notBefore: undefined } }],
  ['roles.file: not a place', { roles: { file: [2] } }],
  ['roles.file: not a place', { roles: { file: [2, 4] } }],

  ['namespaces.up: not as long as the other columns', { namespaces: { up: [1] } }],
  ['namespaces.segment: no such segment', { namespaces: { segment: [0, 2] } }],
  ['namespaces.up: not in path order', { namespaces: { up: [1, 0] } }],
  ['namespaces.up: not in path order', { namespaces: { up: [2, 1] } }],
  ['namespaces.up: not in path order', { namespaces: { up: [1, 3] } }],
  ['namespaces.up: not in path order', { namespaces: { segment: [0, 1, 1], up: [1, 2, 2] } }],
  ['namespaces.segment: siblings are not sorted', { namespaces: { segment: [1, 0], up: [1, 2] } }],
  ['namespaces.segment: siblings are not sorted', { namespaces: { segment: [1, 1], up: [1, 2] } }],
  // A hyphen sorts before the slash that ends a segment.
  [
    'namespaces.segment: siblings are not sorted',
    { segments: ['a', 'a-b'], namespaces: { segment: [0, 1], up: [1, 2] } },
  ],
  ['taken', { segments: ['0'], namespaces: { segment: [0, 0] } }],
  ['taken', { segments: ['a', 'a-b'], namespaces: { segment: [1, 0], up: [1, 2] } }],

  ['grants.principal: no such principal', { grants: { principal: [3] } }],
  ['grants.principal: no such principal', { grants: { principal: [4, 0] } }],
  ['grants.namespace: no such namespace', { grants: { namespace: [1] } }],
  ['grants.namespace: no such namespace', { grants: { namespace: [1, 3] } }],
  ['grants.scopes: not a set of scopes', { grants: { scopes: [1024] } }],
  ['grants.scopes: not a set of scopes', { grants: { scopes: [1024, 0] } }],
  ['grants.scopes: not a set of scopes', { grants: { scopes: [1024, 1025] } }],
  ['taken', { grants: { scopes: [1024, 1023] } }],
  ['families.sets: one that nothing names', { grants: { scopes: [1023, 1023] } }],
  ['grants.exact: not rows of grants', { grants: { exact: [2] } }],
  ['grants.exact: not rows of grants', { grants: { exact: [0, 0] } }],
  ['taken', { grants: { exact: [] } }],
  ['taken', { grants: { exact: [0, 1] } }],
  ['taken', { grants: { exact: [1] } }],
  ['grants.notBefore: not rows of grants and instants', { grants: { notBefore: { row: [2] } } }],
  ['grants.notBefore: not rows of grants and instants', { grants: { notBefore: { at: [FIRST_INSTANT] } } }],
  ['grants.notBefore: not rows of grants and instants', { grants: { notBefore: { at: [LAST_INSTANT + 1] } } }],
  ['taken', { grants: { notBefore: { at: [LAST_INSTANT] } } }],
  ['taken', { grants: { notBefore: { at: [FIRST_INSTANT + 1] } } }],
  ['grants.expires: not rows of grants and instants', { grants: { expires: { at: [] } } }],
  ['grants.expires: not rows of grants and instants', { grants: { expires: { at: [FIRST_INSTANT - 1] } } }],
  ['taken', { grants: { expires: { at: [FIRST_INSTANT] } } }],
  ['grants.file: not a place', { grants: { file: [1] } }],
  ['grants.file: not a place', { grants: { line: [7, 7, 7] } }],
  ['grants.reason: not rows of grants and texts', { grants: { reason: { row: [0] } } }],
  ['grants.reason: not rows of grants and texts', { grants: { reason: { row: [0, 2] } } }],
  ['roles.description: not rows of roles and texts', { roles: { description: { row: [2] } } }],
  ['taken', { grants: { reason: undefined }, roles: { description: undefined } }],

  ['exclusive: not sorted pairs of identities', { exclusive: { first: [0, 1] } }],
  ['exclusive: not sorted pairs of identities', { exclusive: { first: [1], second: [1] } }],
  ['exclusive: not sorted pairs of identities', { exclusive: { second: [2] } }],
  ['exclusive: not sorted pairs of identities', { exclusive: { first: [0, 0], second: [1, 1] } }],
  ['taken', { exclusive: undefined }],

  ['identities: one that nothing names', { identities: { perProvider: [0, 3], subject: ['ada', 'bob', 'eve'] } }],
  ['taken', { identities: { perProvider: [0, 3], subject: ['ada', 'bob', 'eve'] }, exclusive: { second: [2] } }],
  ['files: one that nothing names', { files: ['a', 'b', 'c', 'd'] }],
  ['segments: one that nothing names', { segments: ['a', 'labs', 'optics'], namespaces: { segment: [1, 2] } }],
  ['segments: one that nothing names', { segments: ['labs', 'optics', 'z'] }],
  ['namespaces: one that nothing names', { namespaces: { segment: [0, 1, 1], up: [1, 1, 3] } }],

  ['families.name: not sorted names', { families: { name: ['order', 'invoice'] } }],
  ['families.name: not sorted names', { families: { name: ['invoice', 'Order'] } }],
  ['families.name: not sorted names', { families: { name: ['invoice', 'resource'] } }],
  ['families.name: not sorted names', { families: { name: [], description: { row: [], text: [] } } }],
  ['families.perFamily: does not count the actions of each family', { families: { perFamily: [3] } }],
  ['families.perFamily: does not count the actions of each family', { families: { perFamily: [2, 2] } }],
  ['families.action: not sorted names within their family', { families: { action: ['pay', 'approve', 'ship'] } }],
  ['families.action: not sorted names within their family', { families: { action: ['approve', 'Pay', 'ship'] } }],
  ['families.action: not sorted names within their family', { families: { action: ['approve', 'pay', 'read'] } }],
  ['families.action: not sorted names within their family', { families: { action: ['approve', 'read', 'ship'] } }],
  ['taken', { families: { action: ['approve', 'pay', 'ask'] } }],
  ['families.description: not rows of families and texts', { families: { description: { row: [2] } } }],
  ['families.description: not rows of families and texts', { families: { description: { text: [] } } }],
  ['families.sets: not sets of scopes', { families: { sets: { own: [] } } }],
  ['families.sets: not sets of scopes', { families: { sets: { own: [], perSet: [0] } } }],
  ['families.sets: not sets of scopes', { families: { sets: { perSet: [1, 0] } } }],
  ['families.sets: not sets of scopes', { families: { sets: { own: [7] } } }],
  ['families.sets: not sets of scopes', { families: { sets: { own: [0, 1] } } }],
  [
    'families.sets: not sets of scopes',
    { families: { sets: { own: [0, 7], perSet: [1, 1], record: [5, 6] } }, grants: { scopes: [1024, 1025] } },
  ],
  ['families.sets: not sets of scopes', { families: { sets: { record: [1024] } } }],
  ['families.sets: not sets of scopes', { families: { sets: { own: [1, 1], perSet: [2] } } }],
  ['families.sets: not sets of scopes', { families: { sets: { own: [1, 0], perSet: [2] } } }],
  ['taken', { families: { sets: { own: [6] } } }],
  ['taken', { families: { sets: { own: [0, 1], perSet: [2] } } }],
  ...[
    [
      [1, 2],
      [1, 1],
      [5, 5],
    ],
    [
      [2, 1],
      [1, 1],
      [5, 6],
    ],
    [
      [1, 1, 2],
      [1, 2],
      [5, 5],
    ],
  ].map(([own, perSet, record]): [string, Fields] => [
    'taken',
    { families: { sets: { own, perSet, record } }, grants: { scopes: [1024, 1025] } },
  ]),
  ...[
    [
      [2, 1],
      [1, 1],
      [5, 5],
    ],
    [
      [1, 1],
      [1, 1],
      [5, 5],
    ],
    [
      [1, 2],
      [1, 1],
      [6, 5],
    ],
    [
      [1, 2, 1],
      [2, 1],
      [5, 5],
    ],
  ].map(([own, perSet, record]): [string, Fields] => [
    'families.sets: not sorted',
    { families: { sets: { own, perSet, record } }, grants: { scopes: [1024, 1025] } },
  ]),
])('%s: %j', (said, change) => {
  expect(refusal(change)).toBe(said);
});

test.each<[string, Partial<EngineLimits>, Partial<EngineLimits>]>([
  ['providers: more than the limit', { providers: 2 }, { providers: 1 }],
  ['roles: more than the limit', { roles: 2 }, { roles: 1 }],
  ['members: more than the limit', { members: 3 }, { members: 2 }],
  // The row of a grant for the member with a window counts.
  ['grants: more than the limit', { grants: 3 }, { grants: 1 }],
  ['grants: more than the limit, narrowed for members with a window', { grants: 3 }, { grants: 2 }],
  ['namespaces: more than the limit', { namespaces: 3 }, { namespaces: 2 }],
  ['exclusive: more than the limit', { exclusive: 1 }, { exclusive: 0 }],
  ['families: more scopes than the limit', { scopes: 17 }, { scopes: 16 }],
])('%s', (said, most, less) => {
  expect([refusal({}, most), refusal({}, less)]).toEqual(['taken', said]);
});

it('counts groups of providers by themselves', () => {
  const providers = ['github', 'orcid', 'orcid-group'];
  const change = { providers, identities: { perProvider: [0, 2, 0] } };
  expect([2, 1].map((limit) => refusal(change, { providers: limit }))).toEqual([
    'taken',
    'providers: more than the limit',
  ]);
  const groups = { providers: ['a-group', 'b-group', 'orcid'], identities: { perProvider: [0, 0, 2] } };
  expect([2, 1].map((limit) => refusal(groups, { providers: limit }))).toEqual([
    'taken',
    'providers: more than the limit',
  ]);
});

it('holds paths to their limits', () => {
  const chain = (segments: readonly string[]): string =>
    refusal({
      segments: [...new Set(segments)].sort(),
      namespaces: {
        segment: segments.map((one) => [...new Set(segments)].sort().indexOf(one)),
        up: segments.map(() => 1),
      },
      grants: { namespace: [1, segments.length] },
    });
  const PAST = 'namespaces: past the limits of a path';
  const levels = (count: number): string[] => Array.from({ length: count }, () => 'a');
  expect([chain(levels(32)), chain(levels(33))]).toEqual(['taken', PAST]);
  // Sixteen times a slash and 63 characters are 1,024.
  const wide = Array.from({ length: 15 }, () => long(63));
  expect([chain([...wide, long(63, 'b')]), chain([...wide, long(62, 'b'), 'b'])]).toEqual(['taken', PAST]);
});

it('goes up by any number of rows', () => {
  const change = (up: readonly number[], segment: readonly number[]): Fields => ({
    ...{ segments: ['a', 'b'], namespaces: { segment, up }, grants: { namespace: [3, 4] } },
  });
  expect(refusal(change([1, 1, 1, 4], [0, 0, 0, 1]))).toBe('taken');
  expect(refusal(change([1, 1, 1, 3], [0, 0, 0, 1]))).toBe('taken');
  expect(refusal(change([1, 1, 1, 3], [0, 1, 0, 0]))).toBe('namespaces.segment: siblings are not sorted');
});

it('sorts pairs by both columns', () => {
  const pairs = (first: readonly number[], second: readonly number[]): string =>
    refusal({ identities: { perProvider: [0, 3], subject: ['ada', 'bob', 'eve'] }, exclusive: { first, second } });
  const REFUSED = 'exclusive: not sorted pairs of identities';
  expect(pairs([0, 0, 1], [1, 2, 2])).toBe('taken');
  expect(pairs([0, 0], [2, 1])).toBe(REFUSED);
  expect(pairs([1, 0], [2, 2])).toBe(REFUSED);
  expect(pairs([0, 1], [2, 2])).toBe('taken');
  expect(pairs([0, 1], [2])).toBe(REFUSED);
  expect(pairs([0], [2, 1])).toBe(REFUSED);
  const four = { identities: { perProvider: [0, 4], subject: ['ada', 'bob', 'eve', 'zoe'] } };
  expect(refusal({ ...four, exclusive: { first: [1, 0], second: [2, 3] } })).toBe(REFUSED);
});

it('has nothing to say of what is not there', () => {
  const empty = policyOf([], []);
  const body = bodyOf(empty);
  expect(body).toMatchObject({ exclusive: { first: [], second: [] }, namespaces: { segment: [], up: [] } });
  expect(Object.keys(body)).not.toContain('families');
  const refusalOf = (change: Fields): unknown => {
    const tables = decodeTables(
      changed(
        { ...body, providers: [], identities: { perProvider: [], subject: [] } },
        change,
      ) as unknown as SnapshotBody,
      ENGINE_LIMITS,
    );
    return typeof tables === 'string' ? tables : 'taken';
  };
  expect(refusalOf({})).toBe('taken');
  expect(refusalOf({ grants: { exact: [0] } })).toBe('grants.exact: not rows of grants');
  expect(refusalOf({ grants: { expires: { at: [0], row: [0] } } })).toBe(
    'grants.expires: not rows of grants and instants',
  );
});

it('is the file of the full policy, column by column', () => {
  const place = { file: [2, 2, 3], line: [3, 3, 4] };
  expect(bodyOf()).toEqual({
    checks: digestChecks(FULL),
    decisions: DECISIONS,
    exclusive: { first: [0], second: [1] },
    families: {
      action: ['approve', 'pay', 'ship'],
      description: { row: [0], text: ['Invoices.'] },
      name: ['invoice', 'order'],
      perFamily: [2, 1],
      sets: { own: [0], perSet: [1], record: [1023] },
    },
    files: ['grants/labs.yaml', 'roles/a.yaml', 'roles/b.yaml'],
    format: 3,
    grants: {
      ...{ exact: [0], expires: { at: [1_800_000_000_000], row: [1] }, file: [1, 1], id: ['bob-all', 'crew-read'] },
      ...{ line: [7, 7], namespace: [1, 2], notBefore: { at: [-5], row: [1] }, principal: [3, 0] },
      ...{ reason: { row: [0, 1], text: ['They read.', 'They read.'] }, scopes: [1024, 1] },
    },
    identities: { perProvider: [0, 2], subject: ['ada', 'bób'] },
    members: {
      ...{ ...place, expires: { at: [1_700_000_000_000], row: [1] }, notBefore: { at: [-3], row: [1] } },
      ...{ member: [1, 2, 3], perRole: [2, 1] },
    },
    name: 'full',
    namespaces: { segment: [0, 1], up: [1, 1] },
    providers: ['github', 'orcid'],
    roles: {
      ...{ description: { row: [0], text: ['Who works there.'] }, file: [2, 3], line: [2, 1] },
      name: ['crew', 'leads'],
    },
    segments: ['labs', 'optics'],
  });
});

/** Members and grants with one bound, both or none. */
const BOUNDED: PolicySet = {
  ...policyOf([], []),
  roles: [
    {
      ...{ name: 'crew', description: null, place: null },
      members: ['a', 'b', 'c', 'd', 'e'].map((subject, i) => ({
        ...{ kind: 'identity', identity: { provider: 'orcid', subject }, place: null },
        notBefore: i === 1 || i === 3 ? instantOf(i) : null,
        expires: i > 1 && i < 4 ? instantOf(10 * i) : null,
      })),
    },
  ],
  grants: [0, 1, 2, 3].map((i) => ({
    ...{ id: `g${String(i)}`, principal: { kind: 'role', role: 'crew' }, namespace: pathOf('/a'), place: null },
    ...{ scopes: scopeSetOf(['resource:read']), inherit: i === 3, reason: i > 1 ? 'why' : null },
    ...{ notBefore: i > 1 ? instantOf(i) : null, expires: i === 1 || i === 2 ? instantOf(10 * i) : null },
  })),
};

it('has rows as distances, of what has a bound', () => {
  expect(bodyOf(BOUNDED)).toMatchObject({
    members: { notBefore: { at: [1, 3], row: [1, 2] }, expires: { at: [20, 30], row: [2, 1] } },
    grants: {
      ...{ notBefore: { at: [2, 3], row: [2, 1] }, expires: { at: [10, 20], row: [1, 1] } },
      ...{ exact: [0, 1, 1], reason: { row: [2, 1] } },
    },
  });
});

/** Sets of scopes, the larger of two with one beginning first. */
const SETS: PolicySet = {
  ...BOUNDED,
  families: FULL.families ?? [],
  grants: [
    [2, 'invoice:pay', 'order:read'],
    [1, 'invoice:approve', 'invoice:pay'],
    [1, 'invoice:approve'],
    [1, 'invoice:pay'],
    [1],
  ].flatMap(([record, ...own], i) =>
    BOUNDED.grants
      .slice(0, 1)
      .map((grant) => ({ ...grant, id: `g${String(i)}`, scopes: fromParts(Number(record), own.map(String)) })),
  ),
};

it('numbers sets of scopes in their order', () => {
  expect(bodyOf(SETS)).toMatchObject({
    families: { sets: { own: [0, 0, 1, 1, 1, 4], perSet: [1, 2, 1, 2], record: [1, 1, 1, 2] } },
    grants: { scopes: [1027, 1025, 1024, 1026, 1] },
  });
});

it.each([
  ['of the full policy', FULL],
  ['with bounds', BOUNDED],
  ['with sets', SETS],
])('is read as the tables that were written, %s', (_, set) => {
  const { tables } = compileTables(set);
  const read = decodeTables(bodyOf(set), ENGINE_LIMITS);
  if (typeof read === 'string') throw new Error(read);
  expect(read).toEqual(tables);
  expect(statedTables(read)).toEqual(statedTables(tables));
});

it('has nothing of what earlier formats did not state', () => {
  const earlier = {
    ...{ checks: undefined, exclusive: undefined, grants: { reason: undefined } },
    ...{ members: { expires: undefined, notBefore: undefined }, roles: { description: undefined } },
  };
  const tables = decodeTables(changed(bodyOf(), earlier) as unknown as SnapshotBody, ENGINE_LIMITS);
  if (typeof tables === 'string') throw new Error(tables);
  const none = new Int32Array(0);
  expect(tables.exclusive).toEqual({ first: none, second: none });
  expect([tables.grants.reason, tables.roles.description]).toEqual([0, 1].map(() => ({ row: none, text: [] })));
  expect([tables.narrowed ?? null, tables.members.windows]).toEqual([null, null]);
});

it('is what is compiled', () => {
  expect(compile(FULL).text).toContain(JSON.stringify(bodyOf().grants));
});
