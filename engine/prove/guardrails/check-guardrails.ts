// Guardrails (docs/language.md "Guardrails") against the compiled form of a policy: each is proved for every person,
// namespace, scope and time, or broken with every witness. Never by samples.
import { type Policy, preparedOf } from '../../evaluate/policy.js';
import { groupDigits } from '../../diagnostics/fault-words.js';
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import type { GrantRef } from '../../model/decision.js';
import { grantRefs } from '../cells/grant-refs.js';
import { ENGINE_LIMITS, type EngineLimits } from '../../limits.js';
import { assertNever, invariant } from '../../model/invariant.js';
import type { NamespacePath } from '../../model/namespace.js';
import type { CountedAt, GuardrailRule, PolicyGuardrail, PolicySet } from '../../model/policy-set.js';
import { checkCounts } from './counts.js';
import { checkExpiry, sceneOfProviders } from './expires.js';
import { joinIdentities } from './witness.js';
import { describeRule } from './describe-rule.js';
import { countPeople, type Scene } from './counted.js';
import { checkNever } from './never.js';
import { checkSeparate } from './separate.js';
import { type Finding, makeWorld, type World } from './world.js';
import { toWitnesses, type Witness } from './witness.js';

export interface GuardrailViolation {
  readonly guardrail: string;
  readonly description: string | null;
  /** The rule in words, one line. */
  readonly requires: string;
  /** Where the guardrail stands; null in a policy built in memory. */
  readonly file: string | null;
  readonly line: number | null;
  /** All there are, in path order, then by time. */
  readonly witnesses: readonly Witness[];
  /** Grants without which the guardrail holds, none of which can be spared; empty for `atLeast`. Sorted by id. */
  readonly repair: readonly GrantRef[];
  /** What else would make it hold, where that is not plain. */
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

/** The same against the form that proofs read. */
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
  switch (rule.kind) {
    case 'never':
    case 'separate':
      return [rule.under];
    case 'atLeast':
    case 'atMost':
      return placesOf(rule.at, topLevel);
    case 'expires':
      return [];
    default:
      return assertNever(rule);
  }
}

function placesOf(at: CountedAt, topLevel: readonly NamespacePath[]): readonly NamespacePath[] {
  return at.kind === 'path' ? [at.path] : topLevel;
}

/** The world as the rule sees it. */
function sceneOf(world: World, rule: GuardrailRule): Scene {
  switch (rule.kind) {
    case 'never':
    case 'separate':
    case 'atMost':
      return { ...world, counted: countPeople(world, rule) };
    case 'atLeast':
      return { ...world, counted: countPeople(world) };
    case 'expires':
      return sceneOfProviders(world, rule);
    default:
      return assertNever(rule);
  }
}

function check(scene: Scene, rule: GuardrailRule, topLevel: readonly NamespacePath[]): Finding {
  const rowOf = (path: NamespacePath): number => scene.nodes.rowOf.get(path) ?? 0;
  switch (rule.kind) {
    case 'never':
      return checkNever(scene, { under: rowOf(rule.under), scopes: rule.scopes });
    case 'separate':
      return checkSeparate(scene, { under: rowOf(rule.under), sides: rule.sides });
    case 'atLeast':
    case 'atMost':
      return checkCounts(scene, { ...rule, places: placesOf(rule.at, topLevel).map(rowOf) });
    case 'expires':
      return checkExpiry(scene, rule);
    default:
      return assertNever(rule);
  }
}

function isCount({ kind }: GuardrailRule): boolean {
  return kind === 'atLeast' || kind === 'atMost';
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
    line: place?.range.start.line ?? null,
    // Counting rules report their sightings already joined.
    witnesses: isCount(rule)
      ? toWitnesses(scene, finding.sightings)
      : toWitnesses(scene, finding.sightings, joinIdentities),
    repair: grantRefs(scene.policy.tables, finding.repair),
    ...(rule.kind === 'expires' ? openEnds(scene, finding) : {}),
  };
}

const NAMED = 3;

/** Grants whose window is open on a side, so that it has no length. */
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
