// Callers in plain JavaScript: a call of the wrong shape throws an error that says what is wrong, and nothing is decided. Something
// other than bytes in place of a snapshot is a fault like any other.
import { beforeAll, describe, expect, it, test } from '@jest/globals';
import { compilePolicy, whoCan } from '../../engine/compiler.js';
import {
  ALL_SCOPES,
  decide,
  decideRaw,
  judgeAs,
  judgeRaw,
  lineageOf,
  loadSnapshot,
  type Policy,
  resolveActor,
  scopeSetOf,
  unrestrictedPolicy,
  visibility,
} from '../../engine/index.js';
import { pathOf, policyOf } from './oracle/worlds.js';

const ANA = { provider: 'orcid', subject: 'ana' };
const GRANT = {
  principal: { kind: 'identity' as const, identity: ANA },
  namespace: pathOf('/labs'),
  scopes: scopeSetOf(['resource:read']),
  inherit: true,
  notBefore: null,
  expires: null,
  reason: null,
  place: null,
};

let policy: Policy;
beforeAll(() => {
  const compiled = compilePolicy(policyOf([], [GRANT]));
  const loaded = compiled.ok ? loadSnapshot(compiled.snapshot.bytes) : null;
  if (loaded?.ok !== true) throw new Error('the policy compiles and loads');
  policy = loaded.policy;
});

const REQUEST = { kind: 'access', scope: 'resource:read', context: '/labs', target: '/labs' };
const TYPED = { kind: 'request', identities: [ANA], credentialScopes: null, namespaceRestrictions: null };
const CANONICAL = { ...TYPED, credentialScopes: ALL_SCOPES };

/** Doors to a decision, as somebody without types calls them. */
const DOORS: readonly (readonly [string, object, (input: never) => unknown])[] = [
  ['decide', CANONICAL, (input) => decide(policy, input)],
  ['decideRaw', TYPED, (input) => decideRaw(policy, input)],
  ['judgeRaw', TYPED, (input) => judgeRaw(policy, input)],
];

const call = (door: (input: never) => unknown, actor: unknown, request: unknown = REQUEST): unknown =>
  door({ actor, request, at: 0 } as never);

