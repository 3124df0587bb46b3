// Each step of a decision at every door, with what the answers cite, hold and show, and what proofs say of the same policy. Small enough
// to be read, and quick: generated worlds meet all of this, too, but seldom one thing alone.
import { describe, expect, it } from '@jest/globals';
import { explain, policyRows, whatCan, whoCan } from '../../engine/compiler.js';
import {
  type Actor,
  adopt,
  ALL_SCOPES,
  carriedNames,
  compareTexts,
  decide,
  decideAs,
  decideRaw,
  heldScopes,
  heldScopesAs,
  instantOf,
  judgeAs,
  judgeRaw,
  LOCAL_ACTOR,
  namespaceDigests,
  type NamespacePath,
  packedOf,
  type Policy,
  type RawRequest,
  type Reach,
  type Request,
  resolveActor,
  SCOPES,
  scopeSetOf,
  unrestrictedLike,
  unrestrictedPolicy,
  verifyDecisions,
  visibility,
  visibilityAs,
} from '../../engine/index.js';
import type { PolicyGrant, PolicySet } from '../../engine/model/policy-set.js';
import { MANY, pathOf, policyOf } from './oracle/worlds.js';
import { load } from './prove/brute.js';

const AT = instantOf(0);
const LATE = instantOf(10);
const who = (subject: string, provider = 'orcid') => ({ provider, subject });
const grantTo = (
  subject: string,
  namespace: string,
  scopes: readonly string[],
  more: Partial<PolicyGrant> = {},
): Omit<PolicyGrant, 'id'> => ({
  ...{ principal: { kind: 'identity', identity: who(subject) }, namespace: pathOf(namespace) },
  ...{ scopes: scopeSetOf(scopes as never), inherit: true, notBefore: null, expires: null, reason: null, place: null },
  ...more,
});

const SET: PolicySet = {
  ...policyOf(
    [
      {
        ...{ name: 'crew', description: null, place: null },
        members: [{ kind: 'identity', identity: who('bob'), place: null }],
      },
    ],
    [
      grantTo('ada', '/', ['namespace:read']),
      grantTo('ada', '/a', ['resource:read', 'resource:write', 'namespace:write']),
      grantTo('ada', '/a', ['resource:read'], { inherit: false }),
      grantTo('ada', '/a/b', ['resource:read', 'process-run:read'], { expires: LATE }),
      grantTo('ada', '/c', ['resource:write']),
      grantTo('bob', '/a/b', ['resource:read'], { principal: { kind: 'role', role: 'crew' } }),
      grantTo('ada', '/z', ['resource:read'], {
        principal: { kind: 'identity', identity: who('ada', 'github') },
        inherit: false,
      }),
      grantTo('eve', '/a', ['resource:read'], { notBefore: LATE }),
    ],
  ),
  exclusive: [{ identities: [who('ada'), who('ann'), who('abe')], place: null }],
};
const policy = load(SET);

function actorOf(
  subjects: string,
  { scopes = null, under = null }: { scopes?: readonly string[] | null; under?: readonly string[] | null } = {},
): Actor {
  return {
    kind: 'request',
    identities:
      subjects === '' ? [] : subjects.split(' ').map((text) => who(...(text.split('@') as [string, string?]))),
    credentialScopes: scopes === null ? ALL_SCOPES : scopeSetOf(scopes as never),
    namespaceRestrictions: under?.map(pathOf) ?? null,
  };
}

const access = (scope: string, target: string, context = target): Request =>
  ({ kind: 'access', scope, target, context }) as never;
const copy = (source: string, destination: string): Request => ({ kind: 'copy', source, destination }) as never;
const create = (namespace: string): Request => ({ kind: 'create-namespace', namespace }) as never;

/** What all doors say, which must be the same. */
function outcomeOf(actor: Actor, request: Request, { at = AT, under = policy }: { at?: number; under?: Policy } = {}) {
  const input = { actor, request, at: at as never };
  const raw = {
    ...input,
    actor:
      actor.kind === 'local'
        ? { kind: 'local' as const }
        : {
            ...{ kind: 'request' as const, identities: actor.identities },
            credentialScopes:
              actor.credentialScopes === ALL_SCOPES ? null : carriedNames(actor.credentialScopes, under),
            namespaceRestrictions: actor.namespaceRestrictions,
          },
  };
  const resolved = resolveActor(under, actor);
  const decision = decide(under, input);
  expect(decideRaw(under, raw)).toEqual(decision);
  expect(decideAs(resolved, input)).toEqual(decision);
  const verdict = decision.decision === 'allow' ? 'allow' : decision.step;
  expect([judgeRaw(under, raw), judgeAs(resolved, input)]).toEqual([verdict, verdict]);
  if (decision.decision === 'allow') return decision.grants.map(({ id }) => id);
  const { decision: answer, step, cause, identities } = decision;
  expect(answer).toBe('deny');
  return { step, ...(cause === undefined ? {} : { cause }), ...(identities === undefined ? {} : { identities }) };
}

