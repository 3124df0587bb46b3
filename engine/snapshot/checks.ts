// The normal form of guardrails, people and tests, and its digests. Two policies have equal forms if their guardrails, people and
// tests mean the same. The form leaves out descriptions, the order of files and entries, and the roles through which identities
// are named.
import { CHECK_KINDS, type CheckKind, type PolicyChecks } from '../model/checks.js';
import { formatIdentity, GROUP_SUFFIX, type Identity } from '../model/identity.js';
import { assertNever } from '../model/invariant.js';
import { compareTexts } from '../model/order.js';
import type { Audience, ExpectedAccess, GuardrailRule, Parties, PolicySet, PolicyTest } from '../model/policy-set.js';
import { scopeNames, type ScopeSet } from '../model/scope.js';
import { snapshotJson } from './canonical.js';
import { digestOf } from './hash.js';

/** One guardrail, person or test: its id or name, and its content as canonical JSON. */
export interface CheckForm {
  readonly name: string;
  readonly text: string;
}

export type CheckForms = { readonly [Kind in CheckKind]: readonly CheckForm[] };

/** Sorted by name, then text. */
export function checkForms(set: PolicySet): CheckForms {
  const resolve = makeResolve(set);
  return {
    guardrails: sorted(set.guardrails, ({ id, rule }) => ({ name: id, form: ruleForm(rule, resolve) })),
    people: sorted(set.people, ({ name, identities }) => ({ name, form: textsOf(identities) })),
    tests: sorted(set.tests, (test) => ({ name: test.name, form: testForm(test) })),
  };
}

export function digestChecks(set: PolicySet): PolicyChecks {
  const forms = checkForms(set);
  const sumOf = (kind: CheckKind): PolicyChecks[CheckKind] => {
    const texts = forms[kind].map(({ name, text }) => `[${JSON.stringify(name)},${text}]`);
    return { count: texts.length, digest: digestOf(`["bailiwick.${kind}",1,[${texts.join(',')}]]`) };
  };
  const [guardrails, people, tests] = CHECK_KINDS;
  return { guardrails: sumOf(guardrails), people: sumOf(people), tests: sumOf(tests) };
}

function sorted<T>(entries: readonly T[], of: (entry: T) => { name: string; form: object }): readonly CheckForm[] {
  return entries
    .map((entry) => {
      const { name, form } = of(entry);
      return { name, text: snapshotJson(form) };
    })
    .sort((a, b) => compareTexts(a.name, b.name) || compareTexts(a.text, b.text));
}

function ruleForm(rule: GuardrailRule, resolve: Resolve): object {
  switch (rule.kind) {
    case 'never':
      return { never: scopesOf(rule.scopes), under: rule.under, ...partiesForm(rule, resolve) };
    case 'separate': {
      const sides = rule.sides.map(scopesOf).sort((a, b) => compareTexts(a.join(), b.join()));
      return { separate: sides, under: rule.under, ...partiesForm(rule, resolve) };
    }
    case 'atLeast':
      return { atLeast: rule.identities, ...placeForm(rule) };
    case 'atMost':
      return { atMost: rule.identities, ...placeForm(rule), ...partiesForm(rule, resolve) };
    case 'expires':
      return { expires: [...rule.providers].sort(compareTexts), within: rule.withinMilliseconds };
    default:
      return assertNever(rule);
  }
}

function placeForm({ scopes, at }: GuardrailRule & { readonly kind: 'atLeast' | 'atMost' }): object {
  return { scopes: scopesOf(scopes), at: at.kind === 'path' ? at.path : at.kind };
}

function partiesForm({ to, except }: Parties, resolve: Resolve): object {
  return { to: to === null ? null : resolve(to), except: resolve({ ...except, providers: [] }) };
}

function testForm(test: PolicyTest): object {
  const accesses = (expected: readonly ExpectedAccess[]): readonly string[] =>
    expected.map(({ scope, namespace }) => `${scope} ${namespace}`).sort(compareTexts);
  const sees = test.sees.map(({ family, context, namespaces }) => [`${family} ${context}`, [...namespaces].sort()]);
  return {
    identities: textsOf(test.identities),
    credentialScopes: scopesOf(test.credentialScopes),
    namespaceRestrictions: test.namespaceRestrictions === null ? null : [...test.namespaceRestrictions].sort(),
    at: test.at,
    allow: accesses(test.allow),
    deny: accesses(test.deny),
    sees: sees.sort((a, b) => compareTexts(snapshotJson(a), snapshotJson(b))),
  };
}

function scopesOf(scopes: ScopeSet): readonly string[] {
  return [...scopeNames(scopes)].sort(compareTexts);
}

function textsOf(identities: readonly Identity[]): readonly string[] {
  return identities.map(formatIdentity).sort(compareTexts);
}

/** All identities that an audience names, as sorted texts. */
type Resolve = (named: Audience) => readonly string[];

function makeResolve(set: PolicySet): Resolve {
  const members = new Map(set.roles.map((role) => [role.name, role.members]));
  let everybody: readonly Identity[] | null = null;
  return ({ providers, roles, identities }) => {
    const named = new Set(identities.map(formatIdentity));
    const reached = new Set(roles);
    // Iterating a set also visits what is added meanwhile, so the loop follows nested roles to the end.
    for (const role of reached) {
      for (const member of members.get(role) ?? []) {
        if (member.kind === 'role') reached.add(member.role);
        else named.add(formatIdentity(member.identity));
      }
    }
    if (providers.length > 0) {
      const from = new Set(providers.flatMap((provider) => [provider, provider + GROUP_SUFFIX]));
      everybody ??= namedIdentities(set);
      for (const identity of everybody) if (from.has(identity.provider)) named.add(formatIdentity(identity));
    }
    return [...named].sort(compareTexts);
  };
}

function namedIdentities({ roles, grants, people }: PolicySet): readonly Identity[] {
  return [
    ...roles.flatMap(({ members }) =>
      members.flatMap((member) => (member.kind === 'identity' ? [member.identity] : [])),
    ),
    ...grants.flatMap(({ principal }) => (principal.kind === 'identity' ? [principal.identity] : [])),
    ...people.flatMap(({ identities }) => identities),
  ];
}
