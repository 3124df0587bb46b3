// Explains one access step by step: what each step (docs/meaning.md "Decisions") found, the grants that carry the scope, and for a
// denial the edits that would allow it. The result always agrees with `decide`; a test compares the verdicts.
import { findGrants } from '../../evaluate/find-grants.js';
import { isRelated } from '../../evaluate/judge-request.js';
import { compiledOf, type Policy } from '../../evaluate/policy.js';
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import type { AccessStep } from '../../model/decision.js';
import { groupDigits, meantPath, pathFaultText } from '../../diagnostics/fault-words.js';
import { formatIdentity, type Identity } from '../../model/identity.js';
import { formatInstant, type Instant } from '../../model/instant.js';
import { invariant } from '../../model/invariant.js';
import { canonicalize, isWithin, type NamespacePath } from '../../model/namespace.js';
import { nearest } from '../../diagnostics/nearest.js';
import { firstPair } from '../../model/exclusions.js';
import { readsFromBelow, type ScopeName } from '../../model/scope.js';
import { knowsScope } from '../../model/vocabulary.js';
import { type Change, type CredentialChange, type Edit, policyEdits } from './edits.js';
import { type HeldGrant, makeHeldGrants } from '../cells/held-grants.js';
import { identityRow, principalsOf } from '../cells/identities.js';
import { identityText } from '../../model/tables.js';

/** The request as it was typed: scope and paths have not been checked yet. */
export interface ExplainRequest {
  readonly identities: readonly Identity[];
  /** Null means every scope that the policy knows. */
  readonly credentialScopes: readonly ScopeName[] | null;
  /** Null means no restriction; an empty list allows nothing. */
  readonly namespaceRestrictions: readonly string[] | null;
  readonly scope: string;
  readonly context: string;
  readonly target: string;
  readonly at: Instant;
}

export interface ExplainedStep {
  readonly step: AccessStep;
  readonly passed: boolean;
  readonly text: string;
}

export interface Explanation {
  readonly decision: 'allow' | 'deny';
  /** The step that failed; absent if access is allowed. */
  readonly step?: AccessStep;
  /** In order, up to the step that failed. */
  readonly steps: readonly ExplainedStep[];
  /** All grants that carry the scope there and then, even if a later step denies. */
  readonly grants: readonly HeldGrant[];
  /** Ordered by how much else they open. Empty if access is allowed or no edit helps. */
  readonly edits: readonly Edit[];
  /** Why no edit helps. Present if access is denied and there is no edit. */
  readonly noEdit?: string;
}

/** The policy must be compiled. */
export function explain(policy: Policy, request: ExplainRequest): Explanation {
  const prepared = compiledOf(policy);
  const paths = canonicalPaths(request);
  if (typeof paths === 'string')
    return denial([fail('canonicalize', paths)], 'only namespaces can be granted, and this is not one');
  const first = pass('canonicalize', canonicalText(request, paths));
  const { scope } = request;
  const { vocabulary } = prepared.tables;
  if (!knowsScope(vocabulary, scope)) {
    const near = nearest(scope, vocabulary.scopes);
    const all = [...vocabulary.patterns.keys()].filter((name) => !name.includes('*'));
    const text = `\`${scope}\` is not a scope${near === null ? `: scopes are ${all.join(', ')}` : didYouMean(near)}`;
    const count = all.length === 10 ? 'ten' : String(all.length);
    return denial(
      [first, fail('unknown_scope', text)],
      `only the ${count} scopes can be granted, and this is not one of them`,
    );
  }
  const held = holdersOf({ policy, prepared }, { ...request, scope, target: paths.target });
  const carrying = [...new Set(held.flatMap(({ grants }) => grants))].sort((a, b) => a - b);
  const access: Access = {
    ...request,
    scope,
    ...paths,
    identities: held.map(({ identity }) => identity),
    held,
    carrying,
  };
  const steps = [first];
  for (const step of [...exclusiveSteps(prepared, access), ...STEPS.map((explainStep) => explainStep(access))]) {
    steps.push(step);
    if (!step.passed) break;
  }
  const grants = steps.some(({ step, passed }) => step === 'no_matching_grant' && passed)
    ? makeHeldGrants(prepared)(
        access.identities.flatMap((identity) => identityRow(prepared, identity) ?? []),
        access.carrying,
      )
    : [];
  const failed = steps.find(({ passed }) => !passed);
  if (failed === undefined) return { decision: 'allow', steps, grants, edits: [] };
  if (failed.step === 'exclusive') return { ...denial(steps, EXCLUSIVE_EDIT), step: failed.step };
  const edits = areRelated(access) ? editsFor({ policy, prepared }, access) : [];
  const why = edits.length > 0 ? {} : { noEdit: noEditText(access) };
  return { decision: 'deny', step: failed.step, steps, grants, edits, ...why };
}