const ADA = actorOf('ada');
const [ONE, TWO] = ['orcid:ada', 'orcid:ann'];

describe('a decision', () => {
  it.each<readonly [string, Actor, Request, object]>([
    ['a grant at the place', ADA, access('resource:write', '/c'), ['g4']],
    ['each grant that carries it, once', ADA, access('resource:read', '/a'), ['g1', 'g2']],
    ['grants from above, and not those that count only there', ADA, access('resource:read', '/a/b/c'), ['g1', 'g3']],
    ['a role', actorOf('bob'), access('resource:read', '/a/b'), ['g5']],
    ['one of several identities', actorOf('nobody bob'), access('resource:read', '/a/b'), ['g5']],
    ['two of them, in the order of ids', actorOf('bob ada'), access('resource:read', '/a/b'), ['g1', 'g3', 'g5']],
    ['the last of many', actorOf(`${'nobody '.repeat(40)}bob`), access('resource:read', '/a/b'), ['g5']],
    ['the identity of its provider', actorOf('ada@github'), access('resource:read', '/z'), ['g6']],
    ['not one of another', ADA, access('resource:read', '/z'), { step: 'no_matching_grant' }],
    ['nobody', actorOf(''), access('resource:read', '/a'), { step: 'no_matching_grant' }],
    ['no scope', ADA, access('resource:delete', '/a'), { step: 'unknown_scope' }],
    ['no path', ADA, access('resource:read', '/A'), { step: 'canonicalize' }],
    ['no path beside a context that is one', ADA, access('resource:read', '/A', '/a'), { step: 'canonicalize' }],
    ['no path of a context', ADA, access('resource:read', '/a', '/A'), { step: 'canonicalize' }],
    ['a scope that a family of no policy has', ADA, access('f00:do', '/a'), { step: 'unknown_scope' }],
    ['below the restriction', actorOf('ada', { under: ['/c', '/a'] }), access('resource:read', '/a/b'), ['g1', 'g3']],
    ['outside of it', actorOf('ada', { under: ['/c'] }), access('resource:read', '/a'), { step: 'restriction' }],
    ['above it', actorOf('ada', { under: ['/a/b'] }), access('resource:read', '/a'), { step: 'restriction' }],
    ['no restriction that allows anything', actorOf('ada', { under: [] }), access('resource:read', '/a'), { step: 'restriction' }], // prettier-ignore
    ['what the credential carries', actorOf('ada', { scopes: ['resource:read'] }), access('resource:read', '/c/a'), { step: 'no_matching_grant' }], // prettier-ignore
    ['and what it does not', actorOf('ada', { scopes: ['resource:read'] }), access('resource:write', '/c'), { step: 'credential_scope' }], // prettier-ignore
    ['from below', ADA, access('namespace:read', '/', '/a'), ['g0']],
    ['a write from below', ADA, access('resource:write', '/c', '/c/d'), { step: 'target_relationship' }],
    ['beside', ADA, access('namespace:read', '/c', '/a'), { step: 'target_relationship' }],
    ['a copy', ADA, copy('/a/b', '/c'), ['g1', 'g3', 'g4']],
    ['a copy of nothing readable', ADA, copy('/c', '/c'), { step: 'source_read', cause: 'no_matching_grant' }],
    ['a copy to elsewhere', ADA, copy('/a', '/'), { step: 'destination_write', cause: 'no_matching_grant' }],
    ['a copy without reading', actorOf('ada', { scopes: ['resource:write'] }), copy('/a', '/c'), { step: 'source_read', cause: 'credential_scope' }], // prettier-ignore
    ['a copy without writing', actorOf('ada', { under: ['/a'] }), copy('/a', '/c'), { step: 'destination_write', cause: 'restriction' }], // prettier-ignore
    ['a copy of no path', ADA, copy('/A', '/c'), { step: 'canonicalize' }],
    ['a copy to no path', ADA, copy('/c', '/A'), { step: 'canonicalize' }],
    ['a new namespace', ADA, create('/a/new'), ['g1']],
    ['where it may not be', ADA, create('/c/new'), { step: 'no_matching_grant' }],
    ['no name for it', ADA, create('/a/N'), { step: 'canonicalize' }],
    ['the root', ADA, create('/'), { step: 'canonicalize' }],
    ['two that exclude each other', actorOf('ann bob ada'), access('resource:read', '/a'), { step: 'exclusive', identities: [ONE, TWO] }], // prettier-ignore
    ['the first two of three', actorOf('ann ada abe'), copy('/a', '/c'), { step: 'exclusive', identities: ['orcid:abe', ONE] }], // prettier-ignore
    ['two of them who create', actorOf('ann ada'), create('/a/new'), { step: 'exclusive', identities: [ONE, TWO] }],
    ['two of them, and no path', actorOf('ada ann'), access('resource:read', '/A'), { step: 'canonicalize' }],
    ['two of them, and no scope', actorOf('ada ann'), access('resource:delete', '/a'), { step: 'unknown_scope' }],
    ['one of them twice', actorOf('ada ada'), access('resource:write', '/c'), ['g4']],
    ['the local actor', LOCAL_ACTOR, access('resource:write', '/x'), []],
    ['the local actor from below', LOCAL_ACTOR, access('resource:write', '/', '/x'), { step: 'target_relationship' }],
    ['a copy of the local actor', LOCAL_ACTOR, copy('/x', '/y'), []],
    ['what the local actor creates', LOCAL_ACTOR, create('/x'), []],
  ])('%s', (_, actor, request, expected) => {
    expect(outcomeOf(actor, request)).toEqual(expected);
    // And again after somebody who holds more.
    outcomeOf(actorOf('ada bob ada@github'), access('resource:read', '/a/b'));
    expect(outcomeOf(actor, request)).toEqual(expected);
  });

  it('is made at its instant, and none is made at what is no instant', () => {
    const [eve, request] = [actorOf('eve'), access('resource:read', '/a')];
    const denied = { step: 'no_matching_grant' };
    expect([AT, LATE].map((at) => outcomeOf(eve, request, { at }))).toEqual([denied, ['g7']]);
    expect([9, 10].map((at) => outcomeOf(ADA, access('process-run:read', '/a/b'), { at }))).toEqual([['g3'], denied]);
    for (const at of [NaN, Infinity]) {
      expect(outcomeOf(ADA, access('resource:write', '/c'), { at })).toEqual(denied);
      expect(heldScopes(policy, { actor: ADA, namespace: pathOf('/c'), at: at as never })).toEqual([]);
      const asked = { family: 'resource', action: 'write', context: pathOf('/c'), reach: 'subtree' } as const;
      expect(visibility(policy, { actor: ADA, request: asked, at: at as never })).toEqual({ kind: 'none', ...denied });
    }
  });

  it('has a restriction as typed that is no path for no restriction of anything', () => {
    const actor = { kind: 'request', identities: [who('ada')], credentialScopes: null } as const;
    const request: RawRequest = { kind: 'access', scope: 'resource:write', target: 'c/' };
    const told = (namespaceRestrictions: readonly string[] | null): unknown => {
      const input = { actor: { ...actor, namespaceRestrictions }, request, at: AT };
      const decision = decideRaw(policy, input);
      expect(judgeRaw(policy, input)).toBe(decision.decision === 'allow' ? 'allow' : decision.step);
      return decision.decision === 'allow' ? 'allow' : decision.step;
    };
    expect(told(['/x', 'c'])).toBe('allow');
    expect([['/A'], ['/c', '/A'], ['/a', '/b'], ['/a'], []].map(told)).toEqual([
      ...['canonicalize', 'canonicalize', 'restriction', 'restriction', 'restriction'],
    ]);
    expect(told(null)).toBe('allow');
  });

  it('needs no grant under the unrestricted policy, but a credential that carries it', () => {
    const under = unrestrictedPolicy();
    expect(outcomeOf(actorOf('ada ann'), access('resource:write', '/x'), { under })).toEqual([]);
    expect(outcomeOf(actorOf(''), copy('/x', '/y'), { under })).toEqual([]);
    const narrow = actorOf('', { scopes: ['resource:read'], under: ['/x'] });
    expect(outcomeOf(narrow, access('resource:write', '/x'), { under })).toEqual({ step: 'credential_scope' });
    expect(outcomeOf(narrow, access('resource:read', '/y'), { under })).toEqual({ step: 'restriction' });
    expect(outcomeOf(narrow, access('resource:read', '/x'), { under, at: NaN })).toEqual([]);
  });
});