const ACTOR = /^an actor is \{ kind: 'local' \}, or \{ kind: 'request', identities, /;
const RESTRICTIONS = /^namespaceRestrictions of an actor must be a list of namespaces, or null for no restrictions$/;

describe.each(DOORS)('%s', (_, right, door) => {
  it('answers what has the right shape', () => {
    expect(JSON.stringify(call(door, right))).toMatch(/allow/);
    expect(JSON.stringify(call(door, { kind: 'local' }))).toMatch(/allow/);
  });

  it.each<readonly [string, unknown, RegExp]>([
    ['D01 no actor', undefined, ACTOR],
    ['D01 null', null, ACTOR],
    ['a string', 'local', ACTOR],
    ['no kind', { kind: undefined }, ACTOR],
    ['no identities', { identities: undefined }, ACTOR],
    ['identities as strings', { identities: ['orcid:ana'] }, /^an identity is an object \{ provider, subject \}; /],
    ['an identity that is null', { identities: [null] }, /^an identity is an object \{ provider, subject \}; /],
    ['an identity without a provider', { identities: [{ subject: 'ana' }] }, /^an identity is an object \{ provider, /],
    [
      'an identity without a subject',
      { identities: [{ provider: 'orcid' }] },
      /^an identity is an object \{ provider, /,
    ],
    ['no credentialScopes', { credentialScopes: undefined }, /^credentialScopes of an actor must be a /],
    [
      'credentialScopes as one string',
      { credentialScopes: 'resource:read' },
      /^credentialScopes of an actor must be a /,
    ],
    ['no namespaceRestrictions', { namespaceRestrictions: undefined }, RESTRICTIONS],
    // Character by character its first is the root, which restricts nothing.
    ['namespaceRestrictions as one string', { namespaceRestrictions: '/archive' }, RESTRICTIONS],
  ])('throws for an actor with %s', (_name, part, message) => {
    const actor = typeof part === 'object' && part !== null ? { ...right, ...part } : part;
    expect(() => call(door, actor)).toThrow(
      expect.objectContaining({ name: 'TypeError', message: expect.stringMatching(message) }),
    );
  });

  it.each<readonly [string, unknown, RegExp]>([
    ['no kind', {}, /^the kind of a request must be 'access', 'create-namespace' or 'copy'$/],
    ['no target', { kind: 'access', scope: 'resource:read' }, /^a namespace must be a string$/],
    ['a number for a target', { ...REQUEST, target: 5 }, /^a namespace must be a string$/],
    ['no source', { kind: 'copy', destination: '/labs' }, /^a namespace must be a string$/],
    ['no scope', { kind: 'access', target: '/labs' }, /^a scope must be a string$/],
    ['a list for a scope', { ...REQUEST, scope: ['resource:read'] }, /^a scope must be a string$/],
  ])('throws for a request with %s', (_name, request, message) => {
    expect(() => call(door, right, request)).toThrow(message);
  });

  // All but the date would be compared as 0 or 1: somebody whose grant ended in 1980 would get in.
  it.each([undefined, null, '', '0', true, [], 5n, new Date(0)])('throws for a time that is no number: %p', (at) => {
    expect(() => door({ actor: right, request: REQUEST, at } as never)).toThrow(
      /^a time must be a number of milliseconds/,
    );
  });
});

test('an actor is checked when it is resolved, and when visibility is asked', () => {
  const actor = { ...CANONICAL, namespaceRestrictions: '/archive' } as never;
  const request = { family: 'resource', context: pathOf('/labs'), reach: 'exact' } as const;
  expect(() => resolveActor(policy, actor)).toThrow(RESTRICTIONS);
  expect(() => visibility(policy, { actor, request, at: 0 as never })).toThrow(RESTRICTIONS);
});

test('who-can answers for a path as it is typed what it answers for the path', () => {
  const holders = [{ identity: 'orcid:ana', grants: [{ id: 'g0' }] }];
  for (const namespace of ['/labs', 'labs', '/labs/', 'labs/'])
    expect(whoCan(policy, { scope: 'resource:read', namespace, at: 0 } as never)).toEqual(holders);
});

// Text that was split where there was none gives it.
test('a restriction that is the empty string allows nothing', () => {
  const actor = { ...CANONICAL, namespaceRestrictions: [''] };
  const request = { family: 'resource', context: pathOf('/labs'), reach: 'subtree' } as const;
  expect(decide(policy, { actor, request: REQUEST, at: 0 } as never)).toEqual({
    decision: 'deny',
    step: 'restriction',
  });
  for (const ground of [policy, unrestrictedPolicy()])
    expect(visibility(ground, { actor, request, at: 0 } as never)).toEqual({ kind: 'none', step: 'restriction' });
});

describe('visibility', () => {
  const see = (actor: unknown, request: object, ground = policy): unknown =>
    visibility(ground, { actor, request: { family: 'resource', context: '/labs', ...request }, at: 0 } as never);

  it.each([undefined, null, 'Exact', 'all'])(
    'throws for a reach that is none, and does not take the widest: %p',
    (reach) => {
      for (const actor of [CANONICAL, { kind: 'local' }])
        expect(() => see(actor, { reach })).toThrow(/^the reach of a request must be 'lineage', 'exact' or 'subtree'$/);
    },
  );

  it.each(['lineage', 'exact', 'subtree'])('shows nothing of what is no family or at what is no path: %s', (reach) => {
    for (const actor of [CANONICAL, { kind: 'local' }]) {
      expect(see(actor, { reach, family: 'Resource' })).toEqual({ kind: 'none', step: 'unknown_scope' });
      for (const ground of [policy, unrestrictedPolicy()])
        for (const context of ['', 'Labs', '/Labs'])
          expect(see(actor, { reach, context }, ground)).toEqual({ kind: 'none', step: 'canonicalize' });
    }
  });

  it('takes a local actor that has nothing but its kind, as decisions do', () => {
    const resolved = resolveActor(policy, { kind: 'local' } as never);
    expect(judgeAs(resolved, { request: REQUEST, at: 0 } as never)).toBe('allow');
    expect(see({ kind: 'local' }, { reach: 'subtree', context: '/' })).toEqual({ kind: 'all' });
  });
});

test.each(['', 'labs', 'labs/optics'])('the lineage of what is no path has an end: %p', (text) => {
  expect(lineageOf(text as never)).toEqual(expect.arrayContaining(['/', text]));
});

test.each<readonly [string, unknown]>([
  ['a string', '{"seal":"sha256:"}'],
  ['nothing', undefined],
  ['null', null],
  ['an object', {}],
  ['a list of numbers', [123, 125]],
  ['an ArrayBuffer', new ArrayBuffer(4)],
])('loadSnapshot of %s is a fault', (_, given) => {
  expect(loadSnapshot(given as never)).toEqual({
    ok: false,
    fault: {
      code: 'snapshot.malformed',
      message: 'what was given is not bytes: pass the file as a Uint8Array or a Buffer',
    },
  });
});
