// What the next version of a policy need not compute again: which subtrees are the same, and that limits are counted as if nothing were known.
import { describe, expect, it, test } from '@jest/globals';
import fc from 'fast-check';
import { compileTables } from '../../engine/compile/compile-tables.js';
import { ENGINE_LIMITS } from '../../engine/limits.js';
import type { HolderClasses } from '../../engine/model/holders.js';
import { instantOf } from '../../engine/model/instant.js';
import type { PolicyGrant, PolicySet } from '../../engine/model/policy-set.js';
import { pathOfRow } from '../../engine/model/namespace-tree.js';
import type { PolicyTables } from '../../engine/model/tables.js';
import { digestCells, type DigestedCells } from '../../engine/snapshot/digest-cells.js';
import { sameSubtrees } from '../../engine/snapshot/same-subtrees.js';
import { isSurelyWithin, type FileLimits } from '../../engine/snapshot/within-limits.js';
import { grantIn, inner, person, PLAIN, role } from './checked-policies.js';
import { ADA, BOB, compile } from './full-policy.js';
import { exclusiveWorld, pathOf, windowedWorld } from './oracle/worlds.js';

interface Compiled {
  readonly tables: PolicyTables;
  readonly holders: HolderClasses;
}

function compiled(set: PolicySet): Compiled {
  const { tables, holders } = compileTables(set);
  const classes = holders(Infinity);
  if (classes === null) throw new Error('there is no limit');
  return { tables, holders: classes };
}

const LEADS = { kind: 'role', role: 'leads' } as const;
const give = (id: string, namespace: string, change: Partial<PolicyGrant> = {}): PolicyGrant => ({
  ...{ ...grantIn(id, null), namespace: pathOf(namespace) },
  ...change,
});
const GRANTS = [
  give('a', '/a', { inherit: false }),
  give('b', '/a/b', { principal: { kind: 'identity', identity: BOB } }),
  give('c', '/a/b/c'),
  give('d', '/d', { principal: LEADS }),
  give('e', '/e/f'),
];
const TREE: PolicySet = {
  ...PLAIN,
  roles: [role('crew', person(ADA)), role('leads', inner('crew'), person(BOB))],
  grants: GRANTS,
};
const without = (id: string): readonly PolicyGrant[] => GRANTS.filter((one) => one.id !== id);
const instead = (id: string, change: Partial<PolicyGrant>): PolicySet => ({
  ...TREE,
  grants: GRANTS.map((one) => (one.id === id ? { ...one, ...change } : one)),
});