function denial(steps: readonly ExplainedStep[], noEdit: string): Explanation {
  const step = steps.at(-1)?.step;
  return { decision: 'deny', ...(step === undefined ? {} : { step }), steps, grants: [], edits: [], noEdit };
}

function pass(step: AccessStep, text: string): ExplainedStep {
  return { step, passed: true, text };
}

function fail(step: AccessStep, text: string): ExplainedStep {
  return { step, passed: false, text };
}

interface Paths {
  readonly context: NamespacePath;
  readonly target: NamespacePath;
  readonly namespaceRestrictions: readonly NamespacePath[] | null;
}

/** A policy, and the form of it that proofs use. */
interface Compiled {
  readonly policy: Policy;
  readonly prepared: PreparedPolicy;
}

/** One of the actor's identities, and the rows of the grants by which it holds the scope there and then. */
interface Held {
  readonly identity: Identity;
  readonly grants: readonly number[];
}

/** The request with canonical paths and distinct identities, and the grants that carry it. */
interface Access extends Omit<ExplainRequest, keyof Paths | 'scope'>, Paths {
  readonly scope: ScopeName;
  readonly held: readonly Held[];
  /** Rows, sorted by id. */
  readonly carrying: readonly number[];
}

/** The paths, or a message about the first string that is not a path. */
function canonicalPaths({ context, target, namespaceRestrictions }: ExplainRequest): Paths | string {
  const paths: NamespacePath[] = [];
  for (const [what, text] of [
    ['namespace', target] as const,
    ['context', context] as const,
    ...(namespaceRestrictions ?? []).map((restriction) => ['restriction', restriction] as const),
  ]) {
    const result = canonicalize(text);
    if (!result.ok)
      return `the ${what} \`${text}\` is not a namespace: ${pathFaultText(result.fault)}${didYouMean(meantPath(text))}`;
    paths.push(result.path);
  }
  const [canonicalTarget, canonicalContext, ...restrictions] = paths;
  invariant(canonicalTarget !== undefined && canonicalContext !== undefined, 'target and context were just read');
  return {
    context: canonicalContext,
    target: canonicalTarget,
    namespaceRestrictions: namespaceRestrictions === null ? null : restrictions,
  };
}

function didYouMean(meant: string | null): string {
  return meant === null ? '' : `; did you mean \`${meant}\`?`;
}

function canonicalText(request: ExplainRequest, { context, target }: Paths): string {
  if (target !== request.target) return `\`${request.target}\` is read as ${target}`;
  return context === target ? `${target} is a canonical path` : `${target} and ${context} are canonical paths`;
}

/** What each of the given identities holds; repeated identities occur once. */
function holdersOf(
  { policy, prepared }: Compiled,
  request: { identities: readonly Identity[]; scope: ScopeName; target: NamespacePath; at: Instant },
): readonly Held[] {
  const wanted = { target: request.target, scope: request.scope, at: request.at };
  const distinct = new Map(request.identities.map((identity) => [formatIdentity(identity), identity]));
  return Array.from(distinct.values(), (identity) => ({
    identity,
    grants: findGrants(policy, principalsOf(prepared, identity), wanted),
  }));
}

const EXCLUSIVE_EDIT =
  'no grant helps: use a credential that has one of the two, or change `exclusive` in `policy.yaml`';

/** The step that only a policy with `exclusive` has. */
function exclusiveSteps({ identityRows, tables }: PreparedPolicy, { held }: Access): readonly ExplainedStep[] {
  if (tables.exclusive.first.length === 0) return [];
  const rows = held.flatMap(({ identity: { provider, subject } }) => identityRows.get(provider)?.get(subject) ?? []);
  const pair = firstPair(tables.exclusive, rows);
  if (pair === null) return [pass('exclusive', 'no two identities of the actor exclude each other')];
  const [a, b] = pair.map((row) => identityText(tables, row));
  return [fail('exclusive', `\`exclusive\` keeps ${a ?? ''} and ${b ?? ''} apart, and the actor has both`)];
}

