// What changed of the checks of two policies, and which of it is weaker; and what of it only a merge weakens.
import { describe, expect, it, test } from '@jest/globals';
import { areChecksWeaker, type CheckedPolicy, diffChecks, emergentChecks } from '../../engine/compiler.js';
import { type Identity, scopeSetOf } from '../../engine/index.js';
import type { GuardrailRule, PolicyGrant, PolicySet } from '../../engine/model/policy-set.js';
import { digestChecks } from '../../engine/snapshot/checks.js';
import { folderChanges } from '../../engine/snapshot/folder-changes.js';
import { BOTH, EVE, EVERYONE, grantIn, guarded, PLAIN, READ, WRITE } from './checked-policies.js';
import { ADA, BOB, FULL } from './full-policy.js';
import { pathOf } from './oracle/worlds.js';

describe('a folder or file that changed', () => {
  const [A, AB, C] = [pathOf('/a'), pathOf('/a/b'), pathOf('/c')];
  type Folder = PolicySet['folders'][number];
  const folder = (path: string, within: Folder['within'], exports: Folder['exports'] = null): Folder => ({
    ...{ path, within, exports, place: null },
  });
  const having = (folders: readonly Folder[], grants: readonly PolicyGrant[] = []): PolicySet => ({
    ...PLAIN,
    folders,
    grants,
  });

  test.each<[string, Folder, Folder, readonly string[], readonly (readonly [string, string, boolean])[]]>([
    ['narrower', folder('x', A), folder('x', AB), ['within /a → /a/b'], []],
    ['wider', folder('x', AB), folder('x', A), ['within /a/b → /a'], [['within', 'within /a', false]]],
    ['elsewhere', folder('x', A), folder('x', C), ['within /a → /c'], [['within', 'within /c', false]]],
    [
      'exports',
      folder('x', A, ['one', 'two']),
      folder('x', A, ['two', 'four', 'three']),
      ['exports four, three', 'no longer exports one'],
      [
        ['exports', 'exports four', true],
        ['exports', 'exports three', true],
      ],
    ],
    ['exports less', folder('x', A, ['one', 'two']), folder('x', A), ['no longer exports one, two'], []],
    ['exports at first', folder('x', A), folder('x', A, ['one']), ['exports one'], [['exports', 'exports one', true]]],
  ])('%s', (_, was, is, changes, reasons) => {
    const weakenings = reasons.map(([field, text, isOneOfSeveral]) => ({ field, text, isOneOfSeveral }));
    expect(folderChanges(having([was]), having([is]))).toEqual([
      { id: 'x', weaker: reasons.length > 0, changes, weakenings },
    ]);
    expect(folderChanges(having([was]), having([was]))).toEqual([]);
    expect(folderChanges(having([]), having([is]))).toEqual([]);
  });

  const gone = (id: string, text: string): unknown => [
    { id, weaker: true, changes: [text], weakenings: [{ field: 'within', text, isOneOfSeveral: true }] },
  ];
  it('is weaker if a folder is no longer delegated', () => {
    expect(folderChanges(having([folder('x', A, [])]), having([]))).toEqual(gone('x', 'no longer delegated'));
  });

  const FILE = 'x/f.yaml';
  const one = (file: string | null): readonly PolicyGrant[] => [grantIn('one', file)];
  const NO_LONGER = gone(FILE, 'no longer within /a');
  test.each<[string, PolicySet, unknown]>([
    ['its grant is where it was', having([], one(FILE)), NO_LONGER],
    ['another grant is there', having([], [grantIn('two', FILE)]), NO_LONGER],
    ['its grant is elsewhere', having([], one('y/f.yaml')), NO_LONGER],
    ['its grant is gone', having([], []), []],
    ['its grant has no place', having([], one(null)), []],
    ['another grant is elsewhere', having([], [grantIn('two', 'y/f.yaml')]), []],
    ['its grant is in a file within the same', having([folder('y/f.yaml', A)], one('y/f.yaml')), []],
    ['its grant is in a file within less', having([folder('y/f.yaml', AB)], one('y/f.yaml')), []],
    ['its grant is in a file within something else', having([folder('y/f.yaml', C)], one('y/f.yaml')), NO_LONGER],
    ['its folder is bounded alike', having([folder('x', A, [])], one(FILE)), []],
    ['a folder far around it is bounded alike', having([folder('y', A, [])], one('y/z/f.yaml')), []],
    ['a folder with a longer name is bounded alike', having([folder('y', A, [])], one('yz/f.yaml')), NO_LONGER],
    [
      'the nearer of two folders is bounded alike',
      having([folder('y', C, []), folder('y/z', A, [])], one('y/z/f.yaml')),
      [],
    ],
    [
      'the nearer of two folders is not',
      having([folder('y', A, []), folder('y/z', C, [])], one('y/z/f.yaml')),
      NO_LONGER,
    ],
  ])('is weaker if a file is no longer bounded and its grants are left open: %s', (_, after, changes) => {
    expect(folderChanges(having([folder(FILE, A)], one(FILE)), after)).toEqual(changes);
  });

  it('does not ask where the grants of other files are', () => {
    const [grants, moved] = [[grantIn('one', FILE), grantIn('two', 'z.yaml')], [grantIn('two', 'y.yaml')]];
    expect(folderChanges(having([folder(FILE, A)], grants), having([], moved))).toEqual([]);
    // Nor where those are that have none.
    const nowhere = [grantIn('one', FILE), grantIn('two', null)];
    expect(folderChanges(having([folder(FILE, A)], nowhere), having([], []))).toEqual([]);
  });
});

