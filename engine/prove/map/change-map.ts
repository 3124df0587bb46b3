// The map of a comparison: who gains and who loses what where, from the rows of a diff alone. So a report needs neither of the policies.
import type { Instant } from '../../model/instant.js';
import { type NamespacePath, ROOT, sortPaths } from '../../model/namespace.js';
import { compareTexts } from '../../model/order.js';
import { isRecordScope, type ScopeName, SCOPES } from '../../model/scope.js';
import { NO_SCOPES, type ScopeSet, scopeSetOf, unionScopes } from '../../model/scope-set.js';
import { endOf, makeNodes, type Nodes } from '../cells/nodes.js';
import type { Region, ScopesThen } from '../cells/regions.js';
import { type ClassSteps, type CountedSteps, makeTally, type Tally } from './tally.js';
import { addTo } from '../../model/group.js';

/** What a map needs of a row: disjoint from the others, as those of a diff are. */
export interface ChangeRow extends Region, ScopesThen {
  readonly identities: readonly string[];
}

export interface ChangeMap {
  /** The namespaces that the rows name. */
  readonly nodes: Nodes;
  /** Sorted by code point. Identities are numbers of this list. */
  readonly identities: readonly string[];
  /** What is counted: the ten of records, then others that rows name. */
  readonly scopes: readonly ScopeName[];
  /** The instants at which a row begins or ends, sorted. */
  readonly instants: readonly number[];
  /** What is gained, then what is lost. Null means at any time. */
  readonly tallies: (identities: readonly number[], at: Instant | null) => readonly Tally[];
}

export function makeChangeMap(gained: readonly ChangeRow[], lost: readonly ChangeRow[]): ChangeMap {
  const all = [...gained, ...lost];
  const paths = new Set(all.flatMap(({ namespace, except }) => [namespace, ...(except ?? [])]));
  const nodes = makeNodes(sortPaths([...paths].filter((path) => path !== ROOT)));
  const identities = [...new Set(all.flatMap((row) => row.identities))].sort(compareTexts);
  const own = new Set(all.flatMap((row) => row.scopes).filter((scope) => !isRecordScope(scope)));
  const scopes = [...SCOPES, ...[...own].sort(compareTexts)];
  const rowsOf = [gained, lost].map((rows) => byIdentity(rows));
  const instants = new Set(
    all.flatMap(({ from, until }) => [from ?? -Infinity, until ?? Infinity]).filter(Number.isFinite),
  );
  return {
    nodes,
    identities,
    scopes,
    instants: Array.from(Float64Array.from(instants).sort()),
    tallies: (numbers, at) =>
      rowsOf.map((rows) =>
        makeTally(
          numbers.flatMap((number): readonly CountedSteps[] => {
            const own = rows.get(identities[number] ?? '') ?? [];
            const then = own.filter((row) => at === null || isThen(row, at));
            return then.length === 0 ? [] : [{ steps: stepsOfRows(nodes, then), count: 1 }];
          }),
          scopes,
        ),
      ),
  };
}

function byIdentity(rows: readonly ChangeRow[]): ReadonlyMap<string, readonly ChangeRow[]> {
  const found = new Map<string, ChangeRow[]>();
  for (const row of rows) for (const identity of row.identities) addTo(found, identity, row);
  return found;
}

function isThen({ from, until }: ChangeRow, at: Instant): boolean {
  return (from ?? -Infinity) <= at && at < (until ?? Infinity);
}

/** At any time, rows of one scope may overlap in place. They are united class by class. */
function stepsOfRows(nodes: Nodes, rows: readonly ChangeRow[]): ClassSteps {
  const ranges = rows.flatMap((row) => {
    const scopes = scopeSetOf(row.scopes);
    return rangesOf(nodes, row).map(([from, until]) => ({ from, until, scopes }));
  });
  const cuts = Array.from(Float64Array.from(new Set(ranges.flatMap(({ from, until }) => [from, until]))).sort());
  const classes: number[] = [];
  const scopes: ScopeSet[] = [];
  for (const cut of cuts) {
    const now = ranges.reduce<ScopeSet>(
      (held, range) => (range.from <= cut && cut < range.until ? unionScopes(held, range.scopes) : held),
      NO_SCOPES,
    );
    if (now === (scopes.at(-1) ?? NO_SCOPES)) continue;
    classes.push(cut);
    scopes.push(now);
  }
  return { classes, scopes };
}

/** The classes of a region, as ranges with an exclusive end. */
function rangesOf(nodes: Nodes, { namespace, extent, except = [] }: Region): readonly (readonly [number, number])[] {
  const row = nodes.rowOf.get(namespace) ?? 0;
  const first = nodes.classesBefore[row] ?? 0;
  if (extent === 'exact') return [[first, first + 1]];
  const ranges: [number, number][] = [];
  let from = extent === 'below' ? first + 1 : first;
  for (const left of except) {
    const [start, end] = classesOf(nodes, left);
    if (from < start) ranges.push([from, start]);
    from = end;
  }
  const [, last] = classesOf(nodes, namespace);
  if (from < last) ranges.push([from, last]);
  return ranges;
}

function classesOf(nodes: Nodes, path: NamespacePath): readonly [number, number] {
  const row = nodes.rowOf.get(path) ?? 0;
  return [nodes.classesBefore[row] ?? 0, nodes.classesBefore[endOf(nodes, row)] ?? 0];
}
