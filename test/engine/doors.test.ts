// Every way to ask for a decision gives the same answer: with canonical parts, with texts as typed, with a resolved actor, with grants
// and without. All of them accept only handles that the engine has made, and nothing that merely looks like one.
import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import * as compiler from '../../engine/compiler.js';
import * as engine from '../../engine/index.js';
import {
  type Actor,
  canonicalize,
  decide,
  decideAs,
  decideRaw,
  type DecideInput,
  heldScopes,
  heldScopesAs,
  judgeAs,
  judgeRaw,
  LOCAL_ACTOR,
  type Policy,
  type RawActor,
  type RawRequest,
  type Request,
  type ResolvedActor,
  resolveActor,
  unrestrictedPolicy,
  visibility,
  visibilityAs,
  carriedNames,
} from '../../engine/index.js';
import { fromRoot } from '../support/root.js';
import { anyActor, anyInstant, anyPath, anyScope, pathOf, policyOf, exclusiveWorld as world } from './oracle/worlds.js';
import { load } from './table-world.js';

const anyRequest: fc.Arbitrary<Request> = fc.oneof(
  fc.record({
    kind: fc.constant('access' as const),
    scope: anyScope,
    context: anyPath,
    target: anyPath,
  }),
  fc.record({ kind: fc.constant('create-namespace' as const), namespace: anyPath }),
  fc.record({ kind: fc.constant('copy' as const), source: anyPath, destination: anyPath }),
);
const anyAsked = fc.record({ actor: anyActor, request: anyRequest, at: anyInstant });

/** The same text, or one that canonicalization makes the same of. */
const spellings = [(path: string) => path, (path: string) => `${path}/`, (path: string) => path.slice(1)];

const rawActor = (actor: Actor, policy: Policy, spell: (path: string) => string): RawActor =>
  actor.kind === 'local'
    ? { kind: 'local' }
    : {
        kind: 'request',
        identities: actor.identities,
        credentialScopes: [...carriedNames(actor.credentialScopes, policy), 'openid', 'resource:delete'],
        namespaceRestrictions: actor.namespaceRestrictions?.map((path) => respell(path, spell)) ?? null,
      };

const respell = (path: string, spell: (path: string) => string): string => (path === '/' ? path : spell(path));

function rawRequest(request: Request, spell: (path: string) => string): RawRequest {
  switch (request.kind) {
    case 'access':
      return { ...request, context: respell(request.context, spell), target: respell(request.target, spell) };
    case 'create-namespace':
      return { ...request, namespace: respell(request.namespace, spell) };
    case 'copy':
      return { ...request, source: respell(request.source, spell), destination: respell(request.destination, spell) };
  }
}

const outcome = (decision: ReturnType<typeof decide>): string =>
  decision.decision === 'allow' ? 'allow' : decision.step;

describe('the doors', () => {
  it('answer alike, however the texts are spelled', () => {
    fc.assert(
      fc.property(world, fc.array(anyAsked, { minLength: 10, maxLength: 20 }), (set, asked) => {
        const policy = load(set);
        const resolved = asked.map(({ actor }) => resolveActor(policy, actor));
        asked.forEach((input, i) => {
          const own = resolved[i] as ResolvedActor;
          const expected = decide(policy, input);
          expect(decideAs(own, input)).toEqual(expected);
          expect(judgeAs(own, input)).toBe(outcome(expected));
          for (const spell of spellings) {
            const raw = {
              ...input,
              actor: rawActor(input.actor, policy, spell),
              request: rawRequest(input.request, spell),
            };
            expect(decideRaw(policy, raw)).toEqual(expected);
            expect(judgeRaw(policy, raw)).toBe(outcome(expected));
            expect(decideAs(own, raw)).toEqual(expected);
          }
        });
      }),
      { numRuns: 60 },
    );
  });

  it('say `canonicalize` for any string that is not a path, before they look at the scope', () => {
    const policy = load(policyOf([], []));
    const actor = { kind: 'request', identities: [], credentialScopes: null, namespaceRestrictions: null } as const;
    const at = 0 as DecideInput['at'];
    const request = { kind: 'access', scope: 'resource:read', target: '/a' } as const;
    const wrong = { decision: 'deny', step: 'canonicalize' };
    for (const text of ['', '//', '/.', '/A', '/a//b', `/${'a'.repeat(64)}`]) {
      expect(canonicalize(text).ok).toBe(false);
      for (const asked of [
        { actor, request: { ...request, target: text } },
        { actor, request: { ...request, scope: 'no-scope', context: text } },
        { actor: { ...actor, namespaceRestrictions: ['/a', text] }, request: { ...request, scope: 'no-scope' } },
        { actor, request: { kind: 'copy', source: '/a', destination: text } as const },
        { actor, request: { kind: 'create-namespace', namespace: text } as const },
      ]) {
        expect(decideRaw(policy, { ...asked, at })).toEqual(wrong);
        expect(judgeRaw(policy, { ...asked, at })).toBe('canonicalize');
      }
    }
    expect(judgeRaw(policy, { actor, request: { ...request, scope: 'resource:delete' }, at })).toBe('unknown_scope');
  });

  it('show nothing at a context that is not a path', () => {
    const ada = { provider: 'orcid', subject: 'ada' };
    const grant = { namespace: pathOf('/a'), scopes: 1023 as never, inherit: true, notBefore: null, expires: null };
    const principal = { kind: 'identity', identity: ada } as const;
    const policy = load(policyOf([], [{ ...grant, principal, reason: null, place: null }]));
    const actor = { ...LOCAL_ACTOR, kind: 'request', identities: [ada] } as const;
    for (const context of ['/a//b', '/A', `/a/${'x'.repeat(64)}`] as never[]) {
      const request = { family: 'resource', context, reach: 'subtree' } as const;
      const seen = visibility(policy, { actor, request, at: 0 as DecideInput['at'] });
      expect(seen).toEqual({ kind: 'none', step: 'canonicalize' });
    }
  });

  it('show and list for a resolved actor what they do for the actor', () => {
    fc.assert(
      fc.property(world, anyActor, anyActor, anyPath, anyInstant, (set, actor, other, context, at) => {
        const policy = load(set);
        const resolved = resolveActor(policy, actor);
        // Another actor that is resolved, or decided for, in between leaves it as it is.
        resolveActor(policy, other);
        decide(policy, { actor: other, request: { kind: 'create-namespace', namespace: pathOf('/a/b') }, at });
        expect(heldScopesAs(resolved, { namespace: context, at })).toEqual(
          heldScopes(policy, { actor, namespace: context, at }),
        );
        for (const reach of ['lineage', 'exact', 'subtree'] as const) {
          const request = { family: 'resource', context, reach } as const;
          expect(visibilityAs(resolved, { request, at })).toEqual(visibility(policy, { actor, request, at }));
        }
      }),
      { numRuns: 100 },
    );
  });

  it('hand out nothing that a caller could change an answer by', () => {
    const ada = { provider: 'orcid', subject: 'ada' };
    const policy = load(
      policyOf(
        [],
        [
          {
            principal: { kind: 'identity', identity: ada },
            namespace: pathOf('/a'),
            scopes: 1023 as never,
            inherit: true,
            notBefore: null,
            expires: null,
            reason: null,
            place: null,
          },
        ],
      ),
    );
    const actor = { ...LOCAL_ACTOR, kind: 'request', identities: [ada] } as const;
    const ask = (target: string): ReturnType<typeof decide> =>
      decide(policy, {
        actor,
        request: { kind: 'access', scope: 'resource:read', context: pathOf(target), target: pathOf(target) },
        at: 0 as DecideInput['at'],
      });
    const allowed = ask('/a');
    if (allowed.decision !== 'allow') throw new Error('it is granted');
    expect(Object.isFrozen(allowed.grants[0])).toBe(true);
    (allowed.grants as unknown[]).length = 0;
    expect(ask('/a')).toEqual({ decision: 'allow', grants: [{ id: 'g0' }] });
    expect(Object.isFrozen(ask('/b'))).toBe(true);
    const resolved = resolveActor(policy, actor);
    expect([Object.keys(resolved), Object.isFrozen(resolved)]).toEqual([[], true]);
  });
});