describe('the same subtrees', () => {
  const same = (old: PolicySet, changed: PolicySet): readonly string[] => {
    const [before, after] = [compiled(old).tables, compiled(changed).tables];
    const [was, is] = [before, after].map((tables) =>
      Array.from(tables.namespaces.parent, (_, row) => pathOfRow(tables, row)),
    );
    return Array.from(sameSubtrees(before, after)).flatMap((row, at) => {
      if (row < 0) return [];
      expect(was?.[row]).toBe(is?.[at]);
      return [is?.[at] ?? ''];
    });
  };
  const ALL = ['/', '/a', '/a/b', '/a/b/c', '/d', '/e', '/e/f'];
  const but = (...paths: readonly string[]): readonly string[] => ALL.filter((path) => !paths.includes(path));
  const later = instantOf(5);
  test.each<[string, PolicySet, readonly string[]]>([
    ['nothing', { ...TREE }, ALL],
    ['the order of grants', { ...TREE, grants: GRANTS.toReversed() }, ALL],
    ['scopes of what is exact', instead('a', { scopes: 3 as PolicyGrant['scopes'] }), but('/', '/a')],
    [
      'scopes of what is inherited',
      instead('b', { scopes: 3 as PolicyGrant['scopes'] }),
      but('/', '/a', '/a/b', '/a/b/c'),
    ],
    ['when it begins', instead('c', { notBefore: later }), but('/', '/a', '/a/b', '/a/b/c')],
    ['when it ends', instead('c', { expires: later }), but('/', '/a', '/a/b', '/a/b/c')],
    ['who has it', instead('e', { principal: { kind: 'identity', identity: BOB } }), but('/', '/e', '/e/f')],
    ['which role has it', instead('d', { principal: { kind: 'role', role: 'crew' } }), but('/', '/d')],
    ['where it is', instead('c', { namespace: pathOf('/d/c') }), ['/e', '/e/f']],
    ['whether it is inherited', instead('a', { inherit: true }), ['/d', '/e', '/e/f']],
    ['what it is called', instead('e', { id: 'z' }), but('/', '/e', '/e/f')],
    ['one that is gone, with its namespace', { ...TREE, grants: without('e') }, ['/a', '/a/b', '/a/b/c', '/d']],
    ['one that is gone, and all others around it', { ...TREE, grants: without('c') }, ['/d', '/e', '/e/f']],
    [
      'one that is gone, and not what is below it',
      { ...TREE, grants: without('a') },
      ['/a/b', '/a/b/c', '/d', '/e', '/e/f'],
    ],
    ['one that is new, beside others', { ...TREE, grants: [...GRANTS, give('z', '/e/a')] }, but('/', '/e')],
    ['a namespace before all others', { ...TREE, grants: [...GRANTS, give('z', '/0')] }, but('/')],
    ['one for everything', { ...TREE, grants: [...GRANTS, give('z', '/')] }, []],
    ['one for the root alone', { ...TREE, grants: [...GRANTS, give('z', '/', { inherit: false })] }, but('/')],
    ['who is in a role', { ...TREE, roles: [role('crew', person(BOB)), ...TREE.roles.slice(1)] }, but('/', '/d')],
    [
      'a role that nobody is granted anything through',
      { ...TREE, roles: [...TREE.roles, role('idle', person(ADA))] },
      ALL,
    ],
    ['a role before all others', { ...TREE, roles: [...TREE.roles, role('all', inner('crew'))] }, ALL],
    ['a member less', { ...TREE, roles: [...TREE.roles.slice(0, 1), role('leads', inner('crew'))] }, but('/', '/d')],
  ])('%s', (_, changed, expected) => {
    expect(same(TREE, changed)).toEqual(expected);
  });
});

it('the same subtrees do not include what was at a namespace that is gone', () => {
  const rows = (old: PolicySet, changed: PolicySet): readonly number[] =>
    Array.from(sameSubtrees(compiled(old).tables, compiled(changed).tables));
  const having = (namespace: string): PolicySet => ({ ...TREE, grants: [...GRANTS, give('z', namespace)] });
  expect(rows(having('/'), TREE)).toEqual([-1, -1, -1, -1, -1, -1, -1]);
  expect(rows(having('/z/a'), TREE)).toEqual([-1, 1, 2, 3, 4, 5, 6]);
  expect(rows(having('/d/b'), TREE)).toEqual([-1, 1, 2, 3, -1, 6, 7]);
});

it('tables that share their namespaces are compared by their segments, too', () => {
  const { tables } = compiled(TREE);
  expect(Array.from(sameSubtrees(tables, tables))).toEqual([0, 1, 2, 3, 4, 5, 6]);
  const renamed = { ...compiled(instead('e', { namespace: pathOf('/e2/f') })).tables, namespaces: tables.namespaces };
  expect(Array.from(sameSubtrees(tables, renamed))).toEqual([-1, 1, 2, 3, 4, -1, -1]);
});

function digested({ tables, holders }: Compiled, limits = ENGINE_LIMITS, before: DigestedCells | null = null): unknown {
  const found = digestCells(tables, holders, { limits, before: before?.known ?? null });
  return typeof found === 'string' ? found : { decisions: found.decisions, digests: found.known?.digests };
}