describe('what is held at a place', () => {
  const held = (actor: Actor, namespace: string, under = policy, at = AT): unknown => {
    const place = { namespace: namespace as NamespacePath, at };
    const answer = heldScopes(under, { actor, ...place });
    expect(heldScopesAs(resolveActor(under, actor), place)).toEqual(answer);
    return answer.map(({ scope, grants }) => [scope, ...grants.map(({ id }) => id)].join(' '));
  };

  it('is each scope, with its grants, and nothing of somebody else', () => {
    const all = [
      ...['namespace:read g0', 'namespace:write g1', 'process-run:read g3', 'resource:read g1 g3', 'resource:write g1'],
    ];
    expect(held(ADA, '/a/b')).toEqual(all);
    held(actorOf('bob ada'), '/a/b');
    expect(held(actorOf('bob'), '/a/b')).toEqual(['resource:read g5']);
    expect(held(ADA, '/a/b', policy, LATE)).toEqual(all.flatMap((text) => (text.includes('process') ? [] : text.replace(' g3', '')))); // prettier-ignore
    expect(held(actorOf('bob'), '/a')).toEqual([]);
  });

  it('is what the credential leaves of it', () => {
    expect(held(actorOf('ada', { scopes: ['resource:write'] }), '/a')).toEqual(['resource:write g1']);
    expect(held(actorOf('ada', { under: ['/c'] }), '/a')).toEqual([]);
    expect(held(actorOf('ada', { under: ['/c'] }), '/c/d')).toEqual(['namespace:read g0', 'resource:write g4']);
    expect(held(actorOf('ada ann'), '/a')).toEqual([]);
    expect(held(ADA, '/A')).toEqual([]);
  });

  it('is everything for the local actor and under the unrestricted policy', () => {
    const scopes = [...SCOPES].sort(compareTexts);
    expect(held(LOCAL_ACTOR, '/x')).toEqual(scopes);
    expect(held(actorOf(''), '/x', unrestrictedPolicy())).toEqual(scopes);
    expect(held(actorOf('', { scopes: ['resource:read'] }), '/x', unrestrictedPolicy())).toEqual(['resource:read']);
    expect(held(LOCAL_ACTOR, '/A')).toEqual([]);
  });

  it('is in the order of names, with scopes that policies declare', () => {
    const many = load({
      ...policyOf([], [grantTo('ada', '/a', ['f17:do', 'f00:do', 'resource:read'])]),
      families: MANY,
    });
    expect(held(ADA, '/a', many)).toEqual(['f00:do g0', 'f17:do g0', 'resource:read g0']);
    expect(held(LOCAL_ACTOR, '/a', many)).toEqual([...many.scopes].sort(compareTexts));
    expect(many.scopes.length).toBe(64);
    expect(held(actorOf(''), '/a', unrestrictedLike(many))).toEqual([...many.scopes].sort(compareTexts));
    expect(unrestrictedLike(many).families).toEqual(many.families);
  });
});

