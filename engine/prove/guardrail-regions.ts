// `never` and `separate` (design 3.4): what no identity may hold at or below a namespace, for every group of identities
// that hold the same, every node, and all time.
import type { Exemption } from '../model/policy-set.js';
import { ALL_SCOPES } from '../model/scope.js';
import type { RowRegion } from './cells.js';
import { makeFold } from './fold.js';
import { type Group, type GroupFilter, groupsNear } from './holders-near.js';
import { type Holding, holdingOf, holdingsNear, subtreeRows } from './holdings.js';
import { withMembersBelow } from './membership.js';
import { endOf } from './nodes.js';
import { separationRepair } from './separation-repair.js';
import { mapTimeline } from './timeline.js';
import { walkRights } from './walk.js';
import { carriers, type Finding, type Sighting, type World } from './witness.js';

/** What a rule forbids, in rows and bits. */
export interface Prohibition {
  /** Row of the node at and below which it counts. */
  readonly under: number;
  /** Scopes that can take part in breaking it; others do not matter. */
  readonly scopes: number;
  /** Of the scopes held in one cell, those that break it together; none if it holds. */
  readonly broken: (held: number) => number;
  /** 1 for identities that it leaves out. */
  readonly exempt: Uint8Array;
}

/**
 * Each grant that gives a forbidden scope breaks the rule by itself, so it is a witness by itself, and the repair is all of
 * them.
 */
export function checkNever(world: World, rule: { under: number; scopes: number; exempt: Uint8Array }): Finding {
  const { grants } = world.policy.tables;
  const counts = (identity: number): boolean => rule.exempt[identity] !== 1;
  const sightings: Sighting[] = [];
  // Those who hold by a principal are the same for each of its grants.
  const concerned = new Map<number, Int32Array>();
  for (let grant = 0; grant < grants.id.length; grant += 1) {
    const holding = holdingOf(world.rights, grant);
    const region = regionUnder(world, holding, rule.under);
    if (region === null || !isRelevant(rule, holding)) continue;
    const principal = grants.principal[grant] ?? 0;
    const identities = concerned.get(principal) ?? world.reach(principal).filter(counts);
    concerned.set(principal, identities);
    if (identities.length === 0) continue;
    const { from, until, scopes } = holding;
    sightings.push({ identities, region, scopes: scopes & rule.scopes, from, until, grants: [grant] });
  }
  return { sightings, repair: sightings.flatMap((sighting) => sighting.grants) };
}

/** Where a grant counts at or below a namespace; null if nowhere. */
function regionUnder({ nodes }: World, { row, inherit }: Holding, under: number): RowRegion | null {
  if (under <= row && row < endOf(nodes, under)) return { row, extent: inherit ? 'subtree' : 'exact', except: [] };
  const above = row < under && under < endOf(nodes, row);
  return above && inherit ? { row: under, extent: 'subtree', except: [] } : null;
}

export function checkSeparate(
  world: World,
  rule: { under: number; sides: readonly number[]; exempt: Uint8Array },
): Finding {
  const scopes = rule.sides.reduce((all, side) => all | side, 0);
  const prohibition = { ...rule, scopes, broken: (held: number) => heldOfSeveral(rule.sides, held) };
  const broken = findBroken(world, prohibition);
  return {
    sightings: broken.flatMap(({ sightings }) => sightings),
    repair: separationRepair(world, prohibition, broken),
  };
}

/** The held scopes of those sides that are held beside another side; a scope of two sides is held of both. */
function heldOfSeveral(sides: readonly number[], held: number): number {
  const touched = sides.filter((side) => (side & held) !== 0);
  return touched.length < 2 ? 0 : touched.reduce((all, side) => all | (side & held), 0);
}

/** A group that breaks a rule, with its grants that matter to the rule, and where it does. */
export interface Broken {
  readonly group: Group;
  readonly holdings: readonly Holding[];
  readonly sightings: readonly Sighting[];
}

function findBroken(world: World, prohibition: Prohibition): readonly Broken[] {
  const found: Broken[] = [];
  const given = scopesGiven(world, prohibition);
  const filter: GroupFilter = {
    principals: Uint8Array.from(given, (scopes) => (scopes === 0 ? 0 : 1)),
    counts: (identity) => prohibition.exempt[identity] !== 1,
  };
  for (const group of groupsNear(world.policy, filter)) {
    // Rights only add: whoever has not the scopes anywhere at all has not broken the rule anywhere.
    const most = group.principals.reduce((all, principal) => all | (given[principal] ?? 0), 0);
    if (prohibition.broken(most) === 0) continue;
    const near = holdingsNear(world.rights, group.principals, subtreeRows(world.nodes, prohibition.under));
    const holdings = near.filter((holding) => isRelevant(prohibition, holding));
    const sightings = sightingsOf(world, prohibition, { group, holdings });
    if (sightings.length > 0) found.push({ group, holdings, sightings });
  }
  return found;
}

function sightingsOf(
  { nodes }: World,
  { under, broken }: Prohibition,
  { group, holdings }: { group: Group; holdings: readonly Holding[] },
): readonly Sighting[] {
  // Not scope by scope: a witness is to show both sides.
  const fold = makeFold(nodes, [ALL_SCOPES]);
  walkRights({ nodes, rows: subtreeRows(nodes, under), sides: [holdings] }, (row, [at], [below]) => {
    if (at !== undefined && below !== undefined) fold.visit(row, mapTimeline(at, broken), mapTimeline(below, broken));
  });
  return fold.finish().map((patch) => {
    const grants = new Set(carriers(nodes, holdings, patch).map((holding) => holding.grant));
    const { region, from, until, value } = patch;
    return {
      identities: group.identities,
      region,
      from,
      until,
      scopes: value,
      grants: [...grants].sort((a, b) => a - b),
    };
  });
}

/** Whether a grant gives any of the scopes at any time. */
function isRelevant({ scopes }: { readonly scopes: number }, holding: Holding): boolean {
  return (holding.scopes & scopes) !== 0 && holding.from < holding.until;
}

/** By principal, the scopes that matter to the rule and that its grants give anywhere where the rule counts. */
function scopesGiven(world: World, prohibition: Prohibition): Uint16Array {
  const { grants, roles, identities } = world.policy.tables;
  const given = new Uint16Array(roles.name.length + identities.subject.length);
  for (let grant = 0; grant < grants.id.length; grant += 1) {
    const holding = holdingOf(world.rights, grant);
    if (!isRelevant(prohibition, holding) || regionUnder(world, holding, prohibition.under) === null) continue;
    const principal = grants.principal[grant] ?? 0;
    given[principal] = (given[principal] ?? 0) | (holding.scopes & prohibition.scopes);
  }
  return given;
}

/** 1 for each identity that an exemption names, or that is in a role that it names, however deep. */
export function exemptIdentities({ policy, membership }: World, exemption: Exemption): Uint8Array {
  const { tables, identityRows } = policy;
  const roles = tables.roles.name.length;
  const exempt = new Uint8Array(tables.identities.subject.length);
  const named = new Set(exemption.roles);
  const rows = [...tables.roles.name.keys()].filter((row) => named.has(tables.roles.name[row] ?? ''));
  for (const principal of withMembersBelow(membership, rows)) if (principal >= roles) exempt[principal - roles] = 1;
  for (const { provider, subject } of exemption.identities) {
    const row = identityRows.get(provider)?.get(subject);
    if (row !== undefined) exempt[row] = 1;
  }
  return exempt;
}
