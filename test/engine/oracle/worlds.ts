// Small worlds for properties: few enough names that grants meet, nest and overlap all the time.
import fc from 'fast-check';
import {
  type Actor,
  ALL_SCOPES,
  type Identity,
  type NamespacePath,
  canonicalize,
  instantOf,
  type OwnFamily,
  type ScopeName,
  SCOPES,
  type ScopeSet,
  scopeSetOf,
  vocabularyOf,
} from '../../../engine/index.js';
import { NO_SCOPES, unionScopes } from '../../../engine/model/scope-set.js';
import type { PolicyGrant, PolicyMember, PolicyRole, PolicySet, Principal } from '../../../engine/model/policy-set.js';

export const IDENTITIES: readonly Identity[] = [
  { provider: 'github', subject: 'ada' },
  { provider: 'orcid', subject: 'ada' },
  { provider: 'orcid', subject: 'bob' },
  { provider: 'orcid', subject: '\u{1d518}-eve' },
];
export const STRANGER: Identity = { provider: 'orcid', subject: 'nobody' };
/** Before, at and between the instants that windows are cut at. */
export const INSTANTS: readonly number[] = [-1, 0, 5, 10, 15, 20, 25];
const CUTS = [0, 10, 20].map(instantOf);
const ROLES = ['crew', 'leads', 'staff'];
/** `a-b` and `a.b` sort before `a/…` by code unit and after it by segment; `b` is a sibling of `a`. */
const SEGMENTS = ['a', 'a-b', 'b'];

export function pathOf(text: string): NamespacePath {
  const result = canonicalize(text);
  if (!result.ok) throw new Error(`not a path: ${text}`);
  return result.path;
}

const NAMED = [1, 2, 3].reduce<readonly string[][]>(
  (levels) => [...levels, (levels.at(-1) ?? []).flatMap((path) => SEGMENTS.map((segment) => `${path}/${segment}`))],
  [['']],
);

/** Every path that a grant may name, and below each one that none names. */
export const UNIVERSE: readonly NamespacePath[] = NAMED.flat().flatMap((path) => [
  pathOf(path || '/'),
  pathOf(`${path}/z`),
]);

const grantPath = fc
  .array(fc.constantFrom(...SEGMENTS), { maxLength: 3 })
  .map((segments) => pathOf(`/${segments.join('/')}`));
export const anyPath: fc.Arbitrary<NamespacePath> = fc
  .array(fc.constantFrom(...SEGMENTS, 'z'), { maxLength: 4 })
  .map((segments) => pathOf(`/${segments.join('/')}`));

const identity = fc.constantFrom(...IDENTITIES);
/** Few scopes, so that grants overlap; sometimes any. */
const scopes: fc.Arbitrary<ScopeSet> = fc
  .oneof(fc.constantFrom(1, 2, 3, 16, 48), fc.integer({ min: 1, max: 1023 }))
  .map((bits) => bits as ScopeSet);

const principal: fc.Arbitrary<Principal> = fc.oneof(
  identity.map((who): Principal => ({ kind: 'identity', identity: who })),
  fc.constantFrom(...ROLES).map((role): Principal => ({ kind: 'role', role })),
);

export const grantBody: fc.Arbitrary<Omit<PolicyGrant, 'id'>> = fc.record({
  principal,
  namespace: grantPath,
  scopes,
  inherit: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
  notBefore: fc.option(fc.constantFrom(...CUTS), { freq: 2 }),
  expires: fc.option(fc.constantFrom(...CUTS), { freq: 2 }),
  reason: fc.constant(null),
  place: fc.constant(null),
});

/** A role may hold the roles after it, so there is never a cycle. */
function roleOf(name: string, index: number): fc.Arbitrary<PolicyRole> {
  const inner = ROLES.slice(index + 1);
  return fc
    .tuple(fc.uniqueArray(identity, { maxLength: 3 }), inner.length === 0 ? fc.constant([]) : fc.subarray(inner))
    .map(([identities, roles]) => ({
      name,
      description: null,
      members: [
        ...identities.map((who): PolicyMember => ({ kind: 'identity', identity: who, place: null })),
        ...roles.map((role): PolicyMember => ({ kind: 'role', role, place: null })),
      ],
      place: null,
    }));
}

export function policyOf(roles: readonly PolicyRole[], grants: readonly Omit<PolicyGrant, 'id'>[]): PolicySet {
  return {
    name: 'world',
    providers: ['github', 'orcid'].map((name) => ({ name, description: null })),
    roles,
    grants: grants.map((grant, index) => ({ ...grant, id: `g${String(index)}` })),
    tests: [],
    people: [],
    exclusive: [],
    folders: [],
    guardrails: [],
  };
}

/** Four scopes of one family; and as many as there can be, of which 22 stand in the first word of a set and 32 in the second. */
const FEW: readonly OwnFamily[] = [{ name: 'invoice', actions: ['approve', 'pay'], description: null }];
export const MANY: readonly OwnFamily[] = Array.from({ length: 18 }, (_, i) => ({
  name: `f${String(i).padStart(2, '0')}`,
  actions: ['do'],
  description: null,
}));

/** Any of the ten, and scopes that worlds may declare, at both ends of the words that they stand in. */
export const anyScope: fc.Arbitrary<ScopeName> = fc.oneof(
  fc.constantFrom(...SCOPES),
  fc.constantFrom(...[FEW, MANY].flatMap((families) => vocabularyOf({ families }).own.filter((_, i) => i % 7 < 4))),
);

