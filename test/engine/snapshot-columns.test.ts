// Columns of a file that no policy has are refused with the field and the reason, each at its border.
import { expect, it, test } from '@jest/globals';
import { ENGINE_LIMITS, type EngineLimits } from '../../engine/limits.js';
import { FIRST_INSTANT, LAST_INSTANT } from '../../engine/model/instant.js';
import { decodeTables } from '../../engine/snapshot/decode-tables.js';
import type { SnapshotBody } from '../../engine/snapshot/document.js';
import { policyOf } from './oracle/worlds.js';
import { bodyOf, changed, DECISIONS, type Fields } from './snapshot-bodies.js';

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
  // More sets than grants, whatever they are.
  ['families.sets: one that nothing names', { families: { sets: { own: [], perSet: [0, 0, 0], record: [0, 0, 0] } } }],
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
