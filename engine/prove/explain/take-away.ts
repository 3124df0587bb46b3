// What would deny an allowed access: every set of single changes of the policy that does and of which none can be spared, the smallest
// first, each with exactly what it takes away from whom (docs/meaning.md "Taking away").
import { findGrants } from '../../evaluate/find-grants.js';
import { compiledOf, type Policy } from '../../evaluate/policy.js';
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import { ENGINE_LIMITS, type EngineLimits } from '../../limits.js';
import { formatIdentity } from '../../model/identity.js';
import { invariant } from '../../model/invariant.js';
import { canonicalize, isWithin, type NamespacePath } from '../../model/namespace.js';
import { compareNumbers, compareTexts } from '../../model/order.js';
import type { PolicySet } from '../../model/policy-set.js';
import { firstFrom } from '../../model/row-lists.js';
import { groupBy } from '../../model/group.js';
import { isScopeName, type ScopeName } from '../../model/scope.js';
import { memberWindows, type PolicyTables, statedTables } from '../../model/tables.js';
import { statedRow } from '../../model/narrow-members.js';
import { identityRow, principalsOf } from '../cells/identities.js';
import { comparePolicies, type DiffRow } from '../diff/diff-policies.js';
import type { CredentialChange } from './edits.js';
import { editTables } from './edit-tables.js';
import type { ExplainRequest } from './explain.js';
import { findWays, minimalCuts, type Ways } from './ways.js';
import { type Removal, removalsAt, type SingleRemoval, type Unwanted } from './removals.js';

/** What an edit takes away, as `diff` lists it. */
export interface Closes {
  /** All cells of the rows, those of the request included. */
  readonly cells: bigint;
  /** Without those of the request: one for each identity of the actor that holds the access. */
  readonly others: bigint;
  /** How many identities lose something. */
  readonly identities: number;
  readonly rows: readonly DiffRow[];
}

/** What denies the access. `narrow-credential` lists what to remove from the credential, and changes no policy. */
export type TakingChange =
  | Removal
  | { readonly kind: 'several'; readonly changes: readonly Removal[] }
  | ({ readonly kind: 'narrow-credential' } & CredentialChange);

export interface ClosingEdit {
  /** For people, one line. */
  readonly text: string;
  readonly change: TakingChange;
  /** None: grants only add, so nobody gains by less of them. */
  readonly opens: { readonly cells: 0n };
  readonly closes: Closes;
}

export interface TakenAway {
  /** By the number of changes, then by how much they close. */
  readonly edits: readonly ClosingEdit[];
  /** Whether these are all. If not, those that are missing have as many changes as the last one or more, or the search took too long. */
  readonly isComplete: boolean;
}

export interface TakeAwayOptions {
  /** What the policy was compiled from; null for a snapshot, which does not say which scopes a role states. */
  readonly set: PolicySet | null;
  readonly limits?: EngineLimits;
}

