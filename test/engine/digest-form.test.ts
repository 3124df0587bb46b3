// The digests are hashes of a text that anybody can write down by the definition in engine/README.md: here it is written from what each
// identity holds at each path and instant, by the slow evaluator, without tables, classes or shared texts.
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createHash } from 'node:crypto';
import { ENGINE_LIMITS } from '../../engine/compiler.js';
import { SCOPES, scopeSetOf } from '../../engine/index.js';
import type { Identity } from '../../engine/model/identity.js';
import { parentOf } from '../../engine/model/namespace.js';
import type { PolicySet } from '../../engine/model/policy-set.js';
import { decodeSnapshot, type VerifiedSnapshot } from '../../engine/snapshot/decode.js';
import { digestCells, digestNamespaces } from '../../engine/snapshot/digest-cells.js';
import { compile } from './full-policy.js';
import { exclusiveWorld, IDENTITIES, pathOf, policyOf, windowedWorld } from './oracle/worlds.js';
import { holds } from './prove/brute.js';

const STARTS = [-1, 0, 10, 20];

function sha256(...parts: readonly (string | Uint8Array)[]): Buffer {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

const digestOf = (text: string): string => `sha256:${sha256(text).toString('hex')}`;

function scopesText(names: readonly string[]): string {
  const bits = names.reduce((sum, name) => sum + (SCOPES.some((one) => one === name) ? bitOf(name) : 0), 0);
  const own = names.filter((name) => !SCOPES.some((one) => one === name)).sort();
  return own.length === 0 ? String(bits) : JSON.stringify([bits, ...own]);
}

function bitOf(name: string): number {
  return 2 ** SCOPES.findIndex((one) => one === name);
}

/** What is held at one path, for all time. */
function timeline(setAt: (instant: number) => string): string {
  const sets = STARTS.map(setAt);
  const pairs = sets.flatMap((set, i) =>
    i > 0 && set === sets[i - 1] ? [] : [`[${i === 0 ? 'null' : String(STARTS[i])},${set}]`],
  );
  return `[${pairs.join()}]`;
}

const NOTHING = '[[null,0]]';

interface Written {
  readonly decisions: string;
  readonly namespaces: readonly string[];
}

function written(set: PolicySet): Written {
  const held = holds(set);
  const own = (set.families ?? [])
    .flatMap(({ name, actions }) => ['read', 'write', ...actions].map((action) => `${name}:${action}`))
    .sort();
  const paths = new Set(['/']);
  for (const { namespace } of set.grants)
    namespace.split('/').forEach((_, i, segments) => paths.add(segments.slice(0, i + 1).join('/') || '/'));
  const below = (path: string): string => `${path === '/' ? '' : path}/nobody-named-this`;
  const textAt = (identity: Identity, path: string): string =>
    timeline((instant) => scopesText([...held(identity, pathOf(path), instant).keys()]));
  const groupsOf = (path: string, isTold: (at: string, under: string, identity: Identity) => boolean): string[] => {
    const groups = new Map<string, Identity[]>();
    for (const identity of IDENTITIES) {
      const [at, under] = [textAt(identity, path), textAt(identity, below(path))];
      if (isTold(at, under, identity))
        groups.set(`${at},${under}`, [...(groups.get(`${at},${under}`) ?? []), identity]);
    }
    return [...groups]
      .map(([rights, those]) => {
        const tokens = those.map(({ provider, subject }) => sha256(JSON.stringify([provider, subject])));
        return `[${rights},"sha256:${sha256(...tokens).toString('hex')}"]`;
      })
      .sort();
  };
  const namespaceDigest = (rights: readonly string[], children: readonly string[]): string =>
    digestOf(`["bailiwick.namespace",1,[${rights.join()}],[${children.join()}]]`);
  const childrenOf = (path: string): readonly string[] =>
    [...paths]
      .filter((one) => one !== '/' && parentOf(pathOf(one)) === path)
      .map((one) => `${one}/`)
      .sort()
      .map((one) => one.slice(0, -1));
  /** Null where nothing differs from what is inherited, nor anywhere below. */
  const changesAt = (path: string): string | null => {
    const inherited = (identity: Identity): string =>
      path === '/' ? NOTHING : textAt(identity, below(parentOf(pathOf(path)) ?? ''));
    const changes = groupsOf(path, (at, under, who) => at !== inherited(who) || under !== inherited(who));
    const children = childrenTexts(path);
    return changes.length + children.length === 0 && path !== '/' ? null : namespaceDigest(changes, children);
  };
  const childrenTexts = (path: string): readonly string[] =>
    childrenOf(path).flatMap((child) => {
      const digest = changesAt(child);
      return digest === null ? [] : [`["${child.slice(child.lastIndexOf('/') + 1)}","${digest}"]`];
    });
  const rank = new Map(IDENTITIES.map((identity, i) => [identity, i]));
  const pairs = new Set(
    set.exclusive.flatMap(({ identities }) =>
      identities.flatMap((one) =>
        identities.flatMap((other) =>
          (rank.get(one) ?? 0) < (rank.get(other) ?? 0)
            ? [JSON.stringify([one, other].map(({ provider, subject }) => `${provider}:${subject}`))]
            : [],
        ),
      ),
    ),
  );
  const whole = (cells: string): string => {
    const paired =
      pairs.size === 0 ? cells : digestOf(`["bailiwick.exclusive",1,"${cells}",[${[...pairs].sort().join()}]]`);
    return own.length === 0 ? paired : digestOf(`["bailiwick.scopes",1,"${paired}",${JSON.stringify(own)}]`);
  };
  const inOrder = (path: string): readonly string[] => [path, ...childrenOf(path).flatMap(inOrder)];
  return {
    decisions: whole(changesAt('/') ?? ''),
    namespaces: inOrder('/').map((path) => {
      const rights = groupsOf(path, (at, under) => at !== NOTHING || under !== NOTHING);
      return whole(namespaceDigest(rights, childrenTexts(path)));
    }),
  };
}

function decoded(set: PolicySet): VerifiedSnapshot {
  const result = decodeSnapshot(compile(set).bytes);
  if (!result.ok) throw new Error(result.fault.message);
  return result.snapshot;
}

function expectWritten(set: PolicySet): void {
  const { tables, holders } = decoded(set);
  const { decisions, namespaces } = written(set);
  expect(digestCells(tables, holders, { limits: ENGINE_LIMITS })).toMatchObject({ decisions });
  expect(digestNamespaces(tables, holders)).toEqual(namespaces);
}

it.each([
  ['identities that exclude each other', exclusiveWorld],
  ['members with windows', windowedWorld],
])('digests of worlds with %s are those of the text', (_, worlds) => {
  for (const set of fc.sample(worlds, { numRuns: 25, seed: 7 })) expectWritten(set);
});

it('whoever joins those who hold the same is among them, here and below', () => {
  const subsets = Array.from({ length: 8 }, (_, bits) => IDENTITIES.filter((_one, i) => ((bits >> i) & 1) === 1));
  const [READ, WRITE] = [scopeSetOf(['resource:read']), scopeSetOf(['resource:write'])];
  const some = { inherit: true, notBefore: null, expires: null, reason: null, place: null };
  for (const above of subsets)
    for (const here of subsets)
      for (const apart of subsets.slice(3, 5)) {
        const give = (those: readonly Identity[], namespace: string, change: object): PolicySet['grants'] =>
          those.map((identity) => ({
            ...{
              ...some,
              id: '',
              principal: { kind: 'identity', identity },
              namespace: pathOf(namespace),
              scopes: READ,
            },
            ...change,
          }));
        expectWritten(
          policyOf(
            [],
            [...give(above, '/', {}), ...give(here, '/a', {}), ...give(apart, '/a', { scopes: WRITE, inherit: false })],
          ),
        );
      }
});

it('what is inherited is restored behind a deep subtree, and nothing is below the deepest paths', () => {
  const give = (namespace: string, level: number, inherit: boolean): PolicySet['grants'] =>
    IDENTITIES.map((identity) => ({
      ...{ id: '', principal: { kind: 'identity', identity }, namespace: pathOf(namespace), inherit },
      ...{
        scopes: scopeSetOf(SCOPES.slice(level, level + 1)),
        notBefore: null,
        expires: null,
        reason: null,
        place: null,
      },
    }));
  const levels = [1, 2, 3, 4, 5, 6].flatMap((level) => give('/a'.repeat(level), level, true));
  expectWritten(policyOf([], [...levels, ...give('/a/z', 7, true), ...give('/z', 8, true)]));
  const digest = (inherit: boolean): unknown => {
    const { tables, holders } = decoded(policyOf([], give('/a'.repeat(32), 1, inherit)));
    return digestNamespaces(tables, holders);
  };
  expect(digest(true)).toEqual(digest(false));
});
