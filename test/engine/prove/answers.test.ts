// who-can, what-can and explain against brute force over small worlds. Every edit that explain proposes is made and decided
// again, and every edit of its kinds that would allow the access is among them.
import { describe, expect, it, test } from '@jest/globals';
import fc from 'fast-check';
import {
  ALL_SCOPES,
  canonicalize,
  decide,
  decideRaw,
  formatIdentity,
  type Identity,
  type Instant,
  type NamespacePath,
  NO_SCOPES,
  SCOPES,
  type ScopeName,
  scopeBit,
  scopeNames,
  type ScopeSet,
  scopeSetOf,
} from '../../../engine/index.js';
import type { PolicyGrant, PolicyMember, PolicySet } from '../../../engine/model/policy-set.js';
import { diffPolicies } from '../../../engine/prove/diff.js';
import type { Change, Edit } from '../../../engine/prove/edits.js';
import { explain, type ExplainRequest } from '../../../engine/prove/explain.js';
import { whatCan } from '../../../engine/prove/what-can.js';
import { whoCan } from '../../../engine/prove/who-can.js';
import { anyInstant, anyPath, IDENTITIES, pathOf, policyOf, STRANGER, UNIVERSE, world } from '../oracle/worlds.js';
import { holds, isInRegion, load } from './brute.js';

const ADA: Identity = { provider: 'github', subject: 'ada' };
const someone = fc.constantFrom(...IDENTITIES, STRANGER);

describe('who-can', () => {
  it('names everyone who holds the scope, at any path, with all grants that carry it', () => {
    fc.assert(
      fc.property(world, fc.constantFrom(...SCOPES), anyPath, anyInstant, (set, scope, namespace, at) => {
        const held = holds(set);
        const expected = IDENTITIES.map((identity) => ({
          identity: formatIdentity(identity),
          grants: held(identity, namespace, at).get(scope) ?? [],
        }))
          .filter(({ grants }) => grants.length > 0)
          .sort((a, b) => (a.identity < b.identity ? -1 : 1));
        const found = whoCan(load(set), { scope, namespace, at });
        expect(found.map(({ identity, grants }) => ({ identity, grants: grants.map((grant) => grant.id) }))).toEqual(
          expected,
        );
      }),
      { numRuns: 100 },
    );
  });
});

describe('what-can', () => {
  it('has regions whose union is exactly what is decided, a scope in one region at a time, with the grants that carry it', () => {
    fc.assert(
      fc.property(world, someone, anyInstant, (set, identity, at) => {
        const policy = load(set);
        const regions = whatCan(policy, { identity, at });
        const actor = {
          kind: 'request',
          identities: [identity],
          credentialScopes: ALL_SCOPES,
          namespaceRestrictions: null,
        } as const;
        for (const path of UNIVERSE) {
          const covering = regions.filter((region) => isInRegion(region, path));
          const decided = SCOPES.filter(
            (scope) =>
              decide(policy, { actor, request: { kind: 'access', scope, context: path, target: path }, at })
                .decision === 'allow',
          );
          expect(covering.flatMap((region) => region.scopes).sort()).toEqual([...decided].sort());
        }
        const held = holds(set);
        for (const region of regions) {
          const paths = UNIVERSE.filter((path) => isInRegion(region, path));
          const carries = (id: string): boolean =>
            region.scopes.some((scope) =>
              paths.every((path) => held(identity, path, at).get(scope)?.includes(id) === true),
            );
          expect(region.grants.map((grant) => grant.id)).toEqual(set.grants.map((grant) => grant.id).filter(carries));
          expect(region.grants.length).toBeGreaterThan(0);
        }
      }),
      { numRuns: 100 },
    );
  });
});

