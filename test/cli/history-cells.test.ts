// `history` and `find` against brute force: repositories of any shape, written by git, whose policies are generated. Each commit
// is compared with the last one before it that compiles, cell by cell, by the slow evaluator.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { compilePolicy, type DiffRow, openCompiled, readPolicy } from '../../engine/compiler.js';
import { formatIdentity, parseInstant } from '../../engine/index.js';
import type { PolicySet } from '../../engine/model/policy-set.js';
import { filesOf, holds, isDuring, isInRegion, TIMES } from '../engine/prove/brute.js';
import { IDENTITIES, UNIVERSE, windowedWorld } from '../engine/oracle/worlds.js';
import { makeHistory, type MadeHistory } from '../support/git-history.js';
import { runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';
import { testRuns } from '../support/test-runs.js';

interface Planned {
  /** Null if the folder does not compile, or is not there. */
  readonly set: PolicySet | null;
  readonly files: Readonly<Record<string, string>>;
  readonly parents: readonly number[];
}

const KINDS = [
  'next',
  'next',
  'broken',
  'absent',
  'side',
  'side',
  'side',
  'sideBroken',
  'merge',
  'merge',
  'move',
] as const;
interface PlannedStep {
  readonly kind: (typeof KINDS)[number];
  readonly world: number;
}
const steps: fc.Arbitrary<readonly PlannedStep[]> = fc.array(
  fc.record({ kind: fc.constantFrom(...KINDS), world: fc.nat() }),
  {
    minLength: 6,
    maxLength: 16,
  },
);

interface Plan {
  readonly commits: readonly Planned[];
  /** Where the folder is in the newest commit. */
  readonly folder: string;
}

/** A branch with side branches that it merges. A side branch may begin from another one's end, and is merged once. */
function planOf(worlds: readonly PolicySet[], asked: readonly PlannedStep[]): Plan {
  const commits: Planned[] = [];
  let [folder, main, side]: [string, number | null, number | null] = ['policies', null, null];
  const add = (set: PolicySet | null | 'absent', parents: readonly (number | null)[]): number => {
    const files = set === 'absent' ? {} : set === null ? BROKEN : textsOf(set);
    const inFolder = Object.entries(files).map(([path, text]) => [`${folder}/${path}`, text] as const);
    commits.push({
      set: set === 'absent' ? null : set,
      files: { ...Object.fromEntries(inFolder), 'README.md': String(commits.length) },
      parents: parents.filter((one) => one !== null),
    });
    return commits.length - 1;
  };
  for (const { kind, world } of asked) {
    const set = worlds[world % worlds.length] ?? null;
    if (kind === 'next') main = add(set, [main]);
    else if (kind === 'broken') main = add(null, [main]);
    else if (kind === 'absent') main = add('absent', [main]);
    else if (kind === 'side') side = add(set, [side ?? main]);
    else if (kind === 'sideBroken') side = add(null, [side ?? main]);
    else if (kind === 'merge' && side !== null && main !== null) [main, side] = [add(set, [main, side]), null];
    else if (kind === 'move' && side === null && main !== null && commits[main]?.set !== null) {
      folder = folder === 'policies' ? 'access/here' : 'policies';
      main = add(commits[main]?.set ?? null, [main]);
    }
  }
  add(worlds[0] ?? null, [main]);
  return { commits, folder };
}

const BROKEN = { 'policy.yaml': 'bailiwick: 1\nname: broken\nproviders: {}\n', 'all.yaml': 'grants: nothing\n' };

function textsOf(set: PolicySet): Readonly<Record<string, string>> {
  return Object.fromEntries(filesOf(set).map(({ path, bytes }) => [path, new TextDecoder().decode(bytes)]));
}

/** Some generated policies are none that an author could write. */
const world = windowedWorld.filter((set) => readPolicy(filesOf(set)).policy !== null);

const cells = new WeakMap<PolicySet, ReadonlySet<string>>();

/** Everything that anybody holds anywhere at any time. */
function cellsOf(set: PolicySet | null): ReadonlySet<string> {
  if (set === null) return new Set();
  const known = cells.get(set);
  if (known !== undefined) return known;
  const held = holds(set);
  const all = IDENTITIES.flatMap((identity) =>
    UNIVERSE.flatMap((path) =>
      TIMES.flatMap((at) =>
        [...held(identity, path, at).keys()].map((scope) => cellOf(formatIdentity(identity), scope, path, at)),
      ),
    ),
  );
  const made = new Set(all);
  cells.set(set, made);
  return made;
}

function cellOf(identity: string, scope: string, path: string, at: number): string {
  return `${identity} ${scope} ${path} ${String(at)}`;
}

interface Delta {
  readonly gained: ReadonlySet<string>;
  readonly lost: ReadonlySet<string>;
}

const NOTHING: Delta = { gained: new Set(), lost: new Set() };

function deltaOf(before: PolicySet | null, after: PolicySet): Delta {
  const [old, now] = [cellsOf(before), cellsOf(after)];
  const without = (some: ReadonlySet<string>, others: ReadonlySet<string>): ReadonlySet<string> =>
    new Set([...some].filter((cell) => !others.has(cell)));
  return { gained: without(now, old), lost: without(old, now) };
}

/** The last policy from a commit back along first parents. */
function lastSet(commits: readonly Planned[], from: number | undefined): PolicySet | null {
  const commit = from === undefined ? undefined : commits[from];
  return commit === undefined ? null : (commit.set ?? lastSet(commits, commit.parents[0]));
}

function firstParents(commits: readonly Planned[], from: number | undefined): readonly number[] {
  return from === undefined ? [] : [...firstParents(commits, commits[from]?.parents[0]), from];
}

function ancestors(commits: readonly Planned[], from: number): ReadonlySet<number> {
  const found = new Set([from]);
  for (const one of found) for (const parent of commits[one]?.parents ?? []) found.add(parent);
  return found;
}

interface JsonRow {
  readonly commit: string;
  readonly change: 'gained' | 'lost';
  readonly row: Omit<DiffRow, 'from' | 'until'> & { readonly from: string | null; readonly until: string | null };
  readonly by?: readonly { readonly commit: string }[];
}

function rowCells({ row }: JsonRow, identities: readonly string[] = row.identities): readonly string[] {
  const stretch = { from: instant(row.from), until: instant(row.until) };
  return UNIVERSE.filter((path) => isInRegion(row, path)).flatMap((path) =>
    TIMES.filter((at) => isDuring(stretch, at)).flatMap((at) =>
      row.scopes.flatMap((scope) => identities.map((identity) => cellOf(identity, scope, path, at))),
    ),
  );
}

function instant(text: string | null): number | null {
  return text === null ? null : parseInstant(text);
}

async function rowsOf(made: MadeHistory, args: readonly string[]): Promise<readonly JsonRow[]> {
  const { status, stdout } = await runCli(['history', ...args, '--format', 'json'], { cwd: made.path });
  expect(status).toBe(0);
  const lines = stdout.split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as JsonRow).filter((one) => 'row' in one);
}

