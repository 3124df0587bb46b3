// A loaded policy as callers hold it: facts to read, and nothing of what it uses to decide.
import type { PolicyChecks } from '../model/checks.js';
import { invariant } from '../model/invariant.js';
import type { ScopeName } from '../model/scope.js';
import type { SnapshotCounts } from '../model/tables.js';
import { type OwnFamily, vocabularyOf } from '../model/vocabulary.js';
import { type BuiltTable, openBuilt } from '../table/build.js';
import type { DecisionTable } from '../table/columns.js';
import { indexOwn, type OwnScopes } from '../table/own-scopes.js';
import { type LoadedTables, type PreparedPolicy, preparePolicy } from './prepare.js';

declare const brand: unique symbol;

/** Frozen and opaque; only loading makes one. */
export interface Policy {
  readonly [brand]: 'Policy';
  readonly kind: 'compiled' | 'unrestricted';
  readonly name: string;
  /** The snapshot digest: SHA-256 of the file's exact bytes. */
  readonly digest: string;
  /** The decision digest: equal if and only if every request is decided alike. */
  readonly decisions: string;
  /** The format of the snapshot file. */
  readonly format: number;
  readonly counts: SnapshotCounts;
  /** The families that the policy declares beside the five of records, sorted by name. */
  readonly families: readonly OwnFamily[];
  /** Every scope that the policy knows, sorted: the ten, and those of its families. */
  readonly scopes: readonly ScopeName[];
  /** Sorted: the providers that the policy declares, and those of the groups that it names. */
  readonly providers: readonly string[];
  /** What it was compiled under; null if the file does not say (format 1) and for the unrestricted policy. */
  readonly checks: PolicyChecks | null;
}

export type PolicyFacts = Omit<Policy, typeof brand | 'scopes'>;

/** Takes the place of a table for the unrestricted policy, which needs no grants. */
export const UNRESTRICTED = Symbol('unrestricted');

/** What decisions are made from. */
export type DecisionGround = DecisionTable | typeof UNRESTRICTED;

/** All that a decision takes from a policy, found by a single look into a map. */
export interface Basis {
  readonly ground: DecisionGround;
  /** The places of scopes of declared families among the bits of a set. */
  readonly own: OwnScopes;
}

// Everything that belongs to a handle is only found through these maps. Reflection on a handle reaches nothing, and an
// object that merely looks like a handle has nothing.
const bases = new WeakMap<Policy, Basis>();
const built = new WeakMap<Policy, BuiltTable>();
/** Makes the tables of policies that have not decided yet. */
const unbuilt = new WeakMap<Policy, () => BuiltTable>();
const sources = new WeakMap<Policy, TableSource>();
const prepared = new WeakMap<Policy, PreparedPolicy>();

/** Gives what proofs use. Decisions never need it. */
export type TableSource = () => LoadedTables;

/** `source` is null if the policy only decides. */
export interface CompiledParts {
  /** What makes it is called when the policy first decides: most of what was made for a proof never does. */
  readonly table: BuiltTable | (() => BuiltTable);
  readonly source: TableSource | null;
}

export function makePolicy(facts: PolicyFacts, parts: CompiledParts | typeof UNRESTRICTED): Policy {
  const own = { counts: Object.freeze({ ...facts.counts }), providers: Object.freeze([...facts.providers]) };
  const { families, scopes } = vocabularyOf(facts);
  const words = { families: deepFrozen(families), scopes: Object.freeze([...scopes]) };
  const policy = Object.freeze({ ...facts, ...own, ...words }) as Policy;
  if (parts === UNRESTRICTED) {
    found(policy, UNRESTRICTED);
    return policy;
  }
  const { table, source } = parts;
  if (typeof table === 'function') unbuilt.set(policy, table);
  else openFor(policy, table);
  if (source !== null) sources.set(policy, source);
  return policy;
}

function openFor(policy: Policy, table: BuiltTable): Basis {
  built.set(policy, table);
  return found(policy, openBuilt(table));
}

function found(policy: Policy, ground: DecisionGround): Basis {
  const basis: Basis = { ground, own: indexOwn(vocabularyOf(policy).own) };
  bases.set(policy, basis);
  return basis;
}

function deepFrozen(families: readonly OwnFamily[]): readonly OwnFamily[] {
  return Object.freeze(
    families.map((family) => Object.freeze({ ...family, actions: Object.freeze([...family.actions]) })),
  );
}

export function basisOf(policy: Policy): Basis {
  return bases.get(policy) ?? buildNow(policy);
}

function buildNow(policy: Policy): Basis {
  const build = unbuilt.get(policy);
  invariant(build !== undefined, 'a policy handle comes from loading');
  const basis = openFor(policy, build());
  unbuilt.delete(policy);
  return basis;
}

export function groundOf(policy: Policy): DecisionGround {
  return basisOf(policy).ground;
}

/** The table in the form in which threads hand it over; null for the unrestricted policy. */
export function builtOf(policy: Policy): BuiltTable | null {
  if (unbuilt.has(policy)) buildNow(policy);
  return built.get(policy) ?? null;
}

/** What was loaded; null for the unrestricted policy. */
export function loadedOf(policy: Policy): LoadedTables | null {
  const source = sources.get(policy);
  if (source !== undefined) return source();
  invariant(groundOf(policy) === UNRESTRICTED, 'what is proved of a policy needs it loaded in this thread');
  return null;
}

/** What proofs use of a policy that must be compiled. */
export function compiledOf(policy: Policy): PreparedPolicy {
  const found = preparedOf(policy);
  invariant(found !== null, 'only a compiled policy has grants');
  return found;
}

/** What proofs use, made on first use; null for the unrestricted policy. */
export function preparedOf(policy: Policy): PreparedPolicy | null {
  const known = prepared.get(policy);
  if (known !== undefined) return known;
  const source = loadedOf(policy);
  if (source === null) return null;
  const made = preparePolicy(source);
  prepared.set(policy, made);
  return made;
}

// The policy of local execution (docs/meaning.md "Local mode"): no grant is needed. The relation of target and context
// and the limits of the credential still apply.

/**
 * SHA-256 of the string `["bailiwick.unrestricted",1]`: the rule never changes, so its name never does. A test computes
 * it again.
 */
const DIGEST = 'sha256:61cd13cbcc25276921902c64d6c58c531dca382f9f0fae8aa11bd4ad2f479b98';

export function unrestrictedPolicy(): Policy {
  return makeUnrestricted([]);
}

/** The same rule, for the scopes of another policy: what no grant and nobody is needed for there. */
export function unrestrictedLike({ families }: Policy): Policy {
  return makeUnrestricted(families);
}

function makeUnrestricted(families: Policy['families']): Policy {
  const counts = { identities: 0, roles: 0, grants: 0, namespaces: 0 };
  const facts = {
    name: 'unrestricted',
    digest: DIGEST,
    decisions: DIGEST,
    format: 3,
    counts,
    families,
    providers: [],
    checks: null,
  };
  return makePolicy({ kind: 'unrestricted', ...facts }, UNRESTRICTED);
}
