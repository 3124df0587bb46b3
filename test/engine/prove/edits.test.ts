// Every edit that explain proposes is made, also in written files, and then allows the access. Without any one of its parts it does not.
// And every edit of one declaration that would allow the access is proposed.
import { scopeBit, unionScopes } from '../../../engine/model/scope-set.js';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  ALL_SCOPES,
  canonicalize,
  formatIdentity,
  type Identity,
  type Instant,
  type NamespacePath,
  scopeNames,
  type ScopeSet,
} from '../../../engine/index.js';
import { readPolicy } from '../../../engine/compiler.js';
import type { PolicyGrant, PolicySet } from '../../../engine/model/policy-set.js';
import { diffPolicies } from '../../../engine/prove/diff/diff-policies.js';
import type { GrantAmendment } from '../../../engine/prove/explain/amendments.js';
import type { Change, Edit, PolicyChange } from '../../../engine/prove/explain/edits.js';
import { explain, type ExplainRequest } from '../../../engine/prove/explain/explain.js';
import { oracleDecide, oracleScopes } from '../oracle/oracle.js';
import { pathOf, policyOf, exclusiveWorld as world } from '../oracle/worlds.js';
import { testRuns } from '../../support/test-runs.js';
import { filesOf, load } from './brute.js';
import { applyEdit, writable } from './apply-edit.js';
import { ADA, ASKING, CREW_AND_ADA, decideAs, explainRequest } from './requests.js';

/** The same from the policy's files, as an author would make the edit; `refused` where they do not compile. */
function decideWritten(set: PolicySet, request: ExplainRequest): 'allow' | 'deny' | 'refused' {
  const read = readPolicy(filesOf(set));
  return read.policy === null ? 'refused' : decideAs(read.policy, request).decision;
}