describe('what is visible', () => {
  const seen = (actor: Actor, context: string, reach: Reach, more: object = {}, under = policy): unknown => {
    const input = { request: { family: 'resource', context, reach, ...more } as never, at: AT };
    const answer = visibility(under, { actor, ...input });
    expect(visibilityAs(resolveActor(under, actor), input)).toEqual(answer);
    return answer.kind === 'some' ? [answer.exact.join(' '), answer.subtrees.join(' ')] : answer.kind === 'all' ? 'all' : answer.step; // prettier-ignore
  };

  it.each<readonly [string, Actor, string, Reach, unknown]>([
    ['one namespace', ADA, '/a', 'exact', ['/a', '']],
    ['not one that is not held', ADA, '/b', 'exact', 'no_matching_grant'],
    ['that alone, though the one above is held too', ADA, '/a/b', 'exact', ['/a/b', '']],
    ['the line above, as far as it is held', ADA, '/a/b', 'lineage', ['/a /a/b', '']],
    ['a subtree', ADA, '/a/b', 'subtree', ['', '/a/b']],
    ['what is held in it', ADA, '/', 'subtree', ['', '/a']],
    ['single namespaces in it', actorOf('ada@github bob'), '/', 'subtree', ['/z', '/a/b']],
    ['a single namespace', actorOf('ada@github'), '/z', 'subtree', ['/z', '']],
    ['nothing below it', actorOf('ada@github'), '/z/z', 'subtree', 'no_matching_grant'],
    ['nothing beside it', actorOf('bob'), '/b', 'subtree', 'no_matching_grant'],
    ['what is held under restrictions', actorOf('ada', { under: ['/a/x', '/a/b', '/a/b/c', '/c'] }), '/', 'subtree', ['', '/a/b /a/x']], // prettier-ignore
    ['the context, if the restriction is above it', actorOf('ada', { under: ['/a'] }), '/a/b', 'subtree', ['', '/a/b']],
    ['the context, if one of several is', actorOf('ada', { under: ['/a', '/c'] }), '/a/b', 'subtree', ['', '/a/b']],
    ['what one of several identities holds', actorOf('ada bob'), '/a', 'subtree', ['', '/a']],
    ['what one of them inherits', actorOf('ada bob'), '/a/x', 'subtree', ['', '/a/x']],
    ['nothing that is held outside of the context', actorOf('ada@github bob'), '/a', 'subtree', ['', '/a/b']],
    ['nothing outside of it', actorOf('ada', { under: ['/c'] }), '/a', 'subtree', 'restriction'],
    ['the line above within it', actorOf('ada', { under: ['/a/b'] }), '/a/b', 'lineage', ['/a/b', '']],
    ['nothing that the credential lacks', actorOf('ada', { scopes: ['resource:write'] }), '/a', 'subtree', 'credential_scope'], // prettier-ignore
    ['no line of it', actorOf('ada', { scopes: ['resource:write'] }), '/a', 'lineage', 'credential_scope'],
    ['nothing for two that exclude each other', actorOf('ada ann'), '/a', 'subtree', 'exclusive'],
    ['no line for them', actorOf('ada ann'), '/a', 'lineage', 'exclusive'],
    ['all for the local actor', LOCAL_ACTOR, '/', 'subtree', 'all'],
    ['a subtree for the local actor', LOCAL_ACTOR, '/x', 'subtree', ['', '/x']],
  ])('is %s', (_, actor, context, reach, expected) => {
    expect(seen(actor, context, reach)).toEqual(expected);
    seen(actorOf('ada bob ada@github'), '/', 'subtree');
    expect(seen(actor, context, reach)).toEqual(expected);
  });

  it('is of its family and its action', () => {
    expect(seen(ADA, '/a/b', 'lineage', { action: 'write' })).toEqual(['/a/b', '']);
    expect(seen(ADA, '/', 'subtree', { action: 'write' })).toEqual(['', '/a /c']);
    expect(seen(ADA, '/', 'subtree', { family: 'namespace' })).toBe('all');
    expect(seen(ADA, '/', 'subtree', { family: 'process-run' })).toEqual(['', '/a/b']);
    expect(seen(ADA, '/a/b/c', 'lineage', { family: 'process-run' })).toEqual(['/a/b /a/b/c', '']);
    expect(seen(ADA, '/a/b/c', 'lineage', { family: 'process-template' })).toBe('no_matching_grant');
    expect(seen(ADA, '/', 'subtree', { family: 'Resource' })).toBe('unknown_scope');
  });

  it('is each namespace once, and nothing beside the context or of somebody else', () => {
    const read = ['resource:read'];
    const once = { inherit: false };
    const under = load(
      policyOf(
        [],
        [
          ...[grantTo('ada', '/a/x', read), grantTo('ada', '/b', read), grantTo('ada', '/b/c', read)],
          ...[grantTo('ada', '/d', read, once), grantTo('bob', '/d', read, once), grantTo('cat', '/e', read)],
          grantTo('dan', '/', ['process-run:read']),
        ],
      ),
    );
    const shown = (subjects: string, context: string, only?: readonly string[]): unknown =>
      seen(actorOf(subjects, { under: only ?? null }), context, 'subtree', {}, under);
    expect(shown('ada', '/')).toEqual(['/d', '/a/x /b']);
    expect(shown('ada bob', '/')).toEqual(['/d', '/a/x /b']);
    expect(shown('bob', '/')).toEqual(['/d', '']);
    expect(shown('ada', '/a')).toEqual(['', '/a/x']);
    expect(shown('ada', '/b', ['/b/c', '/d'])).toEqual(['', '/b/c']);
    const none = 'canonicalize';
    expect(seen(actorOf('dan'), '/A', 'lineage', { family: 'process-run' }, under)).toBe(none);
  });

  it('is all or what restrictions leave under the unrestricted policy', () => {
    expect(seen(actorOf(''), '/', 'subtree', {}, unrestrictedPolicy())).toBe('all');
    const narrow = actorOf('', { under: ['/b', '/a'] });
    expect(seen(narrow, '/', 'subtree', {}, unrestrictedPolicy())).toEqual(['', '/a /b']);
  });
});