function knownOf({ tables, holders }: Compiled): DigestedCells {
  const found = digestCells(tables, holders, { limits: ENGINE_LIMITS });
  if (typeof found === 'string') throw new Error(found);
  return found;
}

describe('digests', () => {
  it('are those of a version without another before it', () => {
    for (const [old, changed] of fc.sample(fc.tuple(exclusiveWorld, exclusiveWorld), { numRuns: 15, seed: 3 })) {
      const [before, after] = [
        compiled(old),
        compiled({
          ...changed,
          grants: [...old.grants, ...changed.grants.slice(0, 2).map((one, i) => ({ ...one, id: `z${String(i)}` }))],
          families: old.families ?? [],
        }),
      ];
      expect(digested(after, ENGINE_LIMITS, knownOf(before))).toEqual(digested(after));
    }
    for (const id of ['a', 'b', 'c', 'd', 'e']) {
      const [before, after] = [compiled(TREE), compiled({ ...TREE, grants: without(id) })];
      expect(digested(after, ENGINE_LIMITS, knownOf(before))).toEqual(digested(after));
      expect(digested(before, ENGINE_LIMITS, knownOf(after))).toEqual(digested(before));
    }
  });

  it('know what they took of each limit, at least', () => {
    const again = compiled(instead('e', { scopes: 3 as PolicyGrant['scopes'], notBefore: instantOf(0) }));
    const first = knownOf(compiled(TREE));
    expect(first.known?.spent).toEqual({ expandedRows: 6, intervals: 0 });
    const found = digestCells(again.tables, again.holders, { limits: ENGINE_LIMITS, before: first.known });
    // One identity at one namespace more, and what is kept: a timeline of two intervals, and a union of it.
    expect(typeof found === 'string' ? found : found.known?.spent).toEqual({ expandedRows: 7, intervals: 3 });
  });

  it('count what is written in each namespace, where that is more than what is kept', () => {
    const [from, until] = [instantOf(0), instantOf(1)];
    const beside = compiled({
      ...PLAIN,
      grants: ['a', 'b', 'c', 'd'].map((id) => give(id, `/${id}`, { notBefore: from, expires: until })),
    });
    // Three intervals at each and three below it, less the first of each.
    expect(knownOf(beside).known?.spent).toEqual({ expandedRows: 4, intervals: 4 * 4 });
    const { tables, holders } = beside;
    const { sizes } = isSurelyWithin(tables, holders, { limits: ENGINE_LIMITS, before: null });
    expect(sizes?.spent).toEqual({ expandedRows: 4, intervals: 4 * 4 });
    const limited = (intervals: number): unknown[] => [
      typeof digested(beside, { ...ENGINE_LIMITS, intervals }),
      isSurelyWithin(tables, holders, { limits: { ...ENGINE_LIMITS, intervals }, before: null }).isSure,
    ];
    expect([limited(16), limited(15)]).toEqual([
      ['object', true],
      ['string', false],
    ]);
  });

  it('know nothing, and begin anew, where every child of a namespace has grants', () => {
    const above = `/${Array.from({ length: 15 }, () => 'x'.repeat(63)).join('/')}/${'x'.repeat(61)}`;
    const scopes = (bits: number): Partial<PolicyGrant> => ({ scopes: bits as PolicyGrant['scopes'] });
    const children = Array.from('abcdefghijklmnopqrstuvwxyz0123456789_~-');
    const each = (bits: (child: number) => number): readonly PolicyGrant[] =>
      children.map((child, i) => give(`g${String(i)}`, `${above}/${child}`, scopes(bits(i))));
    const full = (...grants: readonly PolicyGrant[]): Compiled => compiled({ ...PLAIN, grants });
    const atParent = full(give('p', above, scopes(1)), ...each(() => 3));
    const atChildren = full(give('p', above, { ...scopes(1), inherit: false }), ...each(() => 3));
    expect(knownOf(atParent)).toEqual({ decisions: knownOf(atChildren).decisions, known: null });
    const less = full(give('p', above, { ...scopes(1), inherit: false }), ...each((i) => (i === 9 ? 2 : 3)));
    expect(knownOf(less).decisions).not.toBe(knownOf(atChildren).decisions);
    const open = full(give('p', above, scopes(1)), ...each(() => 3).slice(1));
    expect(digested(atParent, ENGINE_LIMITS, knownOf(open))).toEqual(digested(atParent));
    const [one, other] = [open, atParent].map(({ tables, holders }) =>
      isSurelyWithin(tables, holders, { limits: ENGINE_LIMITS, before: null }),
    );
    // Said at each child, it is held below the parent, and nothing differs at any of them.
    const { tables, holders } = full(...each(() => 3));
    const limits = { ...ENGINE_LIMITS, expandedRows: 1 };
    expect(isSurelyWithin(tables, holders, { limits, before: null }).isSure).toBe(true);
    expect([one, other]).toEqual([
      { isSure: true, sizes: null },
      { isSure: true, sizes: null },
    ]);
  });

  it('are refused at the same sizes as without another version', () => {
    const after = compiled(instead('e', { notBefore: instantOf(0) }));
    const before = knownOf(compiled(TREE));
    const refused = (name: 'expandedRows' | 'intervals'): readonly unknown[] =>
      Array.from({ length: 9 }, (_, limit) => {
        const limits = { ...ENGINE_LIMITS, [name]: limit };
        const [alone, known] = [digested(after, limits), digested(after, limits, before)];
        expect(known).toEqual(alone);
        return typeof alone === 'string' ? alone : 'within';
      });
    const within = (count: number): readonly string[] => Array.from({ length: count }, () => 'within');
    expect(refused('expandedRows')).toEqual([...Array.from({ length: 4 }, () => 'expandedRows'), ...within(5)]);
    expect(refused('intervals')).toEqual(['intervals', 'intervals', 'intervals', ...within(6)]);
  });
});

