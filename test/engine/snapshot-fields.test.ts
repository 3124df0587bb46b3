// The table of the format's fields says which digests cover each: every field is edited, and exactly those change.
import { describe, expect, it } from '@jest/globals';
import { type Identity, instantOf, type OwnFamily, type ScopeSet } from '../../engine/index.js';
import { fromParts, RECORD_SCOPE_SET } from '../../engine/model/scope-set.js';
import type { PolicyGrant, PolicyMember, PolicySet } from '../../engine/model/policy-set.js';
import { type FieldTable, isField, SNAPSHOT_FIELDS } from '../../engine/snapshot/document.js';
import { ADA, BOB, compile, FULL, LEAVES, place, valueAt } from './full-policy.js';
import { pathOf } from './oracle/worlds.js';

describe('the fields of the format', () => {
  const pathsOf = (value: object, path = ''): readonly string[] =>
    Object.entries(value).flatMap(([key, inner]: [string, unknown]) =>
      typeof inner === 'object' && inner !== null && !Array.isArray(inner)
        ? pathsOf(inner, `${path}${key}.`)
        : [`${path}${key}`],
    );

  const [invoice, order] = FULL.families ?? [];
  const [crew, leads] = FULL.roles;
  const [first, second] = FULL.grants;
  const [guardrail] = FULL.guardrails;
  if (
    invoice === undefined ||
    order === undefined ||
    crew === undefined ||
    leads === undefined ||
    first === undefined ||
    second === undefined ||
    guardrail === undefined
  )
    throw new Error('FULL is full');
  const withFirst = (change: Partial<PolicyGrant>): PolicySet => ({
    ...FULL,
    grants: [{ ...first, ...change }, second],
  });
  const withSecond = (change: Partial<PolicyGrant>): PolicySet => ({
    ...FULL,
    grants: [first, { ...second, ...change }],
  });
  const declaring = (...families: OwnFamily[]): PolicySet => ({ ...FULL, families });
  const withCrew = (change: Partial<typeof crew>): PolicySet => ({ ...FULL, roles: [{ ...crew, ...change }, leads] });
  const withAda = (change: Partial<PolicyMember>): PolicySet =>
    withCrew({
      members: crew.members.map((member, i) => (i === 0 ? ({ ...member, ...change } as PolicyMember) : member)),
    });
  const EVE = { provider: 'orcid', subject: 'eve' };
  const excluding = (...identities: Identity[]): PolicySet => ({
    ...FULL,
    exclusive: [...FULL.exclusive, { identities, place: null }],
  });

  /** For every field an edit of the policy that changes it; more fields than one may change. */
  const EDITS = new Map<string, PolicySet>([
    ['seal', { ...FULL, name: 'other' }],
    ['snapshot.checks.guardrails.count', { ...FULL, guardrails: [] }],
    ['snapshot.checks.guardrails.digest', { ...FULL, guardrails: [{ ...guardrail, id: 'together' }] }],
    ['snapshot.checks.people.count', { ...FULL, people: [] }],
    ['snapshot.checks.people.digest', { ...FULL, people: [{ name: 'bób', identities: [EVE], place: null }] }],
    ['snapshot.checks.tests.count', { ...FULL, tests: [] }],
    ['snapshot.checks.tests.digest', { ...FULL, tests: FULL.tests.map((test) => ({ ...test, at: instantOf(0) })) }],
    ['snapshot.checks.delegation.count', { ...FULL, folders: [] }],
    [
      'snapshot.checks.delegation.digest',
      { ...FULL, folders: FULL.folders.map((folder) => ({ ...folder, exports: [] })) },
    ],
    ['snapshot.checks.exclusive.count', { ...FULL, exclusive: [] }],
    ['snapshot.checks.exclusive.digest', excluding(ADA, EVE)],
    ['snapshot.exclusive.first', excluding(BOB, EVE)],
    ['snapshot.exclusive.second', excluding(ADA, EVE)],
    ['snapshot.grants.reason.row', withFirst({ reason: null })],
    ['snapshot.grants.reason.text', withFirst({ reason: 'They still read.' })],
    ['snapshot.roles.description.row', withCrew({ description: null })],
    ['snapshot.roles.description.text', withCrew({ description: 'Who works here.' })],
    ['snapshot.decisions', withFirst({ scopes: 2 as ScopeSet })],
    ['snapshot.families.action', declaring({ ...invoice, actions: ['approve', 'pay', 'void'] }, order)],
    ['snapshot.families.description.row', declaring({ ...invoice, description: null }, order)],
    ['snapshot.families.description.text', declaring({ ...invoice, description: 'Bills.' }, order)],
    ['snapshot.families.name', declaring(invoice, { ...order, name: 'orders' })],
    ['snapshot.families.perFamily', declaring(invoice, { ...order, actions: [] })],
    ['snapshot.families.sets.own', withSecond({ scopes: fromParts(RECORD_SCOPE_SET, ['invoice:pay']) })],
    ['snapshot.families.sets.perSet', withSecond({ scopes: fromParts(3, ['invoice:approve', 'invoice:pay']) })],
    ['snapshot.families.sets.record', withSecond({ scopes: fromParts(3, ['invoice:approve']) })],
    ['snapshot.files', withFirst({ place: place('grants/zzz.yaml', 7) })],
    ['snapshot.grants.exact', withFirst({ inherit: false })],
    ['snapshot.grants.expires.at', withFirst({ expires: instantOf(9) })],
    ['snapshot.grants.expires.row', withFirst({ expires: null })],
    ['snapshot.grants.file', withFirst({ place: place('roles/a.yaml', 7) })],
    ['snapshot.grants.id', withFirst({ id: 'crew-sees' })],
    ['snapshot.grants.line', withFirst({ place: place('grants/labs.yaml', 8) })],
    ['snapshot.grants.namespace', withFirst({ namespace: pathOf('/labs') })],
    ['snapshot.grants.notBefore.at', withFirst({ notBefore: instantOf(0) })],
    ['snapshot.grants.notBefore.row', withFirst({ notBefore: null })],
    ['snapshot.grants.principal', withFirst({ principal: { kind: 'role', role: 'leads' } })],
    ['snapshot.grants.scopes', withFirst({ scopes: 3 as ScopeSet })],
    [
      'snapshot.identities.perProvider',
      withCrew({ members: [...crew.members, { kind: 'identity', identity: EVE, place: null }] }),
    ],
    [
      'snapshot.identities.subject',
      withCrew({ members: [{ kind: 'identity', identity: EVE, place: null }, ...crew.members.slice(1)] }),
    ],
    [
      'snapshot.members.file',
      withCrew({ members: crew.members.map((member) => ({ ...member, place: place('roles/b.yaml', 3) })) }),
    ],
    [
      'snapshot.members.line',
      withCrew({ members: crew.members.map((member) => ({ ...member, place: place('roles/a.yaml', 9) })) }),
    ],
    ['snapshot.members.expires.at', withAda({ expires: instantOf(1_600_000_000_000) })],
    ['snapshot.members.expires.row', withAda({ expires: null })],
    ['snapshot.members.notBefore.at', withAda({ notBefore: instantOf(-4) })],
    ['snapshot.members.notBefore.row', withAda({ notBefore: null })],
    ['snapshot.members.member', withCrew({ members: [{ kind: 'identity', identity: EVE, place: null }] })],
    ['snapshot.members.perRole', withCrew({ members: crew.members.slice(0, 1) })],
    ['snapshot.name', { ...FULL, name: 'other' }],
    ['snapshot.namespaces.segment', withFirst({ namespace: pathOf('/labs/labs') })],
    ['snapshot.namespaces.up', withFirst({ namespace: pathOf('/optics') })],
    [
      'snapshot.providers',
      {
        ...withCrew({
          members: [
            { kind: 'identity', identity: { provider: 'rorcid', subject: 'ada' }, place: null },
            ...crew.members.slice(1),
          ],
        }),
      },
    ],
    ['snapshot.roles.file', withCrew({ place: place('roles/b.yaml', 2) })],
    ['snapshot.roles.line', withCrew({ place: place('roles/a.yaml', 9) })],
    [
      'snapshot.roles.name',
      {
        ...FULL,
        roles: [{ ...crew, name: 'crewe' }, leads],
        grants: [{ ...first, principal: { kind: 'role', role: 'crewe' } }, second],
      },
    ],
    ['snapshot.segments', withFirst({ namespace: pathOf('/labs/lasers') })],
  ]);

  it('are exactly those of the table', () => {
    const fields = LEAVES.map(([path]) => path);
    const document = JSON.parse(compile(FULL).text) as object;
    expect(pathsOf(document)).toEqual([...fields].sort());
    expect(fields.length).toBeGreaterThan(20);
    expect(shape(SNAPSHOT_FIELDS)).toEqual(shape(sortKeys(SNAPSHOT_FIELDS)));
  });

  it.each(LEAVES.filter(([path]) => path !== 'snapshot.format'))(
    '%s is under the digests that the table says',
    (path, field) => {
      const edited = EDITS.get(path);
      if (edited === undefined) throw new Error('every field but the format number has an edit');
      const [before, after] = [compile(FULL), compile(edited)];
      const [old, changed] = [JSON.parse(before.text) as { seal: string }, JSON.parse(after.text) as { seal: string }];
      expect(valueAt(changed, path)).not.toEqual(valueAt(old, path));
      expect(after.digest).not.toBe(before.digest);
      expect(changed.seal).not.toBe(old.seal);
      if (field.digests === 'decided') expect(after.decisions).not.toBe(before.decisions);
      if (field.digests !== 'decided' && path !== 'snapshot.decisions') expect(after.decisions).toBe(before.decisions);
    },
  );

  function shape(table: FieldTable): string {
    return JSON.stringify(table);
  }

  function sortKeys(table: FieldTable): FieldTable {
    return Object.fromEntries(
      Object.entries(table)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([key, entry]) => [key, isField(entry) ? entry : sortKeys(entry)]),
    );
  }
});
