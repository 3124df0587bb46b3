// What a policy claims of itself, tests and guardrails: their references are checked like those of grants.
import type { ExemptionDeclaration, PolicyDocument, RuleDeclaration, TestDeclaration } from '../model/document.js';
import { assertNever } from '../model/invariant.js';
import type { Exemption, GuardrailRule, PolicyGuardrail, PolicyTest } from '../model/policy-set.js';
import type { Located } from '../model/span.js';
import type { Names } from './names.js';
import { findingAt, placeOf } from './places.js';
import { checkIdentity, checkProvider, checkRole } from './references.js';

export function linkTests(document: PolicyDocument, names: Names): readonly PolicyTest[] {
  return document.tests.map((test) => linkTest(document, test, names)).filter((test) => test !== null);
}

function linkTest(document: PolicyDocument, test: TestDeclaration, names: Names): PolicyTest | null {
  for (const identity of test.identities) checkIdentity(document, identity, names);
  if (test.name === null) return null;
  return {
    name: test.name.value,
    identities: test.identities.map((identity) => identity.value),
    credentialScopes: test.credentialScopes,
    namespaceRestrictions: test.namespaceRestrictions,
    at: test.at,
    allow: test.allow.map((access) => ({
      scope: access.scope,
      namespace: access.namespace,
      place: placeOf(document, access),
    })),
    deny: test.deny.map((access) => ({
      scope: access.scope,
      namespace: access.namespace,
      place: placeOf(document, access),
    })),
    sees: test.sees.map(({ family, context, namespaces, start, end }) => ({
      family,
      context,
      namespaces,
      place: placeOf(document, { start, end }),
    })),
    place: placeOf(document, test.name),
  };
}

export function linkGuardrails(documents: readonly PolicyDocument[], names: Names): readonly PolicyGuardrail[] {
  const guardrails: PolicyGuardrail[] = [];
  const declared = new Map<string, { readonly document: PolicyDocument; readonly id: Located<string> }>();
  for (const document of documents) {
    for (const { id, description, rule } of document.guardrails) {
      const linked = rule === null ? null : linkRule(document, rule, names);
      if (id === null) continue;
      const before = declared.get(id.value);
      if (before === undefined) declared.set(id.value, { document, id });
      else {
        const related = [{ ...placeOf(before.document, before.id), message: 'first declared here' }];
        const message = `the guardrail id \`${id.value}\` is used twice`;
        names.sink.add(
          findingAt(document, id, {
            code: 'GUARDRAIL_DUPLICATE',
            message,
            help: 'give one of them another id',
            related,
          }),
        );
      }
      if (linked !== null) guardrails.push({ id: id.value, description, rule: linked, place: placeOf(document, id) });
    }
  }
  return guardrails;
}

function linkRule(document: PolicyDocument, rule: RuleDeclaration, names: Names): GuardrailRule {
  switch (rule.kind) {
    case 'never':
    case 'separate':
      return { ...rule, except: linkExemption(document, rule.except, names) };
    case 'atLeast':
    case 'atMost':
      return rule;
    case 'expires':
      for (const provider of rule.providers) checkProvider(document, provider, names);
      return { ...rule, providers: rule.providers.map((provider) => provider.value) };
    default:
      return assertNever(rule);
  }
}

function linkExemption(document: PolicyDocument, except: ExemptionDeclaration, names: Names): Exemption {
  for (const role of except.roles) checkRole(document, role, names);
  for (const identity of except.identities) checkIdentity(document, identity, names);
  return {
    roles: except.roles.map((role) => role.value),
    identities: except.identities.map((identity) => identity.value),
  };
}
