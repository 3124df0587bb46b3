// One question, two policies: the reported difference is the real one, compared with a strict look at every namespace.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  ALL_SCOPES,
  decideAs,
  instantOf,
  type NamespacePath,
  type Policy,
  type ResolvedActor,
  resolveActor,
  type VisibilityRequest,
  visibilityAs,
} from '../../../engine/index.js';
import { askedOf, queryAsked } from '../../../server/audit/event.js';
import { compare, type Divergence } from '../../../server/shadow/compare.js';
import { pathOf, policyOf } from '../../support/gateway.js';

const ADA = { provider: 'orcid', subject: 'ada' };
const AT = instantOf(0);
const PATHS = ['/', '/a', '/a/b', '/a/b/c', '/a/d', '/e', '/e/f'].map(pathOf);
const SCOPES = ['resource:read', 'resource:write', 'namespace:write', 'process-run:read', 'process-run:write'] as const;

const grants = fc.array(fc.tuple(fc.constantFrom(...PATHS), fc.subarray([...SCOPES], { minLength: 1 })), {
  maxLength: 4,
});
const policies = grants.map((all) => policyOf(all.map(([path, scopes]) => [ADA, path, scopes])));
const path = fc.constantFrom(...PATHS);

function actorUnder(policy: Policy): ResolvedActor {
  return resolveActor(policy, {
    ...{ kind: 'key', identities: [ADA], credentialScopes: ALL_SCOPES, namespaceRestrictions: null },
  });
}

/** Places of a world that has one more namespace below each. */
const WORLD = PATHS.flatMap((one) => [one, pathOf(one === '/' ? '/z' : `${one}/z`)]);

function shown(actor: ResolvedActor, request: VisibilityRequest): ReadonlySet<NamespacePath> {
  const { family, context } = request;
  const scope = `${family}:read` as const;
  return new Set(
    WORLD.filter((target) => {
      const isInReach = visibleFrom(request, target);
      return (
        isInReach &&
        decideAs(actor, { request: { kind: 'access', scope, context, target }, at: AT }).decision === 'allow'
      );
    }),
  );
}

function visibleFrom({ reach, context }: VisibilityRequest, target: NamespacePath): boolean {
  const isBelow = (below: string, above: string): boolean =>
    above === '/' || below === above || below.startsWith(`${above}/`);
  if (reach === 'exact') return target === context;
  return reach === 'lineage' ? isBelow(context, target) : isBelow(target, context);
}

const changeOf = (gains: boolean, loses: boolean): Divergence['change'] | null =>
  gains && loses ? 'both' : gains ? 'gained' : loses ? 'lost' : null;

describe('a query', () => {
  it('gains and loses what the candidate shows more and less', () => {
    fc.assert(
      fc.property(
        policies,
        policies,
        path,
        fc.constantFrom('exact', 'lineage' as const),
        (live, candidate, context, reach) => {
          const request = { family: 'resource', context, reach } as const;
          const [now, then] = [actorUnder(live), actorUnder(candidate)];
          const asked = {
            access: queryAsked(request),
            resolved: now,
            visibility: visibilityAs(now, { request, at: AT }),
          };
          const divergence = compare(asked, then, AT);
          const [before, after] = [shown(now, request), shown(then, request)];
          const gains = [...after].some((one) => !before.has(one));
          const loses = [...before].some((one) => !after.has(one));
          expect(divergence?.change ?? null).toBe(changeOf(gains, loses));
          for (const { namespace } of divergence?.visible?.gained.places ?? [])
            expect(before.has(namespace)).toBe(false);
          for (const { namespace } of divergence?.visible?.lost.places ?? []) expect(after.has(namespace)).toBe(false);
        },
      ),
    );
  });

  it('names a few places, and says that there are more', () => {
    const many = Array.from({ length: 7 }, (_, index) => [ADA, `/m/${String(index)}`, ['resource:read']] as const);
    const [now, then] = [actorUnder(policyOf([])), actorUnder(policyOf(many))];
    const request = { family: 'resource', context: pathOf('/'), reach: 'subtree' } as const;
    const divergence = compare({ access: queryAsked(request), resolved: now }, then, AT);
    expect(divergence).toMatchObject({
      change: 'gained',
      live: { decision: 'deny', step: 'no_matching_grant' },
      visible: { gained: { places: { length: 5 }, more: true }, lost: { places: [], more: false } },
    });
  });
});

describe('a command', () => {
  const copies = fc.record({
    family: fc.constantFrom('resource' as const, 'process-run' as const),
    source: path,
    destination: path,
  });
  const accesses = fc.tuple(fc.constantFrom(...SCOPES), path).map(([scope, target]) => ({ scope, target }));
  const creations = fc.constantFrom(...PATHS.slice(1)).map((namespace) => ({ namespace }));

  it('differs exactly where the decisions do', () => {
    fc.assert(
      fc.property(policies, policies, fc.oneof(copies, accesses, creations), (live, candidate, asked) => {
        const [now, then] = [actorUnder(live), actorUnder(candidate)];
        const access =
          'source' in asked
            ? asked
            : 'namespace' in asked
              ? askedOf({ kind: 'create-namespace', ...asked })
              : askedOf({ kind: 'access', ...asked, context: asked.target });
        const isAllowed = (actor: ResolvedActor): boolean => {
          const one = (scope: (typeof SCOPES)[number], target: NamespacePath): boolean =>
            decideAs(actor, { request: { kind: 'access', scope, context: target, target }, at: AT }).decision ===
            'allow';
          if ('source' in asked)
            return one(`${asked.family}:read`, asked.source) && one(`${asked.family}:write`, asked.destination);
          if ('scope' in asked) return one(asked.scope, asked.target);
          return one('namespace:write', pathOf(asked.namespace.slice(0, asked.namespace.lastIndexOf('/')) || '/'));
        };
        const divergence = compare({ access, resolved: now }, then, AT);
        const [before, after] = [isAllowed(now), isAllowed(then)];
        expect(divergence?.change ?? null).toBe(changeOf(after && !before, before && !after));
        if (divergence !== null) expect(divergence.live.decision).toBe(before ? 'allow' : 'deny');
      }),
    );
  });
});
