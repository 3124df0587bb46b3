// Describes the rule of a guardrail in words, on one line.
import { groupDigits } from '../../diagnostics/fault-words.js';
import { durationText } from '../../model/duration.js';
import { formatIdentity } from '../../model/identity.js';
import { assertNever } from '../../model/invariant.js';
import { ROOT } from '../../model/namespace.js';
import type { CountedAt, Exemption, GuardrailRule, Parties } from '../../model/policy-set.js';
import { scopeNames, type ScopeSet } from '../../model/scope-set.js';

/** `nobody but role leads may hold resource:write at or below /labs` */
export function describeRule(rule: GuardrailRule): string {
  switch (rule.kind) {
    case 'never':
      return `nobody${partiesText(rule)} may hold ${anyOf(rule.scopes)} at or below ${rule.under}`;
    case 'separate': {
      const where = rule.under === ROOT ? '' : `, at or below ${rule.under}`;
      return `nobody${partiesText(rule)} may hold more than one of ${rule.sides.map(sideText).join(' and ')} in one namespace${where}`;
    }
    case 'atLeast':
      return `at least ${peopleText(rule.identities)} must hold ${anyOf(rule.scopes)} ${placeText(rule.at, 'in every namespace')}`;
    case 'atMost':
      return `at most ${peopleText(rule.identities)}${groupsText(rule.groups)}${partiesText(rule)} may hold ${anyOf(rule.scopes)} ${placeText(rule.at, 'in any one namespace')}`;
    case 'expires':
      return rule.each
        ? `every grant to ${rule.providers.join(' or ')} must end within ${durationText(rule.withinMilliseconds)} of its beginning`
        : `no identity of ${rule.providers.join(' or ')} may hold anything for longer than ${durationText(rule.withinMilliseconds)} without a break`;
    default:
      return assertNever(rule);
  }
}

/** ` among provider vendor but role leads` */
function partiesText({ to, except }: Parties): string {
  const named = ({ roles, identities }: Exemption): readonly string[] => [
    ...roles.map((role) => `role ${role}`),
    ...identities.map(formatIdentity),
  ];
  const among = to === null ? [] : [...to.providers.map((provider) => `provider ${provider}`), ...named(to)];
  const but = named(except);
  return `${among.length === 0 ? '' : ` among ${among.join(', ')}`}${but.length === 0 ? '' : ` but ${but.join(', ')}`}`;
}

function anyOf(scopes: ScopeSet): string {
  const names = scopeNames(scopes);
  return names.length === 1 ? (names[0] ?? '') : `any of ${names.join(', ')}`;
}

function sideText(side: ScopeSet): string {
  return scopeNames(side).join('|');
}

function peopleText(count: number): string {
  return `${groupDigits(count)} ${count === 1 ? 'person' : 'people'}`;
}

function groupsText(count: number): string {
  return count === 0 ? '' : ` and ${groupDigits(count)} ${count === 1 ? 'group' : 'groups'}`;
}

function placeText(at: CountedAt, everywhere: string): string {
  if (at.kind === 'every-top-level') return 'at every top level';
  return at.kind === 'path' ? `at ${at.path}` : `${everywhere} at or below ${at.path}`;
}