describe('checks of two policies', () => {
  const checked = (set: PolicySet, accepted: readonly (readonly [string, number])[] = []): CheckedPolicy => ({
    ...{ digest: JSON.stringify(set), checks: digestChecks(set), set, accepted: new Map(accepted) },
  });
  const stated = (set: PolicySet, change: Partial<CheckedPolicy> = {}): CheckedPolicy => ({
    ...checked(set),
    set: null,
    ...change,
  });
  const somebody = (name: string, ...identities: Identity[]): PolicySet['people'][number] => ({
    ...{ name, identities, place: null },
  });
  const [base] = FULL.tests;
  if (base === undefined) throw new Error('FULL has a test');
  const testOf = (name: string, identity: Identity): PolicySet['tests'][number] => ({
    ...base,
    name,
    identities: [identity],
  });
  const EMPTY = { added: [], removed: [], changed: [] };

  it('are listed by name, with both forms of what may be weaker', () => {
    const rule = (scopes: typeof READ): GuardrailRule => ({ kind: 'never', scopes, under: pathOf('/a'), ...EVERYONE });
    const [old, changed] = [BOTH, READ].map((scopes, i): PolicySet => ({
      ...guarded(rule(scopes)),
      people: [somebody('bob', BOB, ...(i === 0 ? [] : [EVE])), somebody(i === 0 ? 'ann' : 'zoe', ADA)],
      tests: [testOf('b', ADA), testOf('b', i === 0 ? BOB : EVE), testOf('a', ADA)],
      folders: [{ path: 'x', within: pathOf('/a'), exports: i === 0 ? [] : ['crew'], place: null }],
    }));
    if (old === undefined || changed === undefined) throw new Error('two policies');
    const diff = diffChecks(
      checked(old, [
        ['LINT_B', 1],
        ['LINT_A', 2],
        ['LINT_C', 1],
      ]),
      checked(changed, [
        ['LINT_B', 2],
        ['LINT_A', 2],
        ['LINT_D', 1],
        ['LINT_C', 0],
      ]),
    );
    const form = (scopes: string): string => `{"except":[],"never":[${scopes}],"to":null,"under":"/a"}\n`;
    expect(diff).toMatchObject({
      kind: 'listed',
      checks: {
        people: { added: ['zoe'], removed: ['ann'], changed: ['bob'] },
        tests: { added: [], removed: [], changed: ['b'] },
        guardrails: { added: [], removed: [], changed: ['g'] },
        delegation: { added: [], removed: [], changed: ['x'] },
        exclusive: EMPTY,
      },
      guardrails: [{ id: 'g', before: form('"resource:read","resource:write"'), after: form('"resource:read"') }],
      delegation: [{ id: 'x', weaker: true }],
      accepted: ['LINT_B 1 → 2', 'LINT_D 0 → 1'],
    });
  });

  const EVEN = { ...PLAIN, people: [somebody('bob', BOB)], tests: [testOf('a', ADA)] };
  const folders = (exports: readonly string[]): Partial<PolicySet> => ({
    folders: [{ path: 'x', within: pathOf('/a'), exports, place: null }],
  });
  const pairs = (...identities: Identity[]): Partial<PolicySet> => ({ exclusive: [{ identities, place: null }] });
  const rule = (scopes: typeof READ): GuardrailRule => ({ kind: 'never', scopes, under: pathOf('/a'), ...EVERYONE });
  test.each<[string, PolicySet, PolicySet, boolean, boolean]>([
    ['nothing', EVEN, EVEN, false, false],
    ['a person', EVEN, { ...EVEN, people: [] }, true, true],
    ['who a person is', EVEN, { ...EVEN, people: [somebody('bob', EVE)] }, true, true],
    ['a test', EVEN, { ...EVEN, tests: [] }, true, false],
    ['what a test says', EVEN, { ...EVEN, tests: [testOf('a', EVE)] }, true, true],
    ['a guardrail', guarded(rule(READ)), PLAIN, true, false],
    ['what a guardrail says', guarded(rule(BOTH)), guarded(rule(READ)), true, false],
    ['whether a folder is delegated', { ...PLAIN, ...folders([]) }, PLAIN, true, false],
    ['what a folder exports', { ...PLAIN, ...folders([]) }, { ...PLAIN, ...folders(['crew']) }, true, false],
    [
      'a file without grants that is bounded',
      { ...PLAIN, folders: [{ path: 'x.yaml', within: pathOf('/a'), exports: null, place: null }] },
      PLAIN,
      false,
      false,
    ],
    ['who excludes whom', { ...PLAIN, ...pairs(ADA, BOB) }, PLAIN, true, false],
  ])('are weaker in one direction or both: %s', (_, old, changed, forwards, backwards) => {
    expect(areChecksWeaker(diffChecks(checked(old), checked(changed)))).toBe(forwards);
    expect(areChecksWeaker(diffChecks(checked(changed), checked(old)))).toBe(backwards);
  });

  it('are sorted, whatever their order, and what is gone has no form', () => {
    const [old, changed] = [BOTH, READ].map((scopes, i): PolicySet => ({
      ...PLAIN,
      guardrails: ['b', 'a'].map((id) => ({ id, description: null, rule: rule(scopes), place: null })),
      folders: i === 0 ? [{ path: 'x', within: pathOf('/a'), exports: [], place: null }] : [],
    }));
    if (old === undefined || changed === undefined) throw new Error('two policies');
    const accepted = ['LINT_B', 'LINT_A'].map((name) => [name, 1] as const);
    expect(diffChecks(checked(old), checked(changed, accepted))).toMatchObject({
      checks: { guardrails: { changed: ['a', 'b'] }, delegation: { removed: ['x'] } },
      delegation: [{ id: 'x', before: expect.stringContaining('/a'), after: '' }],
      accepted: ['LINT_A 0 → 1', 'LINT_B 0 → 1'],
    });
  });

  it('are weaker if more findings are accepted', () => {
    const weaker = (before: number, after: number): boolean =>
      areChecksWeaker(diffChecks(checked(EVEN, [['LINT_A', before]]), checked(EVEN, [['LINT_A', after]])));
    expect([weaker(1, 1), weaker(1, 2), weaker(2, 1)]).toEqual([false, true, false]);
  });

  it('of a snapshot differ by their digests alone', () => {
    const other = { ...EVEN, tests: [] };
    const kinds = (old: CheckedPolicy, changed: CheckedPolicy): readonly string[] => {
      const diff = diffChecks(old, changed);
      expect(areChecksWeaker(diff)).toBe(Object.values(diff.checks).some(({ changed: one }) => one === true));
      return diff.kind === 'listed'
        ? ['listed']
        : Object.entries(diff.checks).flatMap(([kind, one]) => (one.changed ? [kind] : []));
    };
    const all = ['delegation', 'exclusive', 'guardrails', 'people', 'tests'];
    expect(kinds(stated(EVEN), checked(other)).toSorted()).toEqual(['tests']);
    expect(kinds(checked(EVEN), stated(other)).toSorted()).toEqual(['tests']);
    expect(kinds(stated(EVEN), stated(EVEN, { digest: 'another' }))).toEqual([]);
    expect(kinds(stated(EVEN), stated(other, { checks: null })).toSorted()).toEqual(all);
    expect(kinds(stated(EVEN, { checks: null }), stated(other)).toSorted()).toEqual(all);
    expect(kinds(stated(EVEN, { checks: null }), stated(EVEN))).toEqual([]);
  });

  describe('that a merge weakens', () => {
    const change = (set: PolicySet, from: PolicySet | null = null): Parameters<typeof emergentChecks>[2][number] => ({
      policy: checked(set),
      from: from === null ? null : checked(from),
    });
    const twice = { ...EVEN, tests: [testOf('a', ADA), testOf('b', BOB)] };
    const without = (...names: readonly string[]): PolicySet => ({
      ...twice,
      tests: twice.tests.filter(({ name }) => !names.includes(name)),
    });
    const removed = (name: string): unknown => ({ kind: 'tests', change: 'removed', name });
    test.each<[string, PolicySet, PolicySet, readonly PolicySet[], readonly unknown[]]>([
      ['two tests, of which one was reviewed', twice, without('a', 'b'), [without('a')], [removed('b')]],
      ['two tests, each reviewed', twice, without('a', 'b'), [without('a'), without('b')], []],
      ['two tests, none reviewed', twice, without('a', 'b'), [], [removed('a'), removed('b')]],
      [
        'a person, otherwise than reviewed',
        EVEN,
        { ...EVEN, people: [somebody('bob', EVE)] },
        [{ ...EVEN, people: [somebody('bob', ADA)] }],
        [{ kind: 'people', change: 'changed', name: 'bob' }],
      ],
      [
        'a person, of whom it was reviewed that there is none',
        EVEN,
        { ...EVEN, people: [somebody('bob', EVE)] },
        [{ ...EVEN, people: [] }],
        [],
      ],
      [
        'a person who is new, otherwise than reviewed',
        PLAIN,
        { ...PLAIN, people: [somebody('bob', EVE)] },
        [{ ...PLAIN, people: [somebody('bob', ADA)] }],
        [{ kind: 'people', change: 'added', name: 'bob' }],
      ],
      [
        'a person who is new, as reviewed',
        PLAIN,
        { ...PLAIN, people: [somebody('bob', EVE)] },
        [{ ...PLAIN, people: [somebody('bob', EVE)] }],
        [],
      ],
      [
        'a guardrail in two ways',
        guarded(rule(BOTH)),
        guarded({ ...rule(scopeSetOf(['namespace:read'])), under: pathOf('/a/b') } as GuardrailRule),
        [],
        [
          {
            ...{ kind: 'guardrails', change: 'weaker', name: 'g' },
            text: 'scopes lost resource:read; scopes lost resource:write; under /a → /a/b',
          },
        ],
      ],
      [
        'a guardrail in two ways, of which one was reviewed',
        guarded(rule(BOTH)),
        guarded({ ...rule(READ), under: pathOf('/a/b') } as GuardrailRule),
        [guarded(rule(READ))],
        [{ kind: 'guardrails', change: 'weaker', name: 'g', text: 'under /a → /a/b' }],
      ],
      [
        'a guardrail, less than was reviewed',
        guarded(rule(READ)),
        guarded({ ...rule(READ), under: pathOf('/a/b') } as GuardrailRule),
        [guarded({ ...rule(READ), under: pathOf('/a/b/c') } as GuardrailRule)],
        [],
      ],
      [
        'a guardrail, more than was reviewed',
        guarded(rule(READ)),
        guarded({ ...rule(READ), under: pathOf('/a/b/c') } as GuardrailRule),
        [guarded({ ...rule(READ), under: pathOf('/a/b') } as GuardrailRule)],
        [{ kind: 'guardrails', change: 'weaker', name: 'g', text: 'under /a → /a/b/c' }],
      ],
      [
        'a guardrail of another kind, as reviewed',
        guarded(rule(READ)),
        guarded({ kind: 'expires', providers: [], withinMilliseconds: 1, each: true }),
        [guarded({ kind: 'expires', providers: [], withinMilliseconds: 1, each: true })],
        [],
      ],
      [
        'a guardrail of a third kind',
        guarded(rule(READ)),
        guarded({ kind: 'separate', sides: [READ, WRITE], under: pathOf('/'), ...EVERYONE }),
        [guarded({ kind: 'expires', providers: [], withinMilliseconds: 1, each: true })],
        [{ kind: 'guardrails', change: 'weaker', name: 'g', text: 'never → separate' }],
      ],
      [
        'a guardrail as far as was reviewed, and in another way',
        guarded(rule(BOTH)),
        guarded({ ...rule(READ), under: pathOf('/a/b') } as GuardrailRule),
        [guarded({ ...rule(BOTH), under: pathOf('/a/b') } as GuardrailRule)],
        [{ kind: 'guardrails', change: 'weaker', name: 'g', text: 'scopes lost resource:write' }],
      ],
      [
        'a guardrail of another kind, and less than was reviewed of that kind',
        guarded(rule(READ)),
        guarded({ kind: 'separate', sides: [READ, WRITE], under: pathOf('/a/b'), ...EVERYONE }),
        [guarded({ kind: 'separate', sides: [READ, WRITE], under: pathOf('/a'), ...EVERYONE })],
        [{ kind: 'guardrails', change: 'weaker', name: 'g', text: 'never → separate' }],
      ],
      [
        'a guardrail, of which another kind was reviewed',
        guarded(rule(READ)),
        guarded({ ...rule(READ), under: pathOf('/a/b') } as GuardrailRule),
        [guarded({ kind: 'expires', providers: [], withinMilliseconds: 1, each: true })],
        [{ kind: 'guardrails', change: 'weaker', name: 'g', text: 'under /a → /a/b' }],
      ],
      ['nothing with one test more', PLAIN, EVEN, [{ ...PLAIN, people: EVEN.people }], []],
      [
        'nothing with a file that is gone with its grants',
        { ...PLAIN, folders: [{ path: 'x.yaml', within: pathOf('/a'), exports: null, place: null }] },
        PLAIN,
        [],
        [],
      ],
      [
        'a folder that exports two roles, of which one was reviewed',
        { ...PLAIN, ...folders([]) },
        { ...PLAIN, ...folders(['crew', 'leads']) },
        [{ ...PLAIN, ...folders(['crew']) }],
        [{ kind: 'delegation', change: 'weaker', name: 'x', text: 'exports leads' }],
      ],
    ])('%s', (_, from, merged, reviewed, expected) => {
      expect(
        emergentChecks(
          checked(from),
          checked(merged),
          reviewed.map((set) => change(set)),
        ),
      ).toEqual(expected);
    });

    it('are counted from what a change was made from', () => {
      // Somebody else has brought `b` since.
      const stale = change(without('a', 'b'), without('b'));
      expect(emergentChecks(checked(twice), checked(without('a', 'b')), [stale])).toEqual([removed('b')]);
      const [strict, lax] = [rule(READ), { ...rule(READ), under: pathOf('/a/b') } as GuardrailRule].map((one) =>
        guarded(one),
      );
      if (strict === undefined || lax === undefined) throw new Error('two policies');
      expect(emergentChecks(checked(strict), checked(lax), [change(lax, lax)])).toMatchObject([
        { text: 'under /a → /a/b' },
      ]);
    });

    it('are findings of which more are accepted than the changes add', () => {
      const accepting = (a: number, b = 0): CheckedPolicy =>
        checked(EVEN, [
          ['LINT_B', b],
          ['LINT_A', a],
        ]);
      const found = (merged: CheckedPolicy, ...reviewed: readonly CheckedPolicy[]): unknown =>
        emergentChecks(
          accepting(1),
          merged,
          reviewed.map((policy) => ({ policy, from: null })),
        );
      const accepted = (name: string, text: string): unknown => ({ kind: 'accepted', change: 'weaker', name, text });
      expect(found(accepting(3), accepting(2), accepting(2))).toEqual([]);
      expect(found(accepting(4), accepting(2), accepting(2))).toEqual([accepted('LINT_A', '1 → 4')]);
      // What another change takes away makes no room.
      expect(found(accepting(2), accepting(2), accepting(0))).toEqual([]);
      expect(found(accepting(2, 1))).toEqual([accepted('LINT_A', '1 → 2'), accepted('LINT_B', '0 → 1')]);
      const from = [{ policy: accepting(2), from: accepting(2) }];
      expect(emergentChecks(accepting(1), accepting(2), from)).toEqual([accepted('LINT_A', '1 → 2')]);
    });

    it('are whole kinds where a snapshot is among the policies', () => {
      const other = without('a');
      const differs = (kind: string): unknown => ({ kind, change: 'differs', name: kind });
      const found = (merged: CheckedPolicy, ...reviewed: readonly CheckedPolicy[]): unknown =>
        emergentChecks(
          checked(twice),
          merged,
          reviewed.map((policy) => ({ policy, from: null })),
        );
      expect(found(stated(other))).toEqual([differs('tests')]);
      expect(found(checked(other), stated(twice))).toEqual([differs('tests')]);
      expect(found(checked(other), stated(other))).toEqual([]);
      expect(found(stated(other), checked(other))).toEqual([]);
      expect(found(stated(other, { checks: null }), checked(other))).toEqual([]);
      expect(found(stated(other, { checks: null }), checked(twice))).toHaveLength(5);
      expect(found(checked(other), stated(twice, { checks: null }))).toEqual([differs('tests')]);
      const from = { policy: checked(other), from: stated(twice) };
      expect(emergentChecks(checked(twice), checked(without('a', 'b')), [from])).toEqual([differs('tests')]);
      expect(emergentChecks(stated(twice), checked(other), [])).toEqual([differs('tests')]);
    });
  });
});