const someScopes = fc.uniqueArray(fc.constantFrom(...SCOPES), { maxLength: 4 });
const explainRequest: fc.Arbitrary<ExplainRequest> = fc
  .record({
    identities: fc.uniqueArray(someone, { maxLength: 2 }),
    credentialScopes: fc.option(someScopes, { freq: 2 }),
    namespaceRestrictions: fc.option(
      fc.array(fc.oneof({ weight: 6, arbitrary: anyPath }, { weight: 1, arbitrary: fc.constant('//') }), {
        maxLength: 2,
      }),
      { freq: 2 },
    ),
    scope: fc.oneof(
      { weight: 12, arbitrary: fc.constantFrom<string>(...SCOPES) },
      { weight: 1, arbitrary: fc.constant('resource:delete') },
    ),
    target: fc.oneof({ weight: 12, arbitrary: anyPath }, { weight: 1, arbitrary: fc.constant('/A') }),
    context: anyPath,
    here: fc.boolean(),
    at: anyInstant,
  })
  .map(({ here, ...request }) => (here ? { ...request, context: request.target } : request));

function decideAs(set: PolicySet, request: ExplainRequest): ReturnType<typeof decideRaw> {
  const { identities, credentialScopes, namespaceRestrictions, scope, context, target, at } = request;
  const actor = { kind: 'request', identities, credentialScopes, namespaceRestrictions } as const;
  return decideRaw(load(set), { actor, request: { kind: 'access', scope, context, target }, at });
}

