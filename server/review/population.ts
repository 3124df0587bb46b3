// The frozen population of an access review: every right that somebody held, one row each, under a digest (docs/access-review.md "The
// file"). A row's id is made of what the row says and of the review that it is in, so that no row of another review passes for it.
import { createHash, hash } from 'node:crypto';
import type { ChainLink, HeldRight } from '../../engine/compiler.js';
import {
  compareTexts,
  formatInstant,
  GROUP_SUFFIX,
  type Instant,
  type NamespacePath,
  type Policy,
  type ScopeName,
} from '../../engine/index.js';
import { canonicalJson } from '../json/canonical-json.js';
import type { LogUsage } from './last-uses.js';

/** What was reviewed. Null means everything of its kind. */
export interface Selection {
  readonly under: NamespacePath;
  readonly persons: readonly string[] | null;
  /** Those of the persons, too. */
  readonly identities: readonly string[] | null;
  readonly scopes: readonly ScopeName[] | null;
}

export interface ReviewRow {
  readonly id: string;
  readonly identity: string;
  readonly person?: string;
  readonly namespace: NamespacePath;
  readonly extent: 'exact' | 'subtree';
  readonly scopes: readonly ScopeName[];
  /** Instants; null means open. */
  readonly from: string | null;
  readonly until: string | null;
  readonly grant: {
    readonly id: string;
    /** Where it is bound. */
    readonly namespace: NamespacePath;
    readonly reason?: string;
    readonly file?: string;
    readonly line?: number;
  };
  readonly ways: readonly (readonly Omit<ChainLink, 'description'>[])[];
  /** When the log says that it was last used; null for never. Absent where no log was read. */
  readonly lastUsed?: string | null;
}

export interface PopulationCounts {
  readonly rows: number;
  /** Named people, and identities of nobody who is named. */
  readonly people: number;
  readonly groups: number;
  readonly identities: number;
  readonly grants: number;
}

export interface Population {
  /** The version of this form. */
  readonly review: 1;
  /** The version of the program. */
  readonly version: string;
  readonly policy: string;
  readonly snapshot: string;
  readonly decisions: string;
  readonly at: string;
  readonly selection: Selection;
  /** What of the log was read; null if none was. */
  readonly usage: LogUsage | null;
  readonly counts: PopulationCounts;
  readonly rows: readonly ReviewRow[];
  /** Of all the rest, as canonical JSON. */
  readonly digest: string;
}

/** What a population is made of. */
export interface Frozen {
  readonly policy: Policy;
  readonly version: string;
  readonly at: Instant;
  readonly selection: Selection;
  readonly rights: readonly HeldRight[];
  /** Names of people by identity. */
  readonly persons: ReadonlyMap<string, string>;
  readonly usage?: LogUsage;
  /** When an identity last used a grant, if the log says so. */
  readonly lastUse?: (identity: string, grant: string) => string | null;
}

/** Rows of one person stand together. */
export function makePopulation({
  policy,
  version,
  at,
  selection,
  rights,
  persons,
  usage,
  lastUse,
}: Frozen): Population {
  const scene = { snapshot: policy.digest, at: formatInstant(at), selection };
  const idOf = makeRowIds(scene);
  const rows = rights
    .map((right): ReviewRow => {
      const person = persons.get(right.identity);
      const stated = statedOf(right);
      return {
        id: idOf(stated),
        ...stated,
        ...(person === undefined ? {} : { person }),
        ...(lastUse === undefined ? {} : { lastUsed: lastUse(right.identity, right.grant.id) }),
      };
    })
    .sort((a, b) => compareTexts(holderOf(a), holderOf(b)));
  const { name, digest: snapshot, decisions } = policy;
  const body = {
    ...{ review: 1 as const, version, policy: name, snapshot, decisions, at: scene.at, selection },
    ...{ usage: usage ?? null, counts: countsOf(rows), rows },
  };
  return { ...body, digest: digestOf(body) };
}

/** The person, or an identity of nobody who is named. */
export function holderOf({ person, identity }: Pick<ReviewRow, 'person' | 'identity'>): string {
  return person ?? identity;
}

/** What the policy alone says. */
type StatedRow = Omit<ReviewRow, 'id' | 'person' | 'lastUsed'>;

function statedOf({ identity, namespace, extent, scopes, from, until, grant, ways }: HeldRight): StatedRow {
  return {
    ...{ identity, namespace, extent, scopes },
    from: from === null ? null : formatInstant(from),
    until: until === null ? null : formatInstant(until),
    grant,
    // A role of many members would repeat its description in many rows.
    ways: ways.map((way) => way.map(({ description: _, ...link }) => link)),
  };
}

type Scene = Pick<Population, 'snapshot' | 'at' | 'selection'>;

/**
 * Ids begin with a letter and a dash, so that no spreadsheet takes one for a number. What all rows share is hashed once: a selection may
 * name as many people as there are rows.
 */
function makeRowIds({ snapshot, at, selection }: Scene): (row: StatedRow) => string {
  const shared = canonicalJson(['bailiwick.review.row', 1, snapshot, at, selection]).slice(0, -']'.length);
  const begun = createHash('sha256').update(shared);
  return (row) =>
    `r-${begun
      .copy()
      .update(`,${canonicalJson(row)}]`)
      .digest('hex')
      .slice(0, 20)}`;
}

function countsOf(rows: readonly ReviewRow[]): PopulationCounts {
  const isGroup = ({ identity }: ReviewRow): boolean => identity.split(':', 1)[0]?.endsWith(GROUP_SUFFIX) ?? false;
  const count = (texts: readonly string[]): number => new Set(texts).size;
  return {
    rows: rows.length,
    people: count(rows.filter((row) => row.person !== undefined || !isGroup(row)).map(holderOf)),
    groups: count(rows.filter(isGroup).map(({ identity }) => identity)),
    identities: count(rows.map(({ identity }) => identity)),
    grants: count(rows.map(({ grant }) => grant.id)),
  };
}

function digestOf(body: Omit<Population, 'digest'>): string {
  return `sha256:${hash('sha256', canonicalJson(body), 'hex')}`;
}

/** Why the population is not what was frozen; null if it is: its digest, the ids of its rows, and its counts agree with it. */
export function populationFault({ digest, ...body }: Population): string | null {
  if (digestOf(body) !== digest) return 'its content does not match its digest';
  const idOf = makeRowIds(body);
  const isOwn = ({ id, person: _, lastUsed: __, ...stated }: ReviewRow): boolean => idOf(stated) === id;
  if (!body.rows.every(isOwn)) return 'the id of a row does not match its content';
  if (new Set(body.rows.map(({ id }) => id)).size !== body.rows.length) return 'a row is there twice';
  return canonicalJson(countsOf(body.rows)) === canonicalJson(body.counts)
    ? null
    : 'its counts are not those of its rows';
}

/** The file. */
export function populationText(population: Population): string {
  return `${canonicalJson(population)}\n`;
}