describe('what only looks like a handle', () => {
  const at = 0 as DecideInput['at'];
  const request = { kind: 'access', scope: 'resource:read', context: pathOf('/a'), target: pathOf('/a') } as const;

  it.each([
    { name: 'a plain object that says it is unrestricted', policy: { kind: 'unrestricted' } },
    { name: 'a copy of the unrestricted policy', policy: { ...unrestrictedPolicy() } },
    {
      name: 'what has the unrestricted policy as its prototype',
      policy: Object.create(unrestrictedPolicy()) as object,
    },
  ])('opens no door: $name', ({ policy }) => {
    const forged = policy as Policy;
    for (const actor of [LOCAL_ACTOR, { ...LOCAL_ACTOR, kind: 'request' } as const]) {
      expect(() => decide(forged, { actor, request, at })).toThrow('a policy handle comes from loading');
      expect(() => resolveActor(forged, actor)).toThrow('a policy handle comes from loading');
    }
    expect(() => judgeRaw(forged, { actor: { kind: 'local' }, request, at })).toThrow('a policy handle');
  });

  it('is not a resolved actor either', () => {
    const forged = { policy: null, local: true } as unknown as ResolvedActor;
    expect(() => judgeAs(forged, { request, at })).toThrow('a resolved actor comes from resolving');
    expect(() => decideAs(forged, { request, at })).toThrow('a resolved actor comes from resolving');
    expect(() =>
      visibilityAs(forged, { request: { family: 'resource', context: request.target, reach: 'exact' }, at }),
    ).toThrow('a resolved actor comes from resolving');
  });

  it('is not made by the class of a resolved actor', () => {
    const resolved = resolveActor(load(policyOf([], [])), { ...LOCAL_ACTOR, kind: 'request' });
    expect(judgeAs(resolved, { request, at })).toBe('no_matching_grant');
    const Class = Reflect.get(resolved, 'constructor') as new (asker: object) => ResolvedActor;
    const made = new Class({
      local: true,
      ground: 'unrestricted',
      principals: [],
      count: 0,
      scopes: 1023,
      restrictions: null,
    });
    expect(() => judgeAs(made, { request, at })).toThrow('a resolved actor comes from resolving');
    expect(Object.isFrozen(resolved)).toBe(true);
  });
});

it('the doors export nothing that neither the server nor a test nor a bench calls', () => {
  const words = new Set<string>();
  let files = 0;
  for (const folder of ['server', 'bench', 'test']) {
    for (const file of readdirSync(fromRoot(folder), { recursive: true, encoding: 'utf8' })) {
      if (!/\.(?:ts|mjs)$/.test(file) || file.includes('node_modules')) continue;
      files += 1;
      for (const [word] of readFileSync(fromRoot(`${folder}/${file}`), 'utf8').matchAll(/[A-Za-z_]\w*/g))
        words.add(word);
    }
  }
  expect(files).toBeGreaterThan(300);
  expect([...Object.keys(engine), ...Object.keys(compiler)].filter((name) => !words.has(name))).toEqual([]);
});