/** Steps 2 to 6. */
const STEPS: readonly ((access: Access) => ExplainedStep)[] = [
  (access) => {
    const { target, namespaceRestrictions: restrictions } = access;
    if (restrictions === null) return pass('restriction', 'the credential is not restricted to namespaces');
    const allowing = restrictions.find((restriction) => isWithin(target, restriction));
    if (allowing !== undefined)
      return pass('restriction', `the credential is restricted to ${allowing}, which is ${target} or above it`);
    const listed = restrictions.length === 0 ? 'no namespace at all' : restrictions.join(', ');
    return fail('restriction', `the credential is restricted to ${listed}, and ${target} is not there`);
  },
  ({ held, scope, target, at, carrying }) => {
    const what = `${scope} at ${target}`;
    const holding = held.filter(({ grants }) => grants.length > 0);
    if (holding.length === 0) {
      if (held.length === 0) return fail('no_matching_grant', 'the actor has no identity that a grant could name');
      const who = listOf(held, 'or');
      return fail('no_matching_grant', `no grant in force at ${formatInstant(at)} gives ${who} ${what}`);
    }
    const number = `${groupDigits(carrying.length)} ${carrying.length === 1 ? 'grant gives' : 'grants give'}`;
    return pass('no_matching_grant', `${number} ${listOf(holding, 'and')} ${what}`);
  },
  ({ scope, credentialScopes }) => {
    if (credentialScopes === null) return pass('credential_scope', 'the credential carries every scope');
    if (credentialScopes.includes(scope)) return pass('credential_scope', `the credential carries ${scope}`);
    const carried = credentialScopes.length === 0 ? 'no scope at all' : `only ${credentialScopes.join(', ')}`;
    return fail('credential_scope', `the credential carries ${carried}`);
  },
  (access) => {
    const { context, target, scope } = access;
    if (context === target) return pass('target_relationship', 'the record is in the context namespace');
    if (areRelated(access))
      return pass('target_relationship', `${target} is above ${context}, and this is visible from below`);
    const rule = readsFromBelow(scope)
      ? `${scope} reaches the context namespace and those above it`
      : `${scope} works in the context namespace only`;
    return fail(
      'target_relationship',
      `${rule}, and ${target} is not ${readsFromBelow(scope) ? 'one of those' : context}`,
    );
  },
];

/** Why no change of the policy or the credential would be enough, whichever step failed. */
function noEditText(access: Access): string {
  const { scope, context, target, held } = access;
  if (!areRelated(access)) {
    const from = readsFromBelow(scope) ? `from ${target} or from below it` : `from ${target} itself`;
    return `no grant allows ${scope} at ${target} from ${context}; ask ${from}`;
  }
  if (held.length === 0) return 'the actor has no identity that a policy could name';
  const isJoined = held.every(({ identity }) => identity.subject.includes(' '));
  return `a policy cannot name ${listOf(held, 'or')}: ${isJoined ? 'these are several identities in one text' : 'no provider can be called that'}`;
}

function listOf(held: readonly Held[], word: 'and' | 'or'): string {
  const texts = held.map(({ identity }) => formatIdentity(identity));
  const last = texts.at(-1) ?? '';
  return texts.length < 2 ? last : `${texts.slice(0, -1).join(', ')} ${word} ${last}`;
}

/** Step 6, with the same function that `decide` uses. */
function areRelated({ scope, context, target }: Access): boolean {
  return isRelated(scope, context, target);
}

/**
 * Context and target must be related, since no edit changes that. The edits supply everything that is missing, not just what failed
 * first.
 */
function editsFor({ policy, prepared }: Compiled, access: Access): readonly Edit[] {
  const { scope, target, credentialScopes, namespaceRestrictions } = access;
  const lacksScope = credentialScopes !== null && !credentialScopes.includes(scope);
  const lacksPlace =
    namespaceRestrictions !== null && !namespaceRestrictions.some((restriction) => isWithin(target, restriction));
  const credential: CredentialChange = {
    ...(lacksScope ? { credentialScopes: [scope] } : {}),
    ...(lacksPlace ? { namespaceRestrictions: [target] } : {}),
  };
  const needs = [...(lacksScope ? [`carry ${scope}`] : []), ...(lacksPlace ? [`be allowed at ${target}`] : [])].join(
    ' and ',
  );
  if (access.carrying.length > 0) {
    const change: Change = { kind: 'credential', ...credential };
    return [{ text: `let the credential ${needs}`, change, opens: { cells: 0n } }];
  }
  const edits = policyEdits(policy, prepared, access);
  if (needs === '') return edits;
  return edits.map((edit) => ({
    ...edit,
    text: `${edit.text}, and let the credential ${needs}`,
    change: { ...edit.change, credential },
  }));
}