/** Who of the merged commits changed some of what a row says of an identity. */
function creditOf({ commits, merge }: { commits: readonly Planned[]; merge: number }, one: JsonRow, identity: string) {
  const before = ancestors(commits, commits[merge]?.parents[0] ?? 0);
  const theirs = new Set(rowCells(one, [identity]));
  return [...ancestors(commits, merge)].filter((index) => {
    const { set, parents } = commits[index] ?? { set: null, parents: [] };
    if (index === merge || before.has(index) || set === null) return false;
    return [...deltaOf(lastSet(commits, parents[0]), set)[one.change]].some((cell) => theirs.has(cell));
  });
}

describe('the history of a policy', () => {
  const property = fc.asyncProperty(fc.array(world, { minLength: 3, maxLength: 5 }), steps, async (worlds, asked) => {
    const { commits, folder } = planOf(worlds, asked);
    const made = await makeHistory(commits);
    const cache = await makeFolder();
    const rows = await rowsOf(made, [`main:${folder}`, '--cache', cache]);
    // What was kept, and what is computed, are the same.
    expect(await rowsOf(made, [`main:${folder}`, '--cache', cache])).toEqual(rows);
    expect(await rowsOf(made, [`main:${folder}`, '--no-cache'])).toEqual(rows);
    const line = firstParents(commits, commits.length - 1);
    for (const index of line) {
      const { set, parents } = commits[index] ?? { set: null, parents: [] };
      const own = rows.filter(({ commit }) => commit === made.names[index]);
      const expected = set === null ? NOTHING : deltaOf(lastSet(commits, parents[0]), set);
      for (const change of ['gained', 'lost'] as const) {
        const shown = own.filter((one) => one.change === change).flatMap((one) => rowCells(one));
        expect([...shown].sort()).toEqual([...expected[change]].sort());
      }
      for (const one of own)
        for (const identity of one.row.identities) {
          const names = creditOf({ commits, merge: index }, one, identity).map((by) => made.names[by]);
          expect(one.by?.map(({ commit }) => commit).sort()).toEqual(parents.length < 2 ? undefined : names.sort());
        }
    }
    expect(new Set(rows.map(({ commit }) => commit)).size).toBeLessThanOrEqual(line.length);
  });

  it('has each cell that came or went at the commit that gave or took it, and the merged commits that did', async () => {
    await fc.assert(property, { ...testRuns({ usual: 4, deep: 200 }), endOnFailure: true });
  });

  it('has all commits that compile to a digest, merged ones included', async () => {
    const finds = fc.asyncProperty(fc.array(world, { minLength: 2, maxLength: 3 }), steps, async (worlds, asked) => {
      const { commits, folder } = planOf(worlds, asked);
      const made = await makeHistory(commits, 'sha256');
      const known = [...ancestors(commits, commits.length - 1)].flatMap((index) => {
        const { set = null } = commits[index] ?? {};
        return set === null ? [] : [{ name: made.names[index] ?? '', ...digestsOf(set) }];
      });
      for (const kind of ['snapshot', 'decisions'] as const)
        for (const digest of new Set(known.map((one) => one[kind]))) {
          const { status, stdout } = await runCli(
            ['find', digest, `main:${folder}`, '--no-cache', '--format', 'json'],
            {
              cwd: made.path,
            },
          );
          expect(status).toBe(0);
          const found = stdout
            .split('\n')
            .filter(Boolean)
            .map((text) => (JSON.parse(text) as JsonRow).commit);
          const expected = known.filter((one) => one[kind] === digest).map(({ name }) => name);
          expect([...found].sort()).toEqual(expected.sort());
        }
    });
    await fc.assert(finds, { ...testRuns({ usual: 2, deep: 30 }), endOnFailure: true });
  });
});

/** By the compiler alone. */
function digestsOf(set: PolicySet): { readonly snapshot: string; readonly decisions: string } {
  const { policy } = readPolicy(filesOf(set));
  const compiled = policy === null ? null : compilePolicy(policy);
  const loaded = compiled?.ok === true ? openCompiled(compiled.snapshot) : null;
  if (loaded?.ok !== true) throw new Error('a generated world compiles');
  return { snapshot: loaded.policy.digest, decisions: loaded.policy.decisions };
}
