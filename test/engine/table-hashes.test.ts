// Texts whose hashes are the same, by chance or because an author made them so: all are found, and none makes others slow.
import { describe, expect, it } from '@jest/globals';
import { type Policy } from '../../engine/index.js';
import { checkedDraft } from '../../engine/compiler.js';
import { groundOf, makePolicy, UNRESTRICTED } from '../../engine/evaluate/policy.js';
import type { PolicySet } from '../../engine/model/policy-set.js';
import { hashUnit, makeMarks, scanPath } from '../../engine/model/scan-path.js';
import { decodeSnapshot } from '../../engine/snapshot/decode.js';
import { type BuiltTable, buildTable, openBuilt } from '../../engine/table/build.js';
import { packIdentity } from '../../engine/table/slots.js';
import { policyOf } from './oracle/worlds.js';
import { ADA, load, bytesOf, grant, ask } from './table-world.js';

/** Loaded as if this were its digest: hashes start with its words. */
function loadAs(set: PolicySet, digest: string): { readonly policy: Policy; readonly table: BuiltTable } {
  const decoded = decodeSnapshot(bytesOf(set));
  const facts = load(set);
  if (!decoded.ok) throw new Error(decoded.fault.message);
  const table = buildTable(decoded.snapshot.tables, decoded.snapshot.holders, digest);
  return { policy: makePolicy(facts, { table, source: null }), table };
}

/** Hashes start at 0, whichever word is taken. */
const FROM_ZERO = '0'.repeat(64);

/** The first texts of a row that share a hash, as a birthday has it: with 32 bits after some 80,000. */
function collide(
  textOf: (number: number) => string,
  hashOf: (text: string) => number,
  wanted: number,
): readonly string[][] {
  const seen = new Map<number, string>();
  const found: string[][] = [];
  for (let number = 0; found.length < wanted; number += 1) {
    const text = textOf(number);
    const hash = hashOf(text);
    const other = seen.get(hash);
    if (other === undefined) seen.set(hash, text);
    else found.push([other, text]);
  }
  return found;
}

describe('texts whose hashes are the same', () => {
  it('are distinguished: identities', () => {
    const words = new Int32Array(128);
    const pairs = collide(
      (number) => `p${number.toString(36)}`,
      (subject) => packIdentity({ provider: 'orcid', subject }, words, { at: 0, start: 0 }),
      6,
    );
    // Of three pairs both are named, of the others one.
    const named = pairs.flatMap((pair, i) => (i < 3 ? pair : pair.slice(0, 1)));
    const { policy } = loadAs(
      policyOf(
        [],
        named.map((subject, i) =>
          grant(`/n${String(i)}`, { principal: { kind: 'identity', identity: { provider: 'orcid', subject } } }),
        ),
      ),
      FROM_ZERO,
    );
    for (const subject of pairs.flat()) {
      const own = named.indexOf(subject);
      named.forEach((_, i) => {
        const expected = i === own ? `g${String(i)}` : 'no_matching_grant';
        expect(ask(policy, { provider: 'orcid', subject }, `/n${String(i)}`)).toBe(expected);
        expect(ask(policy, { provider: 'github', subject }, `/n${String(i)}`)).toBe('no_matching_grant');
      });
    }
  });

  it('are distinguished: paths, and what is below them', () => {
    const marks = makeMarks();
    const pairs = collide(
      (number) => `/s/${number.toString(36)}`,
      (path) => {
        scanPath(path, marks);
        return marks.hashes[2] ?? 0;
      },
      6,
    );
    const named = pairs.flatMap((pair, i) => (i < 3 ? pair : pair.slice(0, 1)));
    const { policy } = loadAs(
      policyOf(
        [],
        named.map((path) => grant(path)),
      ),
      FROM_ZERO,
    );
    for (const path of pairs.flat()) {
      const own = named.indexOf(path);
      const expected = own < 0 ? 'no_matching_grant' : `g${String(own)}`;
      expect([ask(policy, ADA, path), ask(policy, ADA, `${path}/below`)]).toEqual([expected, expected]);
    }
  });

  it('are distinguished: provider and subject cut elsewhere', () => {
    const identity = { provider: 'a', subject: 'b:c' };
    const policy = load({
      ...policyOf([], [grant('/x', { principal: { kind: 'identity', identity } })]),
      providers: ['a', 'empty', 'z'].map((name) => ({ name, description: null })),
    });
    expect(ask(policy, identity, '/x')).toBe('g0');
    for (const [provider, subject] of [
      ['a:b', 'c'],
      ['', 'a:b:c'],
      ['empty', 'b:c'],
      ['z', 'b:c'],
    ] as const)
      expect(ask(policy, { provider, subject }, '/x')).toBe('no_matching_grant');
  });
});