describe('what is surely within the limits', () => {
  const sure = (
    { tables, holders }: Compiled,
    limits: Partial<FileLimits>,
    before: Parameters<typeof isSurelyWithin>[2]['before'] = null,
  ): boolean => isSurelyWithin(tables, holders, { limits: { ...ENGINE_LIMITS, ...limits }, before }).isSure;
  /** The least limit with which it is sure. */
  const least = (name: keyof FileLimits, from: Compiled, before: Parameters<typeof sure>[2] = null): number => {
    let [low, high] = [-1, 10_000_000];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (sure(from, { [name]: middle }, before)) high = middle;
      else low = middle;
    }
    return high;
  };

  it('counts each identity that a grant reaches, where rights never change', () => {
    expect(least('expandedRows', compiled(TREE))).toBe(6);
    expect(least('intervals', compiled(TREE))).toBe(0);
    const { tables, holders } = compiled(TREE);
    expect(isSurelyWithin(tables, holders, { limits: ENGINE_LIMITS, before: null })).toEqual({
      isSure: true,
      sizes: null,
    });
  });

  it.each<[string, PolicySet, number, number]>([
    ['begin', instead('e', { notBefore: instantOf(0) }), 6, 3],
    ['end', instead('e', { expires: instantOf(0) }), 6, 3],
    ['begin and end', instead('e', { notBefore: instantOf(0), expires: instantOf(1) }), 6, 4],
    [
      'never change and have other scopes',
      { ...TREE, families: [{ name: 'invoice', actions: [], description: null }] },
      6,
      0,
    ],
  ])('counts what is hashed and written, where rights %s', (_, set, rows, intervals) => {
    expect([least('expandedRows', compiled(set)), least('intervals', compiled(set))]).toEqual([rows, intervals]);
  });

  it('adds what has changed to what an earlier version took', () => {
    const [old, changed] = [
      compiled(instead('e', { notBefore: instantOf(0) })),
      compiled({
        ...instead('e', { notBefore: instantOf(0) }),
        grants: [...instead('e', { notBefore: instantOf(0) }).grants, give('z', '/z')],
      }),
    ];
    const { sizes } = isSurelyWithin(old.tables, old.holders, { limits: ENGINE_LIMITS, before: null });
    expect(sizes?.spent).toEqual({ expandedRows: 6, intervals: 3 });
    const next = isSurelyWithin(changed.tables, changed.holders, { limits: ENGINE_LIMITS, before: sizes });
    expect(next.sizes?.spent).toEqual({ expandedRows: 7, intervals: 3 });
    expect(next.sizes?.tables).toBe(changed.tables);
    const later = compiled(instead('e', { notBefore: instantOf(1) }));
    expect(isSurelyWithin(later.tables, later.holders, { limits: ENGINE_LIMITS, before: sizes }).sizes?.spent).toEqual({
      ...{ expandedRows: 7, intervals: 6 },
    });
    const words = compiled({ ...TREE, families: [{ name: 'invoice', actions: [], description: null }] });
    expect(isSurelyWithin(words.tables, words.holders, { limits: ENGINE_LIMITS, before: null }).sizes?.spent).toEqual({
      ...{ expandedRows: 6, intervals: 0 },
    });
    // Too much on top of it is counted from nothing.
    expect([least('expandedRows', changed, sizes), least('intervals', changed, sizes)]).toEqual([7, 3]);
    const large = { tables: old.tables, spent: { expandedRows: 1e9, intervals: 1e9 } };
    expect([least('expandedRows', changed, large), least('intervals', changed, large)]).toEqual([7, 3]);
  });

  it('is never more than the file and the digest', () => {
    for (const set of fc.sample(fc.oneof(exclusiveWorld, windowedWorld), { numRuns: 6, seed: 5 })) {
      const one = compiled(set);
      expect(least('snapshotBytes', one)).toBeGreaterThanOrEqual(compile(set).bytes.length);
      for (const name of ['expandedRows', 'intervals'] as const) {
        const limits = { ...ENGINE_LIMITS, [name]: least(name, one) };
        expect(digested(one, limits)).toEqual(digested(one));
      }
    }
  });

  it('counts the bytes of each row and text', () => {
    const none = least('snapshotBytes', compiled(PLAIN));
    // The root, and the names of two providers.
    expect(none).toBe(1_000_000 + 12 * 2 + 6 * 11 + 3 * 2);
    const more = (set: Partial<PolicySet>): number => least('snapshotBytes', compiled({ ...PLAIN, ...set })) - none;
    const alone = { roles: [role('a', person(ADA))] };
    // A subject and a name, one role and one member.
    expect(more(alone)).toBe(6 * 3 + 3 + 6 + 3 + 12 * (4 + 7));
    expect(more({ roles: [{ ...role('a', person(ADA)), description: 'xy' }] }) - more(alone)).toBe(6 * 2 + 3);
    const windowed = { roles: [role('a', { ...person(ADA), notBefore: instantOf(0) })] };
    expect(more(windowed) - more(alone)).toBe(2 * 17);
    const granted = { grants: [give('a', '/b')] };
    // An id, a subject and a segment, a grant and a namespace.
    expect(more(granted)).toBe(6 * 5 + 3 * 3 + 12 * (9 + 2) + 2 * 17);
    expect(more({ grants: [give('a', '/b', { reason: 'xy' })] }) - more(granted)).toBe(6 * 2 + 3 + 12);
    expect(more({ ...granted, families: [{ name: 'invoice', actions: [], description: null }] }) - more(granted)).toBe(
      64 * 140,
    );
    const pair = { exclusive: [{ identities: [ADA, BOB], place: null }] };
    expect(more(pair)).toBe(6 * 6 + 3 * 2 + 12 * 2);
  });
});
