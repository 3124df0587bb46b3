// The map of rights against decide, who-can and a diff counted cell by cell: every cell, every collapsed row and column, every instant.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { countIn, diffPolicies, makeAccessMap, makeChangeMap, type Nodes, whoCan } from '../../../engine/compiler.js';
import {
  ALL_SCOPES,
  decide,
  formatIdentity,
  type Identity,
  type Instant,
  instantOf,
  type NamespacePath,
  parseIdentity,
  type Policy,
  type ScopeName,
} from '../../../engine/index.js';
import { testRuns } from '../../support/test-runs.js';
import { exclusiveWorld, INSTANTS, pathOf, windowedWorld, world } from '../oracle/worlds.js';
import { load } from './brute.js';

interface Class {
  readonly at: number;
  readonly path: NamespacePath;
}

/** A path of each class: the namespace itself, and one below it that no grant of these worlds names. */
function classesOf({ paths, hasBelow, classesBefore }: Nodes): readonly Class[] {
  return paths.flatMap((path, row) => {
    const at = classesBefore[row] ?? 0;
    const below = { at: at + 1, path: pathOf(`${path === '/' ? '' : path}/zz`) };
    return [{ at, path }, ...(hasBelow[row] === 1 ? [below] : [])];
  });
}

function identityOf(text: string): Identity {
  const read = parseIdentity(text);
  if (!read.ok) throw new Error(text);
  return read.identity;
}

interface Asked {
  readonly identity: Identity;
  readonly path: NamespacePath;
  readonly at: Instant;
  readonly scopes: readonly ScopeName[];
}

function isAllowed(policy: Policy, { identity, path, at, scopes }: Asked): readonly number[] {
  const actor = {
    kind: 'request',
    identities: [identity],
    credentialScopes: ALL_SCOPES,
    namespaceRestrictions: null,
  } as const;
  return scopes.map((scope) => {
    const request = { kind: 'access', scope, context: path, target: path } as const;
    return decide(policy, { actor, request, at }).decision === 'allow' ? 1 : 0;
  });
}

const sum = (lists: readonly (readonly number[])[], width: number): readonly number[] =>
  Array.from({ length: width }, (_, scope) => lists.reduce((total, list) => total + (list[scope] ?? 0), 0));

describe('the map of rights', () => {
  it('has in each cell what is decided there, and in each collapsed cell their number', () => {
    const any = fc.oneof(world, windowedWorld, exclusiveWorld);
    fc.assert(
      fc.property(any, fc.nat(), fc.nat(), (set, low, high) => {
        const policy = load(set);
        const map = makeAccessMap(policy);
        const classes = classesOf(map.nodes);
        const everyone = map.identities.map((_, row) => row);
        const [from, until] = [low % (classes.length + 1), high % (classes.length + 1)].sort((a, b) => a - b);
        for (const at of INSTANTS.map(instantOf)) {
          const cells = everyone.map((row) => {
            const tally = map.tally([row], at);
            return classes.map((one) => {
              const counted = countIn(tally, one.at, one.at + 1);
              expect(counted).toEqual(
                isAllowed(policy, {
                  identity: identityOf(map.identities[row] ?? ''),
                  path: one.path,
                  at,
                  scopes: map.scopes,
                }),
              );
              return counted;
            });
          });
          const part = cells.map((column) => sum(column.slice(from, until), map.scopes.length));
          expect(countIn(map.tally(everyone, at), from ?? 0, until ?? 0)).toEqual(sum(part, map.scopes.length));
        }
      }),
      testRuns({ usual: 40, deep: 400 }),
    );
  });

  it('agrees with who-can at every namespace', () => {
    fc.assert(
      fc.property(windowedWorld, fc.constantFrom(...INSTANTS), (set, instant) => {
        const policy = load(set);
        const map = makeAccessMap(policy);
        const at = instantOf(instant);
        for (const { at: place, path } of classesOf(map.nodes)) {
          map.scopes.forEach((scope, index) => {
            const named = map.identities.filter(
              (_, row) => countIn(map.tally([row], at), place, place + 1)[index] === 1,
            );
            const holders = whoCan(policy, { scope, namespace: path, at }).map(({ identity }) => identity);
            expect([...named].sort()).toEqual([...holders].sort());
          });
        }
      }),
      testRuns({ usual: 30, deep: 200 }),
    );
  });

  it('of any time has what is held at some instant', () => {
    fc.assert(
      fc.property(windowedWorld, (set) => {
        const policy = load(set);
        const map = makeAccessMap(policy);
        const instants = [...INSTANTS, ...map.instants, ...map.instants.map((at) => at - 1)].map(instantOf);
        map.identities.forEach((text, row) => {
          for (const { at, path } of classesOf(map.nodes)) {
            const sometimes = map.scopes.map((_, scope) =>
              Math.max(
                ...instants.map(
                  (instant) =>
                    isAllowed(policy, { identity: identityOf(text), path, at: instant, scopes: map.scopes })[scope] ??
                    0,
                ),
              ),
            );
            expect(countIn(map.tally([row], null), at, at + 1)).toEqual(sometimes);
          }
        });
      }),
      testRuns({ usual: 20, deep: 100 }),
    );
  });
});

describe('the map of a comparison', () => {
  it('has in each cell what the one decides and the other does not, and what both decide nowhere', () => {
    fc.assert(
      fc.property(windowedWorld, windowedWorld, (before, after) => {
        const [old, changed] = [load(before), load(after)];
        const report = diffPolicies(old, changed);
        const map = makeChangeMap(report.gained, report.lost);
        const names = new Set(
          [...before.grants, ...after.grants].flatMap(({ principal }) =>
            principal.kind === 'identity' ? [formatIdentity(principal.identity)] : [],
          ),
        );
        for (const name of map.identities) names.add(name);
        for (const at of INSTANTS.map(instantOf)) {
          for (const name of names) {
            const row = map.identities.indexOf(name);
            const tallies = map.tallies(row < 0 ? [] : [row], at);
            for (const { at: place, path } of classesOf(map.nodes)) {
              const asked = { identity: identityOf(name), path, at, scopes: map.scopes };
              const [had, has] = [isAllowed(old, asked), isAllowed(changed, asked)];
              const only = (these: readonly number[], those: readonly number[]): readonly number[] =>
                these.map((held, scope) => (held === 1 && those[scope] === 0 ? 1 : 0));
              expect(tallies.map((tally) => countIn(tally, place, place + 1))).toEqual([
                only(has, had),
                only(had, has),
              ]);
            }
          }
        }
      }),
      testRuns({ usual: 15, deep: 200 }),
    );
  });
});
