// Every place of a file where a name is declared or used, for editors: going there, hovering, renaming.
import { formatIdentity } from '../model/identity.js';
import type { ExemptionDeclaration, GuardrailDeclaration, MemberReference, PolicyDocument } from '../model/document.js';
import { type Range, rangeOf, type Span } from '../model/span.js';

export type NameKind = 'role' | 'identity' | 'grant' | 'guardrail' | 'person' | 'provider' | 'family' | 'test';

export interface NamePlace {
  readonly kind: NameKind;
  readonly name: string;
  /** The range of the value, with its quotes. */
  readonly range: Range;
  readonly declares: boolean;
}

/** In no particular order. */
export function namesOf(document: PolicyDocument): readonly NamePlace[] {
  const { header, lines } = document;
  const at = (kind: NameKind, name: string, span: Span, declares: 'declares' | 'uses'): NamePlace => ({
    ...{ kind, name, range: rangeOf(lines, span), declares: declares === 'declares' },
  });
  const reference = (one: MemberReference): NamePlace =>
    one.kind === 'role' ? at('role', one.value, one, 'uses') : at('identity', formatIdentity(one.value), one, 'uses');
  const exempt = (parties: ExemptionDeclaration | null): readonly NamePlace[] =>
    parties === null ? [] : [...parties.roles, ...parties.identities].map(reference);
  const ofRules = ({ rules }: GuardrailDeclaration): readonly NamePlace[] =>
    rules.flatMap((rule) => [
      ...('to' in rule && rule.to !== null && rule.to !== 'everyone'
        ? [...exempt(rule.to), ...rule.to.providers.map((one) => at('provider', one.value, one, 'uses'))]
        : []),
      ...('except' in rule ? exempt(rule.except) : []),
      ...(rule.kind === 'expires' ? (rule.providers ?? []).map((one) => at('provider', one.value, one, 'uses')) : []),
    ]);
  return [
    ...(header?.providers ?? []).map(({ name }) => at('provider', name.value, name, 'declares')),
    ...(header?.families ?? []).map(({ name }) => at('family', name.value, name, 'declares')),
    ...(header?.exclusive ?? []).flatMap(({ identities }) => identities.map(reference)),
    ...(header?.folders ?? []).flatMap(({ exports }) => exports.map(reference)),
    ...document.roles.flatMap(({ name, members }) => [
      at('role', name.value, name, 'declares'),
      ...members.map(reference),
    ]),
    ...document.people.flatMap(({ name, identities }) => [
      at('person', name.value, name, 'declares'),
      ...identities.map(reference),
    ]),
    ...document.grants.flatMap(({ id, principals }) => [
      ...(id === null ? [] : [at('grant', id.value, id, 'declares')]),
      ...principals.map(reference),
    ]),
    ...document.guardrails.flatMap((guardrail) => [
      ...(guardrail.id === null ? [] : [at('guardrail', guardrail.id.value, guardrail.id, 'declares')]),
      ...ofRules(guardrail),
    ]),
    ...document.tests.flatMap(({ name, identities }) => [
      ...(name === null ? [] : [at('test', name.value, name, 'declares')]),
      ...identities.map(reference),
    ]),
  ];
}
