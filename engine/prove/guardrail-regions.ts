// `never` and `separate` (design 3.4): what no identity may hold at or below a namespace, for every group of identities
// that hold the same, every node, and all time.
import type { Exemption } from '../model/policy-set.js';
import { ALL_SCOPES, SCOPES } from '../model/scope.js';
import { makeFold } from './fold.js';
import { type Group, groupsNear } from './holders-near.js';
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

export function checkNever(world: World, rule: { under: number; scopes: number; exempt: Uint8Array }): Finding {
  const prohibition = { ...rule, broken: (held: number) => held & rule.scopes };
  const planes = SCOPES.map((_, bit) => 1 << bit).filter((scope) => (scope & rule.scopes) !== 0);
  const broken = findBroken(world, prohibition, planes);
  // Each grant that gives a forbidden scope breaks the rule by itself, so the repair is all of them.
  const repair = new Set(broken.flatMap(({ holdings }) => holdings.map((holding) => holding.grant)));
  return { sightings: broken.flatMap(({ sightings }) => sightings), repair: [...repair].sort((a, b) => a - b) };
}

export function checkSeparate(world: World, rule: { under: number; sides: readonly number[]; exempt: Uint8Array }): Finding {
  const scopes = rule.sides.reduce((all, side) => all | side, 0);
  const prohibition = { ...rule, scopes, broken: (held: number) => heldOfSeveral(rule.sides, held) };
  const broken = findBroken(world, prohibition, [ALL_SCOPES]);
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

function findBroken(world: World, prohibition: Prohibition, planes: readonly number[]): readonly Broken[] {
  const found: Broken[] = [];
  for (const group of groupsNear(world.policy, relevance(world, prohibition))) {
    const near = holdingsNear(world.rights, group.principals, subtreeRows(world.nodes, prohibition.under));
    const holdings = near.filter((holding) => isRelevant(prohibition, holding));
    // Rights only add: whoever has not the scopes anywhere at all has not broken the rule anywhere.
    if (prohibition.broken(holdings.reduce((all, holding) => all | holding.scopes, 0)) === 0) continue;
    const sightings = sightingsOf(world, prohibition, { group, holdings, planes });
    if (sightings.length > 0) found.push({ group, holdings, sightings });
  }
  return found;
}

function sightingsOf(
  { nodes }: World,
  { under, broken }: Prohibition,
  { group, holdings, planes }: { group: Group; holdings: readonly Holding[]; planes: readonly number[] },
): readonly Sighting[] {
  const fold = makeFold(nodes, planes);
  walkRights({ nodes, rows: subtreeRows(nodes, under), sides: [holdings] }, (row, [at], [below]) => {
    if (at !== undefined && below !== undefined) fold.visit(row, mapTimeline(at, broken), mapTimeline(below, broken));
  });
  return fold.finish().map((patch) => {
    const grants = new Set(carriers(nodes, holdings, patch).map((holding) => holding.grant));
    const { region, from, until, value } = patch;
    return { identities: group.identities, region, from, until, scopes: value, grants: [...grants].sort((a, b) => a - b) };
  });
}

function isRelevant(prohibition: Prohibition, holding: Holding): boolean {
  return (holding.scopes & prohibition.scopes) !== 0 && holding.from < holding.until;
}

function relevance({ policy, nodes, rights }: World, prohibition: Prohibition): { principals: Uint8Array; counts: (identity: number) => boolean } {
  const { grants, roles, identities } = policy.tables;
  const principals = new Uint8Array(roles.name.length + identities.subject.length);
  const end = endOf(nodes, prohibition.under);
  for (let grant = 0; grant < grants.id.length; grant += 1) {
    const holding = holdingOf(rights, grant);
    const inside = prohibition.under <= holding.row && holding.row < end;
    const above = holding.row < prohibition.under && prohibition.under < endOf(nodes, holding.row) && holding.inherit;
    if ((inside || above) && isRelevant(prohibition, holding)) principals[grants.principal[grant] ?? 0] = 1;
  }
  return { principals, counts: (identity) => prohibition.exempt[identity] !== 1 };
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
