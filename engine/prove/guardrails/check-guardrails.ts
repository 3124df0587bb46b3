// Checks guardrails (docs/language.md "Guardrails") against the compiled form of a policy. Each is either proved for every person,
// namespace, scope and time, or violated with every witness. Nothing is sampled.
import { type Policy, preparedOf } from '../../evaluate/policy.js';
import { lineOf } from '../../model/span.js';
import { groupDigits } from '../../diagnostics/fault-words.js';
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import type { GrantRef } from '../../model/decision.js';
import { grantRefs } from '../cells/held-grants.js';
import { ENGINE_LIMITS, type EngineLimits } from '../../limits.js';
import { assertNever, invariant } from '../../model/invariant.js';
import type { NamespacePath } from '../../model/namespace.js';
import type { GuardrailRule, Parties, PolicyGuardrail, PolicySet } from '../../model/policy-set.js';
import { countPeople, countProviders } from './counted.js';
import { checkCounts } from './counts.js';
import { describeRule } from './describe-rule.js';
import { checkExpires, checkNever } from './grant-rules.js';
import { type Finding, makeWorld, type Scene, type World } from './scene.js';
import { checkSeparate } from './separate.js';
import { toWitnesses, type Witness } from './witness.js';

export interface GuardrailViolation {
  readonly guardrail: string;
  readonly description: string | null;
  /** The rule in words, one line. */
  readonly requires: string;
  /** Where the guardrail is declared; null in a policy built in memory. */
  readonly file: string | null;
  readonly line: number | null;
  /** All witnesses, in path order, then by time. */
  readonly witnesses: readonly Witness[];
  /** A minimal set of grants without which the guardrail holds, sorted by id. Empty for `atLeast`. */
  readonly repair: readonly GrantRef[];
  /** What else would make it hold, if that is not obvious. */
  readonly help?: string;
}

export interface GuardrailReport {
  readonly held: number;
  readonly violated: number;
  /** In the order of the policy. */
  readonly violations: readonly GuardrailViolation[];
}

/** `policy` must be what `set` compiles to. */
export function checkGuardrails(set: PolicySet, policy: Policy, limits: EngineLimits = ENGINE_LIMITS): GuardrailReport {
  const prepared = preparedOf(policy);
  invariant(prepared !== null, 'guardrails are checked against a compiled policy');
  return proveGuardrails(set, prepared, limits);
}

/** The same, for a policy that is already prepared for proofs. */
export function proveGuardrails(set: PolicySet, prepared: PreparedPolicy, limits: EngineLimits): GuardrailReport {
  if (set.guardrails.length === 0) return { held: 0, violated: 0, violations: [] };
  const topLevel = prepared.paths.filter((_, row) => prepared.tables.namespaces.parent[row] === 0);
  const more = set.guardrails.flatMap(({ rule }) => pathsOf(rule, topLevel));
  const world = makeWorld({ policy: prepared, people: set.people, more, limits });
  const violations: GuardrailViolation[] = [];
  for (const guardrail of set.guardrails) {
    const scene = sceneOf(world, guardrail.rule);
    const finding = check(scene, guardrail.rule, topLevel);
    if (finding.sightings.length > 0) violations.push(toViolation(scene, guardrail, finding));
  }
  return { held: set.guardrails.length - violations.length, violated: violations.length, violations };
}

/** The namespaces that a rule names: they need rows of their own, even between the nodes of the grants. */
function pathsOf(rule: GuardrailRule, topLevel: readonly NamespacePath[]): readonly NamespacePath[] {
  if ('under' in rule) return [rule.under];
  if (!('at' in rule)) return [];
  return rule.at.kind === 'path' ? [rule.at.path] : topLevel;
}

const EVERYONE: Parties = { to: null, except: { roles: [], identities: [] } };

/** The world, with the people who count for the rule. */
function sceneOf(world: World, rule: GuardrailRule): Scene {
  if (rule.kind === 'expires') return { ...world, counted: countProviders(world, rule.providers) };
  return { ...world, counted: countPeople(world, rule.kind === 'atLeast' ? EVERYONE : rule) };
}

function check(scene: Scene, rule: GuardrailRule, topLevel: readonly NamespacePath[]): Finding {
  switch (rule.kind) {
    case 'never':
      return checkNever(scene, rule);
    case 'separate':
      return checkSeparate(scene, rule);
    case 'atLeast':
    case 'atMost': {
      const rows = pathsOf(rule, topLevel).map((path) => scene.nodes.rowOf.get(path) ?? 0);
      return checkCounts(scene, rule, rows);
    }
    case 'expires':
      return checkExpires(scene, rule);
    default:
      return assertNever(rule);
  }
}

function toViolation(
  scene: Scene,
  { id, description, rule, place }: PolicyGuardrail,
  finding: Finding,
): GuardrailViolation {
  return {
    guardrail: id,
    description,
    requires: describeRule(rule),
    file: place?.file ?? null,
    line: place === null ? null : lineOf(place),
    // Sightings of counting rules have already been joined.
    witnesses: toWitnesses(scene, finding.sightings, 'at' in rule ? 'once' : 'place by place'),
    repair: grantRefs(scene.policy.tables, finding.repair),
    ...(rule.kind === 'expires' ? openEnds(scene, finding) : {}),
  };
}

const NAMED = 3;

/** Help for grants with a window that is open on a side, so that it has no length. */
function openEnds({ policy }: Scene, { sightings }: Finding): { readonly help?: string } {
  const open = sightings.flatMap(({ grants, from, until }) => {
    const lacks = [...(from === -Infinity ? ['notBefore'] : []), ...(until === Infinity ? ['expires'] : [])];
    const [grant] = grantRefs(policy.tables, grants);
    return lacks.length === 0 || grant === undefined
      ? []
      : [`\`${grant.id}\` has no ${lacks.map((key) => `\`${key}\``).join(' and no ')}`];
  });
  if (open.length === 0) return {};
  const more = open.length > NAMED ? [`${groupDigits(open.length - NAMED)} more grants lack one or both`] : [];
  const which = [...open.slice(0, NAMED), ...more].join(', ');
  return { help: `${which}: give them both, since the time between the two is what counts` };
}