describe('a loaded policy', () => {
  it('says what it is, and cannot be changed', () => {
    expect(policy).toMatchObject({ kind: 'compiled', name: 'world', families: [], providers: ['github', 'orcid'] });
    expect(policy.scopes).toEqual([...SCOPES].sort(compareTexts));
    expect(policy.counts).toEqual({ identities: 6, roles: 1, grants: 8, namespaces: 5 });
    const own = load({ ...SET, families: MANY });
    const parts = [policy, policy.counts, policy.scopes, policy.providers, own.families, own.families[0], own.families[0]?.actions]; // prettier-ignore
    expect(parts.map(Object.isFrozen)).toEqual(parts.map(() => true));
  });

  it('is proved by the same tables: who holds, what somebody holds, and why', () => {
    const asked = { scope: 'resource:read', namespace: pathOf('/a/b'), at: AT } as const;
    const holders = whoCan(policy, asked).map(({ identity, grants }) => [identity, ...grants.map(({ id }) => id)]);
    expect(holders).toEqual([
      ['orcid:ada', 'g1', 'g3'],
      ['orcid:bob', 'g5'],
    ]);
    const regions = whatCan(policy, { identities: [who('ada', 'github')], at: AT });
    expect(regions).toMatchObject([{ namespace: '/z', extent: 'exact', scopes: ['resource:read'] }]);
    const why = explain(policy, {
      ...{ identities: [who('ada'), who('bob')], credentialScopes: null, namespaceRestrictions: null, at: AT },
      ...{ scope: 'resource:read', context: '/a/b', target: '/a/b' },
    });
    expect([why.decision, why.grants.map(({ id }) => id)]).toEqual(['allow', ['g1', 'g3', 'g5']]);
    const rows = policyRows(policy);
    expect(rows.grants.map(({ id, namespace }) => [id, namespace])).toEqual(
      SET.grants.map(({ id, namespace }) => [id, namespace]),
    );
    expect(verifyDecisions(policy)).toBeNull();
    const listing = namespaceDigests(policy);
    expect(listing.ok && listing.namespaces.map(({ namespace }) => namespace)).toEqual([
      ...['/', '/a', '/a/b', '/c', '/z'],
    ]);
  });

  it('decides alike in another thread, which proves nothing of it', () => {
    const packed = packedOf(policy);
    if (packed === null) throw new Error('it has a table');
    const adopted = adopt(structuredClone(packed));
    expect({ ...adopted }).toEqual({ ...policy });
    expect([adopted, adopted.counts, adopted.providers].map(Object.isFrozen)).toEqual([true, true, true]);
    const request = access('resource:read', '/a/b');
    expect(outcomeOf(ADA, request, { under: adopted })).toEqual(['g1', 'g3']);
    for (const prove of [verifyDecisions, namespaceDigests, policyRows])
      expect(() => prove(adopted)).toThrow('what is proved of a policy needs it loaded in this thread');
    expect(packedOf(unrestrictedPolicy())).toBeNull();
  });

  it('is no copy of one', () => {
    const input = { actor: ADA, request: access('resource:read', '/a'), at: AT };
    expect(() => decide({ ...policy }, input)).toThrow('a policy handle comes from loading');
    expect(() => decideAs({} as never, input)).toThrow('a resolved actor comes from resolving');
  });

  it('is not proved to anybody where it needs no grants', () => {
    const all = unrestrictedPolicy();
    expect(verifyDecisions(all)).toBeNull();
    expect(namespaceDigests(all)).toEqual({ ok: true, namespaces: [{ namespace: '/', digest: all.decisions }] });
    expect(() => whoCan(all, { scope: 'resource:read', namespace: pathOf('/'), at: AT })).toThrow(
      'only a compiled policy has grants',
    );
    expect(all).toMatchObject({
      ...{ kind: 'unrestricted', name: 'unrestricted', format: 3, families: [], providers: [], checks: null },
      counts: { identities: 0, roles: 0, grants: 0, namespaces: 0 },
    });
  });
});