describe('the edits of explain', () => {
  it('proposes edits that allow, all there are of each kind, with the cells that diff would call gained besides', () => {
    const kinds = new Map<string, number>();
    fc.assert(
      fc.property(world, explainRequest, fc.option(fc.noBias(fc.nat()), { freq: 8 }), (any, asked, aim) => {
        const set = writable(any);
        const request = aim === null ? asked : aimed(set, asked, aim);
        const { decision, edits, noEdit } = explain(load(set), request);
        expect([decision, noEdit === undefined]).toEqual([decision, decision === 'allow' || edits.length > 0]);
        const texts = edits.map((edit) => edit.opens.cells);
        expect([...texts].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))).toEqual(texts);
        for (const edit of edits) {
          for (const kind of [edit.change.kind, ...('provider' in edit.change ? ['provider'] : [])])
            kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
          const edited = applyEdit(set, edit.change);
          expect([edit.text, decideWritten(edited, withCredential(request, edit.change))]).toEqual([
            edit.text,
            'allow',
          ]);
          for (const part of withoutOnePart(edit.change)) {
            expect([edit.text, part, decideWritten(applyEdit(set, part), withCredential(request, part))]).not.toEqual([
              edit.text,
              part,
              'allow',
            ]);
          }
          const { cells } = diffPolicies(load(set), load(edited));
          expect([edit.text, edit.opens.cells]).toEqual([
            edit.text,
            edit.change.kind === 'credential' ? 0n : cells.gained - 1n,
          ]);
          expect(cells.lost).toBe(0n);
        }
        expect(edits.map(labelOf).sort()).toEqual([...everyEdit(set, request)].sort());
      }),
      testRuns({ usual: 90, deep: 180 }),
    );
    for (const kind of ['grant', 'scope', 'window', 'inherit', 'amend', 'member', 'credential', 'provider'])
      expect([kind, (kinds.get(kind) ?? 0) > 0]).toEqual([kind, true]);
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
    // Two scopes in one more interval, one cell of which was asked for; three in it, and that scope in the one before.
    expect(
      explain(load(set), { ...request, at: cut(25) }).edits.map(({ change, opens }) => [change.kind, opens.cells]),
    ).toEqual([
      ['window', 1n],
      ['amend', 2n],
      ['grant', 3n],
    ]);
  });

  it('says of a change what it needs besides, and to what', () => {
    const texts = (more: Partial<ExplainRequest>): unknown =>
      explain(load(CREW_AND_ADA), { ...ASKING, identities: [ADA], ...more }).edits.map(({ text, change, opens }) => [
        text,
        change,
        opens.cells,
      ]);
    const grant = { kind: 'grant', namespace: '/a/b', scopes: ['resource:read'], inherit: false };
    const ofAda = { ...grant, identity: 'github:ada' };
    // Classes are `/a`, below it, and those of the root; the one instant cuts time in two.
    expect(texts({})).toEqual([
      ['grant resource:read at /a/b alone (`inherit: false`) to github:ada', ofAda, 1n],
      [
        'let grant `g0` count below /a too (`inherit: true`)',
        { kind: 'inherit', grant: { id: 'g0' }, inherit: true },
        1n,
      ],
      [
        'let grant `g1` count below /a too (`inherit: true`)',
        { kind: 'inherit', grant: { id: 'g1' }, inherit: true },
        1n,
      ],
    ]);
    expect(texts({ scope: 'resource:write', at: 10 as Instant })).toEqual([
      [
        'grant resource:write at /a/b alone (`inherit: false`) to github:ada',
        { ...ofAda, scopes: ['resource:write'] },
        1n,
      ],
      [
        'let grant `g0` be in force at all times and count below /a too (`inherit: true`)',
        { kind: 'amend', grant: { id: 'g0' }, notBefore: null, expires: null, inherit: true },
        4n,
      ],
      [
        'let grant `g1` carry resource:write too (`scopes: [resource:*]`) and count below /a too (`inherit: true`)',
        {
          kind: 'amend',
          grant: { id: 'g1' },
          scope: 'resource:write',
          scopes: ['resource:read', 'resource:write'],
          inherit: true,
        },
        4n,
      ],
    ]);
    expect(texts({ identities: [{ provider: 'visitor-group', subject: 'x' }], target: '/a', context: '/a' })).toEqual([
      [
        'declare the provider `visitor` in policy.yaml and add visitor-group:x to role `crew`',
        { kind: 'member', role: 'crew', identity: 'visitor-group:x', provider: 'visitor' },
        1n,
      ],
      [
        'declare the provider `visitor` in policy.yaml and grant resource:read at /a alone (`inherit: false`) to visitor-group:x',
        { ...grant, namespace: '/a', identity: 'visitor-group:x', provider: 'visitor' },
        1n,
      ],
    ]);
    // No provider can be declared under such a name.
    for (const provider of ['constructor', 'prototype', 'constructor-group'])
      expect(texts({ identities: [{ provider, subject: 'x' }], target: '/a', context: '/a' })).toEqual([]);
  });
});

/** At or below a namespace of a grant and often as somebody who holds it, where there is more to edit. */
function aimed(set: PolicySet, asked: ExplainRequest, aim: number): ExplainRequest {
  const grant = set.grants[aim % Math.max(1, set.grants.length)];
  if (grant === undefined) return asked;
  const target = aim % 2 === 0 ? grant.namespace : `${grant.namespace === '/' ? '' : grant.namespace}/z`;
  const [scope = asked.scope] = aim % 3 > 0 ? scopeNames(grant.scopes) : [];
  const holds = holdersIn(set, grant.principal);
  const identities = aim % 4 > 0 && holds.length > 0 ? [...holds.slice(0, 1), ...asked.identities] : asked.identities;
  const free = aim % 5 > 0 ? { credentialScopes: null, namespaceRestrictions: null } : {};
  const at = aim % 7 < 3 && grant.expires !== null ? grant.expires : asked.at;
  return { ...asked, ...free, identities, scope, target, context: target, at };
}

function holdersIn(set: PolicySet, principal: PolicyGrant['principal']): readonly Identity[] {
  if (principal.kind === 'identity') return [principal.identity];
  const role = set.roles.find(({ name }) => name === principal.role);
  return (role?.members ?? []).flatMap((member) => holdersIn(set, member));
}

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