/** Sets for rules: sometimes with scopes that worlds may declare, also alone. */
export function orOwnScopes(sets: fc.Arbitrary<ScopeSet>): fc.Arbitrary<ScopeSet> {
  const own = fc.array(
    fc.constantFrom(...[FEW, MANY].flatMap((families) => vocabularyOf({ families }).own.slice(0, 4))),
    {
      minLength: 1,
      maxLength: 3,
    },
  );
  return fc.oneof(
    { weight: 3, arbitrary: sets },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.oneof(sets, fc.constant(NO_SCOPES)), own)
        .map(([set, names]) => unionScopes(set, scopeSetOf(names))),
    },
  );
}

/** Declares families, and grants some of their scopes, too. */
function withWords(set: PolicySet, families: readonly OwnFamily[], picks: readonly (readonly number[])[]): PolicySet {
  if (families.length === 0) return set;
  const { own } = vocabularyOf({ families });
  const grants = set.grants.map((grant, i) => {
    const names = (picks[i] ?? []).flatMap((pick) => own[pick % own.length] ?? []);
    return { ...grant, scopes: unionScopes(grant.scopes, scopeSetOf(names)) };
  });
  return { ...set, families, grants };
}

/** Some declare families of their own. */
export const world: fc.Arbitrary<PolicySet> = fc
  .tuple(
    fc.tuple(...ROLES.map(roleOf)),
    fc.array(grantBody, { maxLength: 8, size: 'max' }),
    fc.constantFrom([], [], FEW, MANY),
    fc.array(fc.array(fc.nat(53), { maxLength: 3 }), { minLength: 8, maxLength: 8 }),
  )
  .map(([roles, grants, families, picks]) => withWords(policyOf(roles, grants), families, picks));

/** Mostly none. One that ends before it begins cannot be written. */
const memberWindow: fc.Arbitrary<Pick<PolicyMember, 'notBefore' | 'expires'>> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  {
    weight: 2,
    arbitrary: fc
      .record({ notBefore: fc.option(fc.constantFrom(...CUTS)), expires: fc.option(fc.constantFrom(...CUTS)) })
      .filter(({ notBefore, expires }) => notBefore === null || expires === null || notBefore < expires),
  },
);

/** Worlds in which some members have a window. */
export const windowedWorld: fc.Arbitrary<PolicySet> = fc
  .tuple(world, fc.array(memberWindow, { minLength: 20, maxLength: 20 }))
  .map(([set, windows]) => {
    let next = 0;
    const narrow = (member: PolicyMember): PolicyMember => ({ ...member, ...windows[(next += 1) % windows.length] });
    return { ...set, roles: set.roles.map((role) => ({ ...role, members: role.members.map(narrow) })) };
  });

/** The same policy with the members who have no window, and no others. */
function lasting(set: PolicySet): PolicySet {
  const isLasting = ({ notBefore = null, expires = null }: PolicyMember): boolean =>
    notBefore === null && expires === null;
  return { ...set, roles: set.roles.map((role) => ({ ...role, members: role.members.filter(isLasting) })) };
}

/** The same policy without windows of members: whatever such a member holds is granted to the member itself. */
export function narrowedByHand(set: PolicySet): PolicySet {
  const grants: PolicyGrant[] = [];
  const add = (grant: PolicyGrant): void => {
    grants.push({ ...grant, id: `n${String(grants.length)}` });
    if (grant.principal.kind === 'identity') return;
    const open = [grant.principal.role];
    for (const name of open) {
      for (const member of set.roles.find((role) => role.name === name)?.members ?? []) {
        const { notBefore = null, expires = null } = member;
        if (notBefore === null && expires === null) {
          if (member.kind === 'role') open.push(member.role);
          continue;
        }
        const from = [grant.notBefore, notBefore].filter((one) => one !== null);
        const until = [grant.expires, expires].filter((one) => one !== null);
        const bounds = {
          notBefore: from.length === 0 ? null : instantOf(Math.max(...from)),
          expires: until.length === 0 ? null : instantOf(Math.min(...until)),
        };
        if ((bounds.notBefore ?? -Infinity) >= (bounds.expires ?? Infinity)) continue;
        const { kind } = member;
        const principal: Principal =
          kind === 'role' ? { kind, role: member.role } : { kind, identity: member.identity };
        add({ ...grant, ...bounds, principal });
      }
    }
  };
  set.grants.forEach(add);
  return { ...lasting(set), grants };
}

/** Worlds of which some have identities that exclude each other. */
export const exclusiveWorld: fc.Arbitrary<PolicySet> = fc
  .tuple(world, fc.array(fc.uniqueArray(identity, { minLength: 2, maxLength: 3 }), { maxLength: 2 }))
  .map(([policy, lists]) => ({ ...policy, exclusive: lists.map((identities) => ({ identities, place: null })) }));

export const anyActor: fc.Arbitrary<Actor> = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.record({
      kind: fc.constant('request' as const),
      identities: fc.array(
        fc.oneof({ weight: 5, arbitrary: identity }, { weight: 1, arbitrary: fc.constant(STRANGER) }),
        { maxLength: 4 },
      ),
      credentialScopes: fc.oneof(
        fc.constant(ALL_SCOPES),
        fc.integer({ min: 0, max: 1023 }).map((bits) => bits as ScopeSet),
        fc.array(anyScope, { maxLength: 6 }).map(scopeSetOf),
      ),
      namespaceRestrictions: fc.oneof(fc.constant(null), fc.array(grantPath, { maxLength: 3 })),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.constant<Actor>({
      kind: 'local',
      identities: [],
      credentialScopes: ALL_SCOPES,
      namespaceRestrictions: null,
    }),
  },
);

export const anyInstant = fc.constantFrom(...INSTANTS).map(instantOf);
