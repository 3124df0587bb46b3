// The columns of a file: what is written of a policy, and that what is read are the tables that were written.
import { expect, it } from '@jest/globals';
import { ENGINE_LIMITS } from '../../engine/limits.js';
import { compileTables } from '../../engine/compile/compile-tables.js';
import { instantOf } from '../../engine/model/instant.js';
import { scopeSetOf } from '../../engine/index.js';
import { fromParts } from '../../engine/model/scope-set.js';
import type { PolicySet } from '../../engine/model/policy-set.js';
import { statedTables } from '../../engine/model/tables.js';
import { decodeTables } from '../../engine/snapshot/decode-tables.js';
import type { SnapshotBody } from '../../engine/snapshot/document.js';
import { digestChecks } from '../../engine/snapshot/checks.js';
import { compile, FULL } from './full-policy.js';
import { pathOf, policyOf } from './oracle/worlds.js';
import { bodyOf, changed, DECISIONS } from './snapshot-bodies.js';

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
