// Checks guardrails (docs/language.md "Guardrails") against the compiled form of a policy. Each is either proved for every person,
// namespace, scope and time, or violated with every witness. Nothing is sampled.
import { compiledOf, type Policy } from '../../evaluate/policy.js';
import { lineOf } from '../../model/span.js';
import { groupDigits } from '../../diagnostics/fault-words.js';
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import type { GrantRef } from '../../model/decision.js';
import { grantRefs } from '../cells/held-grants.js';
import { endOf, type Nodes } from '../cells/nodes.js';
import type { Identity } from '../../model/identity.js';
import { ENGINE_LIMITS, type EngineLimits } from '../../limits.js';
import { assertNever } from '../../model/invariant.js';
import type { NamespacePath } from '../../model/namespace.js';
import type { GuardrailRule, Parties, PolicyGuardrail, PolicySet } from '../../model/policy-set.js';
import { makeActors } from './actors.js';
import { commonRepair } from './common-repair.js';
import { type Counted, countPeople, countProviders } from './counted.js';
import { checkAtLeast, checkAtMost, type Where } from './counts.js';
import { describeRule } from './describe-rule.js';
import { checkExpires } from './expires.js';
import { checkNever } from './grant-rules.js';
import { type Reliance, reliedOn } from './relied-on.js';
import { makeNamed } from './named.js';
import { makeProofBudget, type ProofBounds, type ProofBudget, STEPS_OF, TooManySteps } from './proof-budget.js';
import { type GuardrailFinding, makeWorld, type Scene, type World } from './scene.js';
import { checkSeparate } from './separate.js';
import { toWitnesses, type Witness } from './witness.js';
import { statedId } from '../../model/narrow-members.js';
import { groupBy } from '../../model/group.js';
import { identityText } from '../../model/tables.js';

export interface GuardrailViolation {
  readonly guardrail: string;
  readonly description: string | null;
  /** The rule in words, one line. */
  readonly requires: string;
  /** Where the guardrail is declared; null in a policy built in memory. */
  readonly file: string | null;
  readonly line: number | null;
  /** It could not be proved in bounded time; absent otherwise. */
  readonly unproved?: true;
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
  /**
   * A set of grants, sorted by id, without which all violated guardrails with a `repair` hold. Absent if less than two have one. None of
   * them could stay, unless there are so many that not all were tried.
   */
  readonly repair?: readonly GrantRef[];
  /** Guardrails that hold only because of `exclusive`, in the order of the policy. Absent if there are none. */
  readonly reliesOn?: readonly Reliance[];
}

/** `policy` must be what `set` compiles to. */
export function checkGuardrails(set: PolicySet, policy: Policy, limits: EngineLimits = ENGINE_LIMITS): GuardrailReport {
  const prepared = compiledOf(policy);
  const budget = makeProofBudget(limits.proofSteps);
  const bounds = { limits, budget };
  if (set.guardrails.length === 0) return NOTHING_TO_PROVE;
  const proving = worldOf(set, prepared, bounds);
  const proved = proveAll(set, proving, budget);
  const report = { ...proved, ...relied(set, proved.violations, proving) };
  const repairs = new Map(
    report.violations.filter(({ repair }) => repair.length > 0).map(({ guardrail, repair }) => [guardrail, repair]),
  );
  if (repairs.size < 2) return report;
  const { tables } = prepared;
  const rowsOf = groupBy(tables.grants.id.keys(), (row) => statedId(tables.grants.id[row] ?? ''));
  const rows = [...repairs.values()].map((repair) => repair.flatMap(({ id }) => rowsOf.get(id) ?? []));
  const guardrails = set.guardrails.filter(({ id }) => repairs.has(id));
  const hold = (changed: PreparedPolicy): boolean => {
    if (budget.isSpent()) return false;
    const { world, topLevel } = worldOf({ ...set, guardrails }, changed, bounds);
    return guardrails.every((guardrail) => prove(world, guardrail, { topLevel, budget }) === null);
  };
  const common = commonRepair(prepared, rows, { hold, steps: limits.proofSteps });
  return { ...report, repair: grantRefs(tables, common) };
}

/** How often a guardrail is proved to find the pairs that it relies on. */
const RELIANCE_TRIES = 100;

