// What has come of a review under a present policy: what is not decided yet, which revoked access is still held, and what appeared since.
// By cells: a grant that was renamed, split or moved to another role is what it gives (docs/access-review.md "Check the decisions").
import {
  type CellRow,
  type ReviewedRight,
  reviewRights,
  type RightState,
  type StillHeld,
} from '../../engine/compiler.js';
import {
  canonicalize,
  formatInstant,
  type Identity,
  type Instant,
  parseIdentity,
  parseInstant,
  type Policy,
  ROOT,
} from '../../engine/index.js';
import { holderOf, type Population, type ReviewRow } from './population.js';
import type { Decisions } from './sheet.js';

type AsText<Part extends { readonly from: Instant | null; readonly until: Instant | null }> = Omit<
  Part,
  'from' | 'until'
> & { readonly from: string | null; readonly until: string | null };

/** Names a row, with who holds it. */
export interface NamedRow {
  readonly row: string;
  readonly identity: string;
  readonly person?: string;
}

type Appeared = CellRow<{ readonly id: string }>;

export interface ReviewOutcome {
  /** The version of the program. */
  readonly version: string;
  /** Of the policy that it was checked against. */
  readonly snapshot: string;
  readonly decisions: string;
  readonly at: string;
  readonly totals: {
    readonly rows: number;
    readonly kept: number;
    readonly revoked: number;
    readonly undecided: number;
  };
  readonly revoked: Readonly<Record<RightState, number>>;
  /** What has become of each row, in the order of the rows. */
  readonly states: readonly RightState[];
  /** Revoked, and still held. */
  readonly stillHeld: readonly (NamedRow & {
    readonly state: RightState;
    readonly left: readonly AsText<StillHeld>[];
  })[];
  /** Revoked, while rows that were not give all of it: there was nothing to remove. */
  readonly covered: readonly NamedRow[];
  /** Not revoked, and no longer held, or not all of it. */
  readonly lapsed: readonly (NamedRow & { readonly state: RightState })[];
  /** Held, and in no row. */
  readonly appeared: readonly AsText<Appeared>[];
  /** Rows that their own holder decided. */
  readonly ownDecisions: readonly NamedRow[];
}

interface Question {
  readonly population: Population;
  readonly decided: Decisions['byRow'];
  readonly policy: Policy;
  readonly version: string;
  readonly at: Instant;
  /** Identities that the selected people have now. */
  readonly more: readonly Identity[];
}

export function outcomeOf({ population, decided, policy, version, at, more }: Question): ReviewOutcome {
  const { rows, selection } = population;
  const under = canonicalize(selection.under);
  const now = reviewRights(
    policy,
    rows.map((row) => reviewedOf(row, decided)),
    {
      at,
      under: under.ok ? under.path : ROOT,
      identities: selection.identities === null ? null : [...selection.identities.map(identityOf), ...more],
      scopes: selection.scopes,
    },
  );
  const all = rows.map((row, index) => ({
    row,
    decision: decided.get(row.id)?.decision ?? null,
    state: now.rights[index]?.state ?? ('ended' as const),
    left: now.rights[index]?.left ?? [],
  }));
  const revoked = all.filter(({ decision }) => decision === 'revoke');
  const counted = (state: RightState): number => revoked.filter((one) => one.state === state).length;
  const isLeft = ({ state }: { readonly state: RightState }): boolean => state === 'held' || state === 'partly';
  return {
    ...{ version, snapshot: policy.digest, decisions: policy.decisions, at: formatInstant(at) },
    totals: {
      rows: rows.length,
      kept: all.filter(({ decision }) => decision === 'keep').length,
      revoked: revoked.length,
      undecided: all.filter(({ decision }) => decision === null).length,
    },
    revoked: {
      ended: counted('ended'),
      gone: counted('gone'),
      covered: counted('covered'),
      partly: counted('partly'),
      held: counted('held'),
    },
    states: all.map(({ state }) => state),
    stillHeld: revoked
      .filter(isLeft)
      .map(({ row, state, left }) => ({ ...named(row), state, left: left.map(written) })),
    covered: revoked.filter(({ state }) => state === 'covered').map(({ row }) => named(row)),
    lapsed: all
      .filter(({ decision, state }) => decision !== 'revoke' && (state === 'gone' || state === 'partly'))
      .map(({ row, state }) => ({ ...named(row), state })),
    appeared: now.appeared.map(written),
    ownDecisions: rows.filter((row) => isByHolder(row, decided)).map(named),
  };
}

function named({ id, identity, person }: ReviewRow): NamedRow {
  return { row: id, identity, ...(person === undefined ? {} : { person }) };
}

/** Reviewers are named by hand, so this is a hint: a name that is the person or one of the identities. */
function isByHolder(row: ReviewRow, decided: Decisions['byRow']): boolean {
  const own = [row.identity, holderOf(row)].map((text) => text.toLowerCase());
  return decided.get(row.id)?.by.some(({ reviewer }) => own.includes(reviewer.toLowerCase())) ?? false;
}

function written<Part extends { readonly from: Instant | null; readonly until: Instant | null }>({
  from,
  until,
  ...rest
}: Part): AsText<Part> {
  const textOf = (at: Instant | null): string | null => (at === null ? null : formatInstant(at));
  return { ...rest, from: textOf(from), until: textOf(until) };
}

function reviewedOf(
  { id, identity, namespace, extent, scopes, from, until }: ReviewRow,
  decided: Decisions['byRow'],
): ReviewedRight {
  const instant = (text: string | null): Instant | null => (text === null ? null : parseInstant(text));
  return {
    ...{ identity: identityOf(identity), namespace, extent, scopes },
    ...{ from: instant(from), until: instant(until), decision: decided.get(id)?.decision ?? null },
  };
}

/** A population is read only if its identities are some. */
export function identityOf(text: string): Identity {
  const read = parseIdentity(text);
  if (!read.ok) throw new TypeError('an identity of a population that was read');
  return read.identity;
}