describe('explain', () => {
  it('says what decide decides, each step in order up to the one that failed', () => {
    const order = ['canonicalize', 'restriction', 'no_matching_grant', 'credential_scope', 'target_relationship'];
    fc.assert(
      fc.property(world, explainRequest, (set, request) => {
        const explanation = explain(load(set), request);
        const decision = decideAs(set, request);
        expect(explanation.decision).toBe(decision.decision);
        expect(explanation.step).toBe(decision.decision === 'deny' ? decision.step : undefined);
        if (decision.decision === 'allow') expect(explanation.grants).toEqual(decision.grants);
        const steps = explanation.steps.map(({ step }) => step).filter((step) => step !== 'unknown_scope');
        expect(steps).toEqual(order.slice(0, steps.length));
        expect(explanation.steps.map(({ passed }) => passed)).toEqual(
          explanation.steps.map((_, i) => decision.decision === 'allow' || i < explanation.steps.length - 1),
        );
        expect(explanation.steps.length).toBe(decision.decision === 'allow' ? 5 : explanation.steps.length);
      }),
      { numRuns: 200 },
    );
  });

  it('proposes edits that allow, all there are of each kind, with the cells that diff would call gained besides', () => {
    const kinds = new Map<string, number>();
    fc.assert(
      fc.property(world, explainRequest, fc.option(fc.nat(), { freq: 3 }), (set, asked, aim) => {
        // Most of the time at a namespace of a grant, where there is more to edit, and often for a scope that it gives.
        const grant = set.grants[(aim ?? 0) % Math.max(1, set.grants.length)];
        const scope = aim !== null && aim % 3 > 0 ? scopeNames(grant?.scopes ?? NO_SCOPES)[0] : undefined;
        const there = aim === null || grant === undefined ? {} : { target: grant.namespace, context: grant.namespace };
        const request = { ...asked, ...there, ...(scope === undefined ? {} : { scope }) };
        const { edits } = explain(load(set), request);
        const texts = edits.map((edit) => edit.opens.cells);
        expect([...texts].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))).toEqual(texts);
        for (const edit of edits) {
          kinds.set(edit.change.kind, (kinds.get(edit.change.kind) ?? 0) + 1);
          const edited = applyEdit(set, edit.change);
          expect([edit.text, decideAs(edited, withCredential(request, edit.change)).decision]).toEqual([
            edit.text,
            'allow',
          ]);
          const { cells } = diffPolicies(load(set), load(edited));
          expect([edit.text, edit.opens.cells]).toEqual([
            edit.text,
            edit.change.kind === 'credential' ? 0n : cells.gained - 1n,
          ]);
          expect(cells.lost).toBe(0n);
        }
        expect(edits.map(labelOf).sort()).toEqual([...everyEdit(set, request)].sort());
      }),
      { numRuns: 90 },
    );
    for (const kind of ['grant', 'scope', 'member', 'credential'])
      expect([kind, (kinds.get(kind) ?? 0) > 1]).toEqual([kind, true]);
  });

  it('widens a window by no more than the interval that was asked about', () => {
    const body = {
      principal: { kind: 'identity', identity: ADA },
      namespace: pathOf('/a'),
      scopes: 3 as ScopeSet,
      inherit: false,
      reason: null,
      place: null,
    } as const;
    const cut = (instant: number): Instant => instant as Instant;
    const set = policyOf(
      [],
      [
        { ...body, notBefore: cut(30), expires: cut(40) },
        { ...body, scopes: 4 as ScopeSet, notBefore: cut(10), expires: cut(20) },
      ],
    );
    const request = {
      identities: [ADA],
      credentialScopes: null,
      namespaceRestrictions: null,
      scope: 'namespace:write',
      context: '/a',
      target: '/a',
    };
    const widest = (at: number): unknown =>
      explain(load(set), { ...request, at: cut(at) }).edits.find(({ change }) => change.kind === 'window')?.change;
    expect(widest(25)).toEqual({ kind: 'window', grant: { id: 'g0' }, notBefore: 20, expires: 40 });
    expect(widest(15)).toEqual({ kind: 'window', grant: { id: 'g0' }, notBefore: 10, expires: 40 });
    expect(widest(50)).toEqual({ kind: 'window', grant: { id: 'g0' }, notBefore: 30, expires: null });
    expect(widest(0)).toEqual({ kind: 'window', grant: { id: 'g0' }, notBefore: null, expires: 40 });
    // Two scopes in one more interval, one cell of which was asked for.
    expect(
      explain(load(set), { ...request, at: cut(25) }).edits.map(({ change, opens }) => [change.kind, opens.cells]),
    ).toEqual([
      ['window', 1n],
      ['grant', 3n],
    ]);
  });

  test.each([
    [
      'a namespace that is none',
      { target: '/A' },
      'canonicalize',
      'the namespace `/A` is not a namespace: segments are made of a-z, 0-9 and . _ ~ -',
    ],
    ['a scope that is none', { scope: 'resource:delete' }, 'unknown_scope', '`resource:delete` is not a scope'],
    [
      'a restriction elsewhere',
      { namespaceRestrictions: ['/b'] },
      'restriction',
      'the credential is restricted to /b, and /a is not there',
    ],
    [
      'no grant',
      { scope: 'resource:write' },
      'no_matching_grant',
      'no grant in force at 1970-01-01T00:00:00.000Z gives github:ada resource:write at /a',
    ],
    ['a narrow credential', { credentialScopes: [] }, 'credential_scope', 'the credential carries no scope at all'],
    [
      'a write from below',
      { scope: 'namespace:write', context: '/a/b' },
      'target_relationship',
      'namespace:write stays in the namespace that is asked from, and /a is not /a/b',
    ],
  ])('says why: %s', (_name, more, step, text) => {
    const policy = load(
      policyOf(
        [],
        [
          {
            principal: { kind: 'identity', identity: ADA },
            namespace: pathOf('/a'),
            scopes: 3 as ScopeSet,
            inherit: true,
            notBefore: null,
            expires: null,
            reason: null,
            place: null,
          },
        ],
      ),
    );
    const request = {
      identities: [ADA],
      credentialScopes: null,
      namespaceRestrictions: null,
      scope: 'namespace:read',
      context: '/a',
      target: '/a',
      at: 0 as Instant,
      ...more,
    };
    const explanation = explain(policy, { ...request, context: 'context' in more ? request.context : request.target });
    expect([explanation.step, explanation.steps.at(-1)?.text]).toEqual([step, text]);
  });
});

function withCredential(request: ExplainRequest, change: Change): ExplainRequest {
  const more = change.kind === 'credential' ? change : change.credential;
  return {
    ...request,
    credentialScopes:
      request.credentialScopes === null ? null : [...request.credentialScopes, ...(more?.credentialScopes ?? [])],
    namespaceRestrictions:
      request.namespaceRestrictions === null
        ? null
        : [...request.namespaceRestrictions, ...(more?.namespaceRestrictions ?? [])],
  };
}

