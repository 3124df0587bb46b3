// Who asks, in the terms of one policy: principals, and what the credential carries. An actor is resolved for each
// request, or once and kept for as long as neither it nor the policy changes.
import type { Actor } from '../model/actor.js';
import { firstPair } from '../model/exclusions.js';
import { formatIdentity, type Identity } from '../model/identity.js';
import { invariant } from '../model/invariant.js';
import { isWithin, type NamespacePath, scanNamespace } from '../model/namespace.js';
import { makeMarks } from '../model/scan-path.js';
import { ALL_SCOPES, carriesAll, type CarriedScopes } from '../model/vocabulary.js';
import { type DecisionTable, EXCLUSIVE } from '../table/columns.js';
import { holdingsOf, identityOf, recordsOf, TOGETHER } from '../table/locate.js';
import { type MergedSteps, mergeSteps } from '../table/merge.js';
import { NO_SCOPES } from '../model/scope-set.js';
import { indexOwn, type OwnScopes } from '../table/own-scopes.js';
import { bitsOfSet, type ScopeBit } from '../table/scope-numbers.js';
import { beginTurn, endTurn } from './turn.js';
import { requireActor, requireIdentity, requireRawActor } from './caller.js';
import { basisOf, type DecisionGround, type Policy, UNRESTRICTED } from './policy.js';

/** An actor as somebody typed it. */
export type RawActor =
  | { readonly kind: 'local' }
  | {
      readonly kind: 'request';
      readonly identities: readonly Identity[];
      /** Null means every scope that the policy knows. Any other string carries nothing. */
      readonly credentialScopes: readonly string[] | null;
      /** Null means no restriction; an empty list allows nothing. */
      readonly namespaceRestrictions: readonly string[] | null;
    };

/** What a decision needs to know about an actor. */
export interface Asker {
  ground: DecisionGround;
  local: boolean;
  /** The runs of its principals are the first `count` entries. A run may occur twice. */
  runs: Int32Array;
  count: number;
  /** Two of its identities that exclude each other, as texts, sorted; null if no two do. */
  excluded: readonly [string, string] | null;
  /** What they hold together; null for an actor that is not kept. */
  merged: MergedSteps | null;
  /** What the credential carries, as the two words of a set. */
  low: number;
  high: number;
  /** The places of scopes of declared families among these bits. */
  own: OwnScopes;
  /** The scopes of an actor as typed, read only if a decision gets to them; null if `low` and `high` have them. */
  typedScopes: readonly string[] | null;
  restrictions: readonly NamespacePath[] | null;
}

/** Opaque; belongs to the policy that it was resolved against. */
// eslint-disable-next-line no-restricted-syntax -- a private field cannot be forged, and a map by identity takes several looks into memory
export class ResolvedActor {
  readonly #asker: Asker;

  constructor(asker: Asker) {
    this.#asker = asker;
    Object.freeze(this);
  }