/** The change without each of its parts, one at a time: a field of the grant, the provider, a field of the credential. */
function withoutOnePart(change: Change): readonly Change[] {
  const without = <T extends object>(from: T, key: string): T =>
    Object.fromEntries(Object.entries(from).filter(([name]) => name !== key)) as T;
  const left = ['provider', 'scopes', 'notBefore', 'inherit', 'credentialScopes', 'namespaceRestrictions'].filter(
    (key) => key in change && !(change.kind === 'grant' && key !== 'provider'),
  );
  const ofCredential = 'credential' in change ? Object.keys(change.credential ?? {}) : [];
  return [
    ...left.map((key) => without(change, key)),
    ...ofCredential.map((key) => ({ ...change, credential: without((change as PolicyChange).credential ?? {}, key) })),
  ];
}

function labelOf({ change }: Edit): string {
  switch (change.kind) {
    case 'grant':
      return `grant ${change.identity}`;
    case 'member':
      return `member ${change.role} ${change.identity}`;
    case 'credential':
      return 'credential';
    default: {
      const { grant, scope, notBefore, inherit } = change;
      const parts = [
        ...(scope === undefined ? [] : ['scope']),
        ...(notBefore === undefined ? [] : ['window']),
        ...(inherit === undefined ? [] : ['inherit']),
      ];
      expect(change.kind).toBe(parts.length === 1 ? parts[0] : 'amend');
      return `amend ${grant.id} ${parts.join()}`;
    }
  }
}

const KIND_OF_PARTS = new Map<number, GrantAmendment['kind']>([
  [1, 'scope'],
  [2, 'window'],
  [4, 'inherit'],
]);

/** Tries everything: which edits of one declaration give the actor the scope, with no part to spare, whatever its credential. */
function everyEdit(set: PolicySet, request: ExplainRequest): readonly string[] {
  const free = { ...request, credentialScopes: null, namespaceRestrictions: null };
  const paths = [request.context, request.target, ...(request.namespaceRestrictions ?? [])];
  if (paths.some((path) => !canonicalize(path).ok) || decideAs(set, request).decision === 'allow') return [];
  if (decideAs(set, free).decision === 'allow') return ['credential'];
  const scope = oracleScopes(set).find((name) => name === request.scope);
  if (scope === undefined) return [];
  const { at } = request;
  const actor = {
    kind: 'request',
    identities: request.identities,
    credentialScopes: ALL_SCOPES,
    namespaceRestrictions: null,
  } as const;
  const access = { kind: 'access', scope, context: pathOf(request.context), target: pathOf(request.target) } as const;
  const allows = (change: Change): boolean =>
    oracleDecide(applyEdit(set, change), { actor, request: access, at }).decision === 'allow';
  // No declaration makes the last of these a provider: the end of its name is kept for group claims.
  const nameable = request.identities.filter(({ provider }) => provider !== 'a-group-group');
  const identities = [...new Set(nameable.map(formatIdentity))];
  const additions: Change[] = identities.flatMap((identity): Change[] => [
    { kind: 'grant', identity, namespace: request.target as NamespacePath, scopes: [scope], inherit: false },
    ...set.roles.map((role): Change => ({ kind: 'member', role: role.name, identity })),
  ]);
  const amendments = set.grants.flatMap((grant): readonly GrantAmendment[] => {
    const scopes = scopeNames(unionScopes(grant.scopes, scopeBit(scope)));
    const parts = [{ scope, scopes }, { notBefore: null, expires: null }, { inherit: true as const }];
    const change = (mask: number): GrantAmendment =>
      parts
        .filter((_, i) => (mask & (1 << i)) !== 0)
        .reduce<GrantAmendment>((all, part) => ({ ...all, ...part }), { kind: 'amend', grant: { id: grant.id } });
    const allowing = [1, 2, 3, 4, 5, 6, 7].filter((mask) => allows(change(mask)));
    const minimal = allowing.filter((mask) => !allowing.some((other) => other !== mask && (other & mask) === other));
    return minimal.map((mask) => ({
      ...change(mask),
      kind: KIND_OF_PARTS.get(mask) ?? 'amend',
    }));
  });
  return [...additions.filter(allows), ...amendments].map((change) =>
    labelOf({ text: '', change, opens: { cells: 0n } }),
  );
}
