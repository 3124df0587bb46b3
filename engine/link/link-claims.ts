// What a policy claims about itself in tests and guardrails. Their references are checked like those of grants.
import type {
  AudienceDeclaration,
  ExemptionDeclaration,
  PartiesDeclaration,
  PolicyDocument,
  RuleDeclaration,
  TestDeclaration,
} from '../model/document.js';
import { assertNever } from '../model/invariant.js';
import type {
  Audience,
  Exemption,
  GuardrailRule,
  Parties,
  Place,
  PolicyGuardrail,
  PolicyTest,
} from '../model/policy-set.js';
import type { Span } from '../model/span.js';
import { type Names, refuseRepeated } from './names.js';
import { placeOf } from './places.js';
import { checkIdentity, checkProvider, checkRole } from './references.js';

export function linkTests(documents: readonly PolicyDocument[], names: Names): readonly PolicyTest[] {
  const refuse = refuseRepeated(names.sink, {
    code: 'TEST_DUPLICATE',
    message: (name) => `two tests are called \`${name}\``,
    help: 'give one of them another name: reports and `diff` tell tests apart by their names',
  });
  return documents.flatMap((document) =>
    document.tests.flatMap((test): readonly PolicyTest[] => {
      if (test.name !== null) refuse(document, test.name);
      const linked = linkTest(document, test, names);
      return linked === null ? [] : [linked];
    }),
  );
}

function linkTest(document: PolicyDocument, test: TestDeclaration, names: Names): PolicyTest | null {
  for (const identity of test.identities) checkIdentity(document, identity, { names, roleForm: 'none' });
  if (test.name === null) return null;
  const placed = <T extends Span>({ start, end, ...expected }: T): Omit<T, keyof Span> & { readonly place: Place } => ({
    ...expected,
    place: placeOf(document, { start, end }),
  });
  return {
    name: test.name.value,
    identities: test.identities.map((identity) => identity.value),
    credentialScopes: test.credentialScopes,
    namespaceRestrictions: test.namespaceRestrictions,
    at: test.at,
    allow: test.allow.map(placed),
    deny: test.deny.map(placed),
    sees: test.sees.map(placed),
    place: placeOf(document, test.name),
  };
}

export function linkGuardrails(documents: readonly PolicyDocument[], names: Names): readonly PolicyGuardrail[] {
  const guardrails: PolicyGuardrail[] = [];
  const refuse = refuseRepeated(names.sink, {
    code: 'GUARDRAIL_DUPLICATE',
    message: (id) => `the guardrail id \`${id}\` is used twice`,
    help: 'give one of them another id',
  });
  for (const document of documents) {
    for (const { id, description, rules } of document.guardrails) {
      const [linked = null, second] = rules.map((rule) => linkRule(document, rule, names));
      if (id === null) continue;
      refuse(document, id);
      if (linked !== null && second === undefined)
        guardrails.push({ id: id.value, description, rule: linked, place: placeOf(document, id) });
    }
  }
  return guardrails;
}

/** Checks every part of a rule that could be read. Null if a part could not be read. */
function linkRule(document: PolicyDocument, rule: RuleDeclaration, names: Names): GuardrailRule | null {
  switch (rule.kind) {
    case 'never': {
      const parties = linkParties(document, rule, names);
      const { kind, scopes, under } = rule;
      return scopes === null || under === null || parties === null ? null : { kind, scopes, under, ...parties };
    }
    case 'separate': {
      const parties = linkParties(document, rule, names);
      const { kind, sides, under } = rule;
      return sides === null || under === null || parties === null ? null : { kind, sides, under, ...parties };
    }
    case 'atLeast': {
      const { kind, identities, scopes, at } = rule;
      return identities === null || scopes === null || at === null ? null : { kind, identities, scopes, at };
    }
    case 'atMost': {
      const parties = linkParties(document, rule, names);
      const { kind, identities, groups, scopes, at } = rule;
      if (identities === null || groups === null || scopes === null || at === null || parties === null) return null;
      return { kind, identities, groups, scopes, at, ...parties };
    }
    case 'expires': {
      const { kind, providers, withinMilliseconds, each } = rule;
      for (const provider of providers ?? []) checkProvider(document, provider, names);
      if (providers === null || withinMilliseconds === null || each === null) return null;
      return { kind, providers: providers.map((provider) => provider.value), withinMilliseconds, each };
    }
    default:
      return assertNever(rule);
  }
}

function linkParties(document: PolicyDocument, { to, except }: PartiesDeclaration, names: Names): Parties | null {
  const [audience, exemption] = [
    to === null || to === 'everyone' ? null : linkAudience(document, to, names),
    except === null ? null : linkExemption(document, except, names),
  ];
  return to === null || exemption === null ? null : { to: audience, except: exemption };
}

function linkAudience(document: PolicyDocument, to: AudienceDeclaration, names: Names): Audience {
  for (const provider of to.providers) checkProvider(document, provider, names);
  return { providers: to.providers.map((provider) => provider.value), ...linkExemption(document, to, names) };
}

function linkExemption(document: PolicyDocument, except: ExemptionDeclaration, names: Names): Exemption {
  for (const role of except.roles) checkRole(document, role, names);
  for (const identity of except.identities) checkIdentity(document, identity, { names, roleForm: 'parties' });
  return {
    roles: except.roles.map((role) => role.value),
    identities: except.identities.map((identity) => identity.value),
  };
}