function relied(
  set: PolicySet,
  violations: readonly GuardrailViolation[],
  { world, topLevel }: Proving,
): Pick<GuardrailReport, 'reliesOn'> {
  const exclusive = set.exclusive.map(({ identities }) => identities);
  if (exclusive.length === 0) return {};
  const violated = new Set(violations.map(({ guardrail }) => guardrail));
  const reliances = set.guardrails.flatMap((guardrail): readonly Reliance[] => {
    if (violated.has(guardrail.id)) return [];
    const holds = (lists: readonly (readonly Identity[])[]): boolean => {
      const { finding } = check({ ...world, actors: makeActors(lists, world.spend) }, guardrail.rule, topLevel);
      return finding.sightings.length === 0;
    };
    try {
      const pairs = reliedOn(exclusive, { holds, spend: world.spend, tries: RELIANCE_TRIES });
      return pairs.length === 0 ? [] : [{ guardrail: guardrail.id, pairs }];
    } catch (problem) {
      if (problem instanceof TooManySteps) return [{ guardrail: guardrail.id, pairs: [], unknown: true }];
      throw problem;
    }
  });
  return reliances.length === 0 ? {} : { reliesOn: reliances };
}

interface Proving {
  readonly world: World;
  readonly topLevel: readonly NamespacePath[];
}

function worldOf(set: PolicySet, prepared: PreparedPolicy, bounds: ProofBounds): Proving {
  const topLevel = prepared.paths.filter((_, row) => prepared.tables.namespaces.parent[row] === 0);
  // All rules about every top level share one list.
  const more = [...new Set(set.guardrails.map(({ rule }) => pathsOf(rule, topLevel)))].flat();
  const exclusive = set.exclusive.map(({ identities }) => identities);
  return { world: makeWorld({ policy: prepared, people: set.people, exclusive, more, ...bounds }), topLevel };
}

/**
 * Proves each guardrail of a policy that is already prepared, with what other proofs have left of the budget. Unlike
 * `checkGuardrails`, it looks neither for a common repair nor for what the guardrails rely on.
 */
export function proveGuardrails(set: PolicySet, prepared: PreparedPolicy, bounds: ProofBounds): GuardrailReport {
  return set.guardrails.length === 0 ? NOTHING_TO_PROVE : proveAll(set, worldOf(set, prepared, bounds), bounds.budget);
}

const NOTHING_TO_PROVE: GuardrailReport = { held: 0, violated: 0, violations: [] };

function proveAll(set: PolicySet, { world, topLevel }: Proving, budget: ProofBudget): GuardrailReport {
  const violations: GuardrailViolation[] = [];
  for (const guardrail of set.guardrails) {
    const violation = prove(world, guardrail, { topLevel, budget });
    if (violation !== null) violations.push(violation);
  }
  return { held: set.guardrails.length - violations.length, violated: violations.length, violations };
}

function prove(
  world: World,
  guardrail: PolicyGuardrail,
  { topLevel, budget }: { readonly topLevel: readonly NamespacePath[]; readonly budget: ProofBudget },
): GuardrailViolation | null {
  try {
    return budget.charge(guardrail, () => {
      const { scene, finding } = check(world, guardrail.rule, topLevel);
      return finding.sightings.length === 0 ? null : toViolation(scene, guardrail, finding);
    });
  } catch (problem) {
    if (problem instanceof TooManySteps) return unproved(guardrail, budget);
    throw problem;
  }
}

/** The namespaces that a rule names: they need rows of their own, even between the nodes of the grants. */
function pathsOf(rule: GuardrailRule, topLevel: readonly NamespacePath[]): readonly NamespacePath[] {
  if ('under' in rule) return [rule.under];
  if (!('at' in rule)) return [];
  return rule.at.kind === 'every-top-level' ? topLevel : [rule.at.path];
}

const EVERYONE: Parties = { to: null, except: { roles: [], identities: [] } };

interface Proof {
  readonly scene: Scene;
  readonly finding: GuardrailFinding;
}

function check(world: World, rule: GuardrailRule, topLevel: readonly NamespacePath[]): Proof {
  const { policy, people } = world;
  const { grants, identities } = policy.tables;
  // Every kind of rule looks at all of them.
  world.spend(grants.id.length + identities.subject.length + people.identities + people.named.length * STEPS_OF.person);
  const places = (): readonly Where[] => placesOf(world.nodes, rule, pathsOf(rule, topLevel));
  const proof = (counted: Counted, toFinding: (scene: Scene) => GuardrailFinding): Proof => {
    const scene = { ...world, counted };
    return { scene, finding: toFinding(scene) };
  };
  switch (rule.kind) {
    case 'never':
      return proof(countPeople(world, rule, 'all'), (scene) => checkNever(scene, rule));
    case 'separate':
      return proof(countPeople(world, rule, 'apart'), (scene) => checkSeparate(scene, rule));
    case 'atLeast':
      return proof(countPeople(world, EVERYONE, 'people'), (scene) => checkAtLeast(scene, rule, places()));
    case 'atMost': {
      const hasGroups = world.people.groupsOf.size > 0;
      const groups = hasGroups ? { ...world, counted: countPeople(world, rule, 'groups') } : null;
      return proof(countPeople(world, rule, 'people'), (people) => checkAtMost({ people, groups }, rule, places()));
    }
    case 'expires':
      return proof(countProviders(world, rule.providers), (scene) => checkExpires(scene, rule));
    default:
      return assertNever(rule);
  }
}

