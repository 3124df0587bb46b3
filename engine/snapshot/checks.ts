// The normal form of guardrails, people, tests and what else a policy is compiled under, and its digests. Two policies have equal forms if their guardrails, people and
// tests mean the same. The form leaves out descriptions, the order of files and entries, and the roles through which identities
// are left out (`except`).
import { type CheckKind, type CheckSum, type OfEachKind, ofEachKind, type PolicyChecks } from '../model/checks.js';
import { formatIdentity, type Identity } from '../model/identity.js';
import { assertNever } from '../model/invariant.js';
import { compareTexts } from '../model/order.js';
import type { Audience, ExpectedAccess, GuardrailRule, Parties, PolicySet, PolicyTest } from '../model/policy-set.js';
import { RECORD_SCOPE_SET, scopeNames, type ScopeSet } from '../model/scope-set.js';
import { type CarriedScopes, carriedNames, carriesAll, type Vocabulary, vocabularyOf } from '../model/vocabulary.js';
import { snapshotJson } from './canonical.js';
import { digestOfParts } from './hash.js';
import { makeResolve, type Resolve } from './resolve-parties.js';

/** One guardrail, person or test: its id or name, and its content as canonical JSON. Two exclusive identities are named by both. */
export interface CheckForm {
  readonly name: string;
  readonly text: string;
}

export type CheckForms = OfEachKind<readonly CheckForm[]>;

/** Sorted by name, then text. */
export function checkForms(set: PolicySet): CheckForms {
  const resolve = makeResolve(set);
  return {
    delegation: sorted(set.folders, ({ path, within, exports }) => ({
      name: path,
      form: { within, ...(exports === null ? {} : { exports: [...exports].sort(compareTexts) }) },
    })),
    exclusive: exclusiveForms(set),
    guardrails: sorted(set.guardrails, ({ id, rule }) => ({ name: id, form: ruleForm(rule, resolve) })),
    people: sorted(set.people, ({ name, identities }) => ({ name, form: textsOf(identities) })),
    tests: sorted(set.tests, (test) => ({ name: test.name, form: testForm(test, vocabularyOf(set)) })),
  };
}

export function digestChecks(set: PolicySet): PolicyChecks {
  const forms = checkForms(set);
  return ofEachKind((kind) => sumOf(kind, forms[kind]));
}

/** The sum of a policy that has none of a kind. */
export function noChecks(kind: CheckKind): CheckSum {
  return sumOf(kind, []);
}

function sumOf(kind: CheckKind, forms: readonly CheckForm[]): CheckSum {
  const texts = forms.map(({ name, text }) => `[${JSON.stringify(name)},${text}]`);
  return { count: texts.length, digest: digestOfParts([`["bailiwick.${kind}",1,[`, texts, ']]']) };
}

/** One form for each pair, so that it does not matter how an author groups identities into lists. */
function exclusiveForms({ exclusive }: PolicySet): readonly CheckForm[] {
  const pairs = new Map<string, CheckForm>();
  for (const { identities } of exclusive) {
    const texts = textsOf(identities);
    for (const [i, a] of texts.entries()) {
      for (const b of texts.slice(i + 1)) {
        const text = snapshotJson([a, b]);
        pairs.set(text, { name: `${a}, ${b}`, text });
      }
    }
  }
  return [...pairs.values()].sort((a, b) => compareTexts(a.text, b.text));
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
      return {
        atMost: rule.identities,
        ...(rule.groups === 0 ? {} : { groups: rule.groups }),
        ...placeForm(rule),
        ...partiesForm(rule, resolve),
      };
    case 'expires':
      return {
        expires: [...rule.providers].sort(compareTexts),
        within: rule.withinMilliseconds,
        ...(rule.each ? { each: true } : {}),
      };
    default:
      return assertNever(rule);
  }
}

function placeForm({ scopes, at }: GuardrailRule & { readonly kind: 'atLeast' | 'atMost' }): object {
  const place = at.kind === 'under' ? { under: at.path } : { at: at.kind === 'path' ? at.path : at.kind };
  return { scopes: scopesOf(scopes), ...place };
}

function partiesForm({ to, except }: Parties, resolve: Resolve): object {
  return {
    to: to === null ? null : audienceForm(to),
    except: resolve(except),
  };
}

/** Providers and roles by name: whoever comes to them or leaves them, the rule speaks of the same. */
function audienceForm({ providers, roles, identities }: Audience): object {
  const names = (list: readonly string[]): readonly string[] => [...new Set(list)].sort(compareTexts);
  return { providers: names(providers), roles: names(roles), identities: names(textsOf(identities)) };
}

function testForm(test: PolicyTest, vocabulary: Vocabulary): object {
  const accesses = (expected: readonly ExpectedAccess[]): readonly string[] =>
    expected.map(({ scope, namespace }) => `${scope} ${namespace}`).sort(compareTexts);
  const sees = test.sees.map(({ family, context, namespaces }) => [`${family} ${context}`, [...namespaces].sort()]);
  return {
    identities: textsOf(test.identities),
    ...credentialForm(test.credentialScopes, vocabulary),
    namespaceRestrictions: test.namespaceRestrictions === null ? null : [...test.namespaceRestrictions].sort(),
    at: test.at,
    allow: accesses(test.allow),
    deny: accesses(test.deny),
    sees: sees.sort((a, b) => compareTexts(snapshotJson(a), snapshotJson(b))),
  };
}

/** A credential that is not narrowed stays the same when the policy declares a family. The ten of records stand for it, as ever. */
function credentialForm(carried: CarriedScopes, vocabulary: Vocabulary): object {
  if (carriesAll(carried)) return { credentialScopes: scopesOf(RECORD_SCOPE_SET) };
  const credentialScopes = carriedNames(carried, vocabulary);
  return vocabulary.own.length === 0 ? { credentialScopes } : { credentialScopes, isNarrowed: true };
}

function scopesOf(scopes: ScopeSet): readonly string[] {
  return [...scopeNames(scopes)].sort(compareTexts);
}

function textsOf(identities: readonly Identity[]): readonly string[] {
  return identities.map(formatIdentity).sort(compareTexts);
}