function identityOf(text: string): Identity {
  const found = [...IDENTITIES, STRANGER].find((identity) => formatIdentity(identity) === text);
  if (found === undefined) throw new Error(`nobody is called ${text}`);
  return found;
}

function applyEdit(set: PolicySet, change: Change): PolicySet {
  const edit = (id: string, more: (grant: PolicyGrant) => Partial<PolicyGrant>): PolicySet => ({
    ...set,
    grants: set.grants.map((grant) => (grant.id === id ? { ...grant, ...more(grant) } : grant)),
  });
  switch (change.kind) {
    case 'grant': {
      const { namespace, inherit } = change;
      const principal = { kind: 'identity', identity: identityOf(change.identity) } as const;
      const grant = {
        id: 'edit',
        principal,
        namespace,
        scopes: scopeSetOf(change.scopes),
        inherit,
        notBefore: null,
        expires: null,
        reason: null,
        place: null,
      };
      return { ...set, grants: [...set.grants, grant] };
    }
    case 'scope':
      return edit(change.grant.id, (grant) => ({ scopes: (grant.scopes | scopeBit(change.scope)) as ScopeSet }));
    case 'window':
      return edit(change.grant.id, () => ({ notBefore: change.notBefore, expires: change.expires }));
    case 'member': {
      const member: PolicyMember = { kind: 'identity', identity: identityOf(change.identity), place: null };
      const isListed = (other: PolicyMember): boolean =>
        other.kind === 'identity' && formatIdentity(other.identity) === change.identity;
      const join = (members: readonly PolicyMember[]): readonly PolicyMember[] =>
        members.some(isListed) ? members : [...members, member];
      return {
        ...set,
        roles: set.roles.map((role) => (role.name === change.role ? { ...role, members: join(role.members) } : role)),
      };
    }
    case 'credential':
      return set;
  }
}

function labelOf({ change }: Edit): string {
  switch (change.kind) {
    case 'grant':
      return `grant ${change.identity}`;
    case 'scope':
    case 'window':
      return `${change.kind} ${change.grant.id}`;
    case 'member':
      return `member ${change.role} ${change.identity}`;
    case 'credential':
      return 'credential';
  }
}

/** Tries everything: which edits of the five kinds give the actor the scope, whatever its credential. */
function everyEdit(set: PolicySet, request: ExplainRequest): readonly string[] {
  const free = { ...request, credentialScopes: null, namespaceRestrictions: null };
  const paths = [request.context, request.target, ...(request.namespaceRestrictions ?? [])];
  if (paths.some((path) => !canonicalize(path).ok) || decideAs(set, request).decision === 'allow') return [];
  if (decideAs(set, free).decision === 'allow') return ['credential'];
  const allows = (change: Change): boolean => decideAs(applyEdit(set, change), free).decision === 'allow';
  const scope = SCOPES.find((name): name is ScopeName => name === request.scope);
  if (scope === undefined) return [];
  const changes: Change[] = [
    ...request.identities.map((identity): Change => ({
      kind: 'grant',
      identity: formatIdentity(identity),
      namespace: request.target as NamespacePath,
      scopes: [scope],
      inherit: false,
    })),
    ...set.grants
      .filter((grant) => !scopeNames(grant.scopes).includes(scope))
      .map((grant): Change => ({ kind: 'scope', grant: { id: grant.id }, scope })),
    ...set.grants.map((grant): Change => ({ kind: 'window', grant: { id: grant.id }, notBefore: null, expires: null })),
    ...set.roles.flatMap((role) =>
      request.identities.map((identity): Change => ({
        kind: 'member',
        role: role.name,
        identity: formatIdentity(identity),
      })),
    ),
  ];
  return changes.filter(allows).map((change) => labelOf({ text: '', change, opens: { cells: 0n } }));
}