/** Under a namespace, all classes at and below it: each node, and what is below it and has no nearer one. */
function placesOf(nodes: Nodes, rule: GuardrailRule, paths: readonly NamespacePath[]): readonly Where[] {
  const rows = paths.map((path) => nodes.rowOf.get(path) ?? 0);
  const [root = 0] = rows;
  if (!('at' in rule) || rule.at.kind !== 'under') return rows.map((row) => ({ row, extent: 'exact' }));
  const inside = Array.from({ length: endOf(nodes, root) - root }, (_, i) => root + i);
  return inside.flatMap((row): readonly Where[] => [
    { row, extent: 'exact' },
    ...(nodes.hasBelow[row] === 1 ? [{ row, extent: 'below' } as const] : []),
  ]);
}

function describe({ id, description, rule, place }: PolicyGuardrail): Omit<GuardrailViolation, 'witnesses' | 'repair'> {
  return {
    guardrail: id,
    description,
    requires: describeRule(rule),
    file: place?.file ?? null,
    line: place === null ? null : lineOf(place),
  };
}

/** What cannot be proved in bounded time counts as violated. */
function unproved(guardrail: PolicyGuardrail, budget: ProofBudget): GuardrailViolation {
  return { ...describe(guardrail), unproved: true, witnesses: [], repair: [], help: budgetHelp(budget) };
}

function budgetHelp({ steps, costliest }: ProofBudget): string {
  const all = `the proofs of all guardrails may take ${groupDigits(steps)} steps together`;
  const help =
    'have fewer guardrails there, narrow them with `under` or `to`, or grant to fewer groups in the same places';
  const most = costliest();
  if (most === null) return all;
  const { guardrail, own, ofFile } = most;
  const alone = `\`${guardrail.id}\` took ${groupDigits(own)} of them`;
  const { place } = guardrail;
  const who = place === null ? alone : `those of \`${place.file}\` took ${groupDigits(ofFile)} of them (${alone})`;
  return `${all}, and ${who}: ${help}`;
}

function toViolation(scene: Scene, guardrail: PolicyGuardrail, finding: GuardrailFinding): GuardrailViolation {
  const { rule } = guardrail;
  return {
    ...describe(guardrail),
    // Sightings of counting rules have already been joined.
    witnesses: toWitnesses(scene, finding.sightings, 'at' in rule ? 'once' : 'place by place'),
    repair: grantRefs(scene.policy.tables, finding.repair),
    ...(rule.kind === 'expires' ? openEnds(scene, finding) : {}),
    ...('except' in rule ? leftOutAtTimes(scene, rule, finding) : {}),
  };
}

/** Help where somebody is in a role of `except` for some time only. */
function leftOutAtTimes(
  scene: Scene,
  { except }: Parties,
  { sightings }: GuardrailFinding,
): { readonly help?: string } {
  if (scene.everMembership === scene.membership || except.roles.length === 0) return {};
  const ever = makeNamed(scene, { ...except, providers: [] }, 'ever');
  const rows = new Set(sightings.flatMap(({ people }) => Array.from(people)));
  const some = [...rows].filter((row) => ever.row(row)).map((row) => identityText(scene.policy.tables, row));
  if (some.length === 0) return {};
  const more = some.length > NAMED ? ` and ${groupDigits(some.length - NAMED)} more` : '';
  return {
    help: `${some.slice(0, NAMED).join(', ')}${more}: a member with a window is in the role for some time only, and \`except\` leaves out those who always are`,
  };
}

const NAMED = 3;

/** Help for grants with a window that is open on a side, so that it has no length. */
function openEnds({ policy }: Scene, { sightings }: GuardrailFinding): { readonly help?: string } {
  const { notBefore, expires } = policy.tables.grants;
  const open = new Map<string, string>();
  for (const row of new Set(sightings.flatMap(({ grants }) => [...grants]))) {
    const lacks = [
      ...(notBefore[row] === -Infinity ? ['notBefore'] : []),
      ...(expires[row] === Infinity ? ['expires'] : []),
    ];
    const [grant] = grantRefs(policy.tables, [row]);
    if (lacks.length > 0 && grant !== undefined)
      open.set(grant.id, `\`${grant.id}\` has no ${lacks.map((key) => `\`${key}\``).join(' and no ')}`);
  }
  if (open.size === 0) return {};
  const more = open.size > NAMED ? [`${groupDigits(open.size - NAMED)} more grants lack one or both`] : [];
  const which = [...[...open.values()].slice(0, NAMED), ...more].join(', ');
  return { help: `${which}: give them both, since the time between the two is what counts` };
}