/** The request must be allowed by this policy. */
export function takeAway(policy: Policy, request: ExplainRequest, options: TakeAwayOptions): TakenAway {
  const steps = takingAway(policy, request, options);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** As `takeAway`, a step for each edit: for a caller who has other things to do meanwhile. */
export function* takingAway(
  policy: Policy,
  request: ExplainRequest,
  { set, limits = ENGINE_LIMITS }: TakeAwayOptions,
): Generator<undefined, TakenAway, undefined> {
  const prepared = compiledOf(policy);
  const tables = statedTables(prepared.tables);
  const target = canonicalize(request.target);
  const { scope, at } = request;
  invariant(target.ok && isScopeName(scope), 'what is allowed names a scope and a namespace');
  const roleScoped = roleScopedGrants(tables, set);
  const carried = carriedBy({ policy, prepared }, { ...request, scope, target: target.path });
  const ways = findWays(tables, { ...carried, isRoleScoped: (grant) => roleScoped.has(grant), at });
  const namespaces = prepared.paths;
  const windows = memberWindows(tables);
  const scopedOf = groupBy(roleScoped, (grant) => tables.grants.principal[grant] ?? 0);
  const unwanted: Unwanted = {
    ...{ scope, at },
    isBelow: (grant) => namespaces[tables.grants.namespace[grant] ?? 0] !== target.path,
    beginOf: (edge) => windows.get(edge)?.from ?? -Infinity,
    grantsOfRole: (role) => scopedOf.get(role) ?? [],
  };
  const entries = tables.grants.id.length + tables.members.role.length;
  const most = Math.max(FEWEST, Math.min(limits.takeAways, Math.floor(limits.closedEntries / Math.max(1, entries))));
  const { sets, isComplete } = removalSets(ways, (i) => removalsOfPoint(tables, ways, unwanted, i), {
    ...{ most, steps: Math.floor(limits.takeAwaySteps / Math.ceil(ways.points.length / POINTS_OF_STEP)) },
  });
  const edits: ClosingEdit[] = [];
  for (const singles of sets) {
    edits.push(closingEdit({ prepared, tables, holders: carried.holders }, singles, limits));
    yield;
  }
  const credential = credentialEdits(request, target.path);
  return {
    isComplete,
    edits: [...credential, ...edits].sort(
      (a, b) => sizeOf(a) - sizeOf(b) || compareNumbers(a.closes.cells, b.closes.cells) || compareTexts(a.text, b.text),
    ),
  };
}

/** A way among more points takes as many steps as it has thousands of them. */
const POINTS_OF_STEP = 1_000;

/** However large a policy is, so many edits are compared with it. */
const FEWEST = 8;

function sizeOf({ change }: ClosingEdit): number {
  return change.kind === 'several' ? change.changes.length : 1;
}

/** Rows of the grants that take their scopes from their role. */
function roleScopedGrants({ grants }: PolicyTables, set: PolicySet | null): ReadonlySet<number> {
  const rows = new Set<number>();
  for (const { id, isRoleScoped } of set?.grants ?? []) {
    if (isRoleScoped !== true) continue;
    const row = firstFrom(grants.id.length, (i) => compareTexts(grants.id[i] ?? '', id) >= 0);
    if (grants.id[row] === id) rows.add(row);
  }
  return rows;
}

interface Compiled {
  readonly policy: Policy;
  readonly prepared: PreparedPolicy;
}

interface Carriage {
  /** Principals of the actor's identities. */
  readonly identities: readonly number[];
  /** How many of them hold the access. */
  readonly holders: number;
  /** Rows of the grants that carry it, in the tables as a file states them. */
  readonly grants: readonly number[];
}

function carriedBy(
  { policy, prepared }: Compiled,
  { identities, scope, target, at }: ExplainRequest & { readonly scope: ScopeName; readonly target: NamespacePath },
): Carriage {
  const distinct = [...new Map(identities.map((identity) => [formatIdentity(identity), identity])).values()];
  const wanted = { target, scope, at };
  const held = distinct.map((identity) => findGrants(policy, principalsOf(prepared, identity), wanted));
  const { narrowed, roles } = prepared.tables;
  const statedOf = (row: number): number => {
    if (narrowed === undefined) return row;
    const stated = statedRow(prepared.tables, row);
    return firstFrom(narrowed.rows.length, (i) => (narrowed.rows[i] ?? Infinity) >= stated);
  };
  return {
    identities: distinct.flatMap((identity) => {
      const row = identityRow(prepared, identity);
      return row === undefined ? [] : [roles.name.length + row];
    }),
    holders: held.filter((grants) => grants.length > 0).length,
    grants: [...new Set(held.flat().map(statedOf))].sort((a, b) => a - b),
  };
}

function removalsOfPoint(tables: PolicyTables, ways: Ways, unwanted: Unwanted, i: number): readonly SingleRemoval[] {
  const point = ways.points[i];
  return point === undefined ? [] : removalsAt(tables, point, unwanted);
}

interface RemovalSets {
  readonly sets: readonly (readonly SingleRemoval[])[];
  readonly isComplete: boolean;
}

/**
 * All ways to make the cuts, size by size. Within a size the plainest changes of each cut come first, so that a bound leaves out variants
 * before it leaves out cuts.
 */
function removalSets(
  ways: Ways,
  removalsOf: (point: number) => readonly SingleRemoval[],
  { most, steps }: { readonly most: number; readonly steps: number },
): RemovalSets {
  const variants = new Map(ways.points.map((_, i) => [i, removalsOf(i)]));
  const possible: Ways = {
    ...ways,
    find: (cut) => ways.find(cut)?.filter((i) => variants.get(i)?.length !== 0) ?? null,
  };
  const cuts = minimalCuts(possible, { sets: most, steps });
  const sets: (readonly SingleRemoval[])[] = [];
  let isComplete = cuts.isComplete;
  const sizes = [...new Set(cuts.sets.map(({ length }) => length))];
  for (const size of sizes) {
    const choices = cuts.sets
      .filter(({ length }) => length === size)
      .map((cut) => cut.map((point) => variants.get(point) ?? []));
    const counts = choices.map((lists) =>
      lists.reduce((product, { length }) => Math.min(product * length, most + 1), 1),
    );
    for (let nth = 0; nth < Math.max(...counts); nth += 1) {
      for (const [i, lists] of choices.entries()) {
        if (nth >= (counts[i] ?? 0)) continue;
        if (sets.length >= most) return { sets, isComplete: false };
        sets.push(nthChoice(lists, nth));
      }
    }
    isComplete &&= counts.every((count) => count <= most);
  }
  return { sets, isComplete };
}

/** One of each list; the last list varies fastest. */
function nthChoice<T>(lists: readonly (readonly T[])[], nth: number): readonly T[] {
  let left = nth;
  const chosen: T[] = [];
  for (const list of lists.toReversed()) {
    const one = list[left % list.length];
    if (one !== undefined) chosen.push(one);
    left = Math.floor(left / list.length);
  }
  return chosen.reverse();
}

function closingEdit(
  { prepared, tables, holders }: { prepared: PreparedPolicy; tables: PolicyTables; holders: number },
  singles: readonly SingleRemoval[],
  limits: EngineLimits,
): ClosingEdit {
  const grants = new Map(singles.flatMap((single) => single.grants));
  const edges = new Map(singles.flatMap((single) => single.edges));
  const edited = editTables(tables, { grants, edges }, limits);
  invariant(edited !== null, 'a policy with less in it is within the limits');
  const { lost, cells } = comparePolicies(prepared, edited);
  const changes = singles.map(({ change }) => change);
  const [only] = changes;
  return {
    text: singles.map(({ text }) => text).join(', and '),
    change: only !== undefined && changes.length === 1 ? only : { kind: 'several', changes },
    opens: { cells: 0n },
    closes: { cells: cells.lost, others: cells.lost - BigInt(holders), identities: countLosers(lost), rows: lost },
  };
}

function countLosers(rows: readonly DiffRow[]): number {
  return new Set(rows.flatMap(({ identities }) => identities)).size;
}

/** Denies to this credential alone: what the policy gives stays. */
function credentialEdits(
  { credentialScopes, namespaceRestrictions, scope }: ExplainRequest,
  target: NamespacePath,
): readonly ClosingEdit[] {
  const none = { opens: { cells: 0n }, closes: { cells: 0n, others: 0n, identities: 0, rows: [] } } as const;
  const covering = (namespaceRestrictions ?? []).flatMap((text) => {
    const read = canonicalize(text);
    return read.ok && isWithin(target, read.path) ? [read.path] : [];
  });
  const only = 'another credential of the actor may keep the access';
  return [
    ...(credentialScopes === null || !isScopeName(scope)
      ? []
      : [
          {
            text: `take ${scope} from the credential (${only})`,
            change: { kind: 'narrow-credential', credentialScopes: [scope] } as const,
            ...none,
          },
        ]),
    ...(covering.length === 0
      ? []
      : [
          {
            text: `take ${[...new Set(covering)].join(', ')} from the restrictions of the credential (${only})`,
            change: { kind: 'narrow-credential', namespaceRestrictions: [...new Set(covering)] } as const,
            ...none,
          },
        ]),
  ];
}