  static readonly askerOf = (actor: ResolvedActor): Asker => {
    invariant(#asker in actor, 'a resolved actor comes from resolving');
    return actor.#asker;
  };
}

// Hides the class. Otherwise callers could reach it by the `constructor` of any actor, and make actors of their own.
Reflect.deleteProperty(ResolvedActor.prototype, 'constructor');

export const { askerOf } = ResolvedActor;

export function resolveActor(policy: Policy, actor: Actor): ResolvedActor {
  const turn = beginTurn();
  const asker = askFor(policy, actor);
  const runs = Int32Array.from(new Set(asker.runs.subarray(0, asker.count))).sort();
  const restrictions = asker.restrictions === null ? null : [...asker.restrictions];
  const merged = asker.ground === UNRESTRICTED ? null : mergeSteps(asker.ground, runs);
  return endTurn(turn, new ResolvedActor({ ...asker, runs, count: runs.length, merged, restrictions }));
}

// An actor for one decision is resolved into this object, so that nothing is allocated. It is used up before the next
// one is resolved (turn.ts).
const ASKER: Asker = {
  ground: UNRESTRICTED,
  local: false,
  runs: new Int32Array(64),
  count: 0,
  excluded: null,
  merged: null,
  low: 0,
  high: 0,
  own: indexOwn([]),
  typedScopes: null,
  restrictions: null,
};

export function askFor(policy: Policy, actor: Actor): Asker {
  requireActor(actor);
  ASKER.local = actor.kind === 'local';
  takeBasis(policy);
  carry(ASKER.local ? ALL_SCOPES : actor.credentialScopes);
  ASKER.typedScopes = null;
  ASKER.restrictions = ASKER.local ? null : actor.namespaceRestrictions;
  addPrincipals(actor.identities);
  return ASKER;
}

/** Null if a restriction is not a path. */
export function askRaw(policy: Policy, actor: RawActor): Asker | null {
  requireRawActor(actor);
  ASKER.local = actor.kind === 'local';
  takeBasis(policy);
  if (actor.kind === 'local') {
    carry(ALL_SCOPES);
    ASKER.typedScopes = null;
    ASKER.restrictions = null;
    ASKER.count = 0;
    ASKER.excluded = null;
    return ASKER;
  }
  ASKER.restrictions = canonicalRestrictions(actor.namespaceRestrictions);
  if (ASKER.restrictions === null && actor.namespaceRestrictions !== null) return null;
  // With typed scopes it has none of these, so that whoever overlooks the typed ones denies.
  carry(actor.credentialScopes === null ? ALL_SCOPES : NO_SCOPES);
  ASKER.typedScopes = actor.credentialScopes;
  addPrincipals(actor.identities);
  return ASKER;
}

function carry(carried: CarriedScopes): void {
  if (carriesAll(carried)) {
    ASKER.low = -1;
    ASKER.high = -1;
  } else if (typeof carried === 'number') {
    ASKER.low = carried;
    ASKER.high = 0;
  } else {
    [ASKER.low, ASKER.high] = bitsOfSet(carried, ASKER.own);
  }
}

/** The local actor needs no table, but it does need a policy that exists. */
function takeBasis(policy: Policy): void {
  const { ground, own } = basisOf(policy);
  ASKER.ground = ASKER.local ? UNRESTRICTED : ground;
  ASKER.own = own;
}

const MARKS = makeMarks();
const RESTRICTIONS: NamespacePath[] = [];

function canonicalRestrictions(texts: readonly string[] | null): readonly NamespacePath[] | null {
  if (texts === null) return null;
  // One by one, because setting the length of an array takes longer than scanning a path.
  while (RESTRICTIONS.length > texts.length) RESTRICTIONS.pop();
  let count = 0;
  for (const text of texts) {
    const path = scanNamespace(text, MARKS);
    if (path === null) return null;
    RESTRICTIONS[count] = path;
    count += 1;
  }
  return RESTRICTIONS;
}

function addPrincipals(identities: readonly Identity[]): void {
  ASKER.count = 0;
  ASKER.excluded = null;
  const { ground } = ASKER;
  if (ground === UNRESTRICTED) return;
  let exclusive = 0;
  for (const identity of identities) requireIdentity(identity);
  let records: ArrayLike<number> = NO_RECORDS;
  for (let i = 0; i < identities.length; i += 1) {
    if (i % TOGETHER === 0) records = recordsOf(ground, identities, i);
    const record = records[i % TOGETHER] ?? 0;
    if (record !== 0 && ((ground.identities[record] ?? 0) & EXCLUSIVE) !== 0) EXCLUSIVES[exclusive++] = record;
    const holdings = holdingsOf(ground, record);
    const count = ground.identities[holdings] ?? 0;
    makeRoom(count);
    for (let i = 1; i <= count; i += 1) ASKER.runs[ASKER.count++] = ground.identities[holdings + i] ?? 0;
  }
  if (exclusive > 1) ASKER.excluded = firstExcluded(ground, EXCLUSIVES.slice(0, exclusive));
}

const NO_RECORDS: ArrayLike<number> = [];

/** Records of an actor's identities that exclude others. */
const EXCLUSIVES: number[] = [];

/** The first pair by text, so that it does not depend on the order of the identities. */
function firstExcluded(table: DecisionTable, records: readonly number[]): readonly [string, string] | null {
  const pair = firstPair({ first: table.exclusiveFirst, second: table.exclusiveSecond }, records);
  if (pair === null) return null;
  const [a, b] = pair;
  // It goes into every answer of a resolved actor.
  return Object.freeze([formatIdentity(identityOf(table, a)), formatIdentity(identityOf(table, b))] as const);
}

function makeRoom(more: number): void {
  const needed = ASKER.count + more;
  if (needed <= ASKER.runs.length) return;
  const wider = new Int32Array(needed * 2);
  wider.set(ASKER.runs);
  ASKER.runs = wider;
}

/** Step 2: unrestricted, or a restriction is the target or an ancestor of it. */
export function passesRestriction({ local, restrictions }: Asker, target: NamespacePath): boolean {
  if (local || restrictions === null) return true;
  for (const restriction of restrictions) if (isWithin(target, restriction)) return true;
  return false;
}

/** Step 5: the credential carries the scope, which is one that the policy knows. */
export function carries({ local, low, high, typedScopes }: Asker, scope: string, { scopes, word }: ScopeBit): boolean {
  if (local) return true;
  if (typedScopes === null) return ((word === 0 ? low : high) & scopes) !== 0;
  for (const typed of typedScopes) if (typed === scope) return true;
  return false;
}