/**
 * Texts of one hash, 2^blocks of them: of each block of five letters there are two after which the hash is the same, so that any of
 * the two may stand before the next block.
 */
function flood(before: string, start: number, blocks: number): readonly string[] {
  let texts = [''];
  let state = hashText(start, before);
  const five = (number: number): string => ((number * 7_000_001) % 36 ** 5).toString(36).padStart(5, '0');
  for (let block = 0; block < blocks; block += 1) {
    const [[one = '', other = ''] = []] = collide(five, (text) => hashText(state, text), 1);
    texts = texts.flatMap((text) => [text + one, text + other]);
    state = hashText(state, one);
  }
  return texts;
}

function hashText(start: number, text: string): number {
  let hash = start;
  for (let i = 0; i < text.length; i += 1) hash = hashUnit(hash, text.charCodeAt(i));
  return hash;
}

function longestRunOf(slots: Int32Array): number {
  let longest = 0;
  let run = 0;
  for (const slot of slots) {
    run = slot === 0 ? 0 : run + 1;
    longest = Math.max(longest, run);
  }
  return longest;
}

describe('texts that an author has made to have one hash', () => {
  // Whatever the first word of the digest is, an author may have compiled until it was the one wanted.
  const GROUND_OUT = `${'0'.repeat(8)}${'9e3779b97f4a7c15f39cc0605cedc834'.repeat(2)}`.slice(0, 64);

  it('make no long search: identities', () => {
    const subjects = flood('orcid:', 0, 9);
    const words = new Int32Array(128);
    const hashes = new Set(
      subjects.map((subject) => packIdentity({ provider: 'orcid', subject }, words, { at: 0, start: 0 })),
    );
    expect([subjects.length, hashes.size]).toEqual([512, 1]);
    const set = policyOf(
      [],
      subjects.map((subject) =>
        grant('/x', { principal: { kind: 'identity', identity: { provider: 'orcid', subject } } }),
      ),
    );
    const { policy, table } = loadAs(set, GROUND_OUT);
    expect(longestRunOf(openBuilt(table).identitySlots)).toBeLessThan(129);
    expect(table.starts.identities).toBe(0x9e3779b9 | 0);
    for (const subject of subjects.slice(0, 100))
      expect(ask(policy, { provider: 'orcid', subject }, '/x')).toMatch(/^g\d+$/);
    // Even if no word of the digest is any good, the table is right.
    const worst = loadAs(set, FROM_ZERO);
    expect(ask(worst.policy, { provider: 'orcid', subject: subjects.at(-1) ?? '' }, '/x')).toMatch(/^g\d+$/);
  });

  it('make no long search in a draft, which has no digest: its hashes start from its texts', () => {
    const subjects = flood('orcid:', 0, 9);
    const segments = flood('/x/', 0, 9);
    const draft = checkedDraft(
      policyOf(
        [],
        subjects.map((subject, i) =>
          grant(`/x/${segments[i] ?? ''}`, {
            principal: { kind: 'identity', identity: { provider: 'orcid', subject } },
          }),
        ),
      ),
    );
    const table = draft.ok ? groundOf(draft.policy) : UNRESTRICTED;
    if (table === UNRESTRICTED) throw new Error('the draft is within the limits');
    expect(longestRunOf(table.identitySlots)).toBeLessThan(129);
    expect(longestRunOf(table.pathSlots)).toBeLessThan(129);
  });

  it('make no long search: paths', () => {
    const paths = flood('/x/', 0, 9).map((segment) => `/x/${segment}`);
    expect(new Set(paths.map((path) => hashText(0, path))).size).toBe(1);
    const { policy, table } = loadAs(
      policyOf(
        [],
        paths.map((path) => grant(path)),
      ),
      GROUND_OUT,
    );
    expect(longestRunOf(openBuilt(table).pathSlots)).toBeLessThan(129);
    for (const [i, path] of paths.slice(0, 100).entries()) expect(ask(policy, ADA, path)).toBe(`g${String(i)}`);
    expect(ask(policy, ADA, '/x')).toBe('no_matching_grant');
  });

  it('are found in each of two policies whose hashes start elsewhere, in turn', () => {
    const set = policyOf([], [grant('/a/b'), grant('/a')]);
    const [first, second] = [loadAs(set, FROM_ZERO).policy, load(set)];
    for (const policy of [first, second, first, second])
      expect([ask(policy, ADA, '/a/b'), ask(policy, ADA, '/a'), ask(policy, ADA, '/b')]).toEqual([
        'g0,g1',
        'g1',
        'no_matching_grant',
      ]);
  });
});
