// Proofs of access against the slow evaluator, from files alone; and files that were changed, which prove nothing or something true.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  formatIdentity,
  instantOf,
  type NamespacePath,
  parseIdentity,
  type ScopeName,
  SCOPES,
  type ScopeSet,
} from '../../../engine/index.js';
import { accessRoot } from '../../../server/signing/access-tree.js';
import { type AccessProof, proveAccess, readAccessProof } from '../../../server/signing/access-proof.js';
import { IDENTITIES, pathOf, policyOf, STRANGER, UNIVERSE, windowedWorld, world } from '../../engine/oracle/worlds.js';
import { holds, type Held, load, TIMES } from '../../engine/prove/brute.js';
import { testRuns } from '../../support/test-runs.js';

const question = fc.record({
  identity: fc.constantFrom(...IDENTITIES, STRANGER),
  scope: fc.constantFrom(...SCOPES),
  namespace: fc.constantFrom(...UNIVERSE),
  at: fc.constantFrom(...TIMES).map(instantOf),
});
const someWorld = fc.oneof(world, windowedWorld);
const fromFile = (proof: AccessProof): unknown => JSON.parse(JSON.stringify(proof));

/** Whether the statement of a file is true, whoever it is about. */
function isTrue(held: Held, { identity, namespace, scope, at, holds: says }: AccessProof): boolean {
  const who = parseIdentity(identity);
  if (!who.ok) return false;
  return says === held(who.identity, namespace as NamespacePath, Date.parse(at)).has(scope);
}

describe('a proof of access', () => {
  it('says what is so, and is checked by the root alone', () => {
    fc.assert(
      fc.property(someWorld, fc.array(question, { minLength: 8, maxLength: 8 }), (set, questions) => {
        const policy = load(set);
        const held = holds(set);
        const root = accessRoot(policy);
        for (const asked of questions) {
          const proof = proveAccess(policy, asked);
          expect(proof.holds).toBe(held(asked.identity, asked.namespace, asked.at).has(asked.scope));
          expect(readAccessProof(fromFile(proof), root)).toEqual({ proof });
          expect(
            readAccessProof(
              fromFile(proof),
              root.replace(/.$/, (digit) => (digit === '0' ? '1' : '0')),
            ),
          ).toEqual({
            fault: expect.stringContaining('root'),
          });
        }
      }),
      testRuns({ usual: 25, deep: 400 }),
    );
  });

  it('that somebody has changed shows nothing that is not so', () => {
    fc.assert(
      fc.property(someWorld, question, fc.infiniteStream(fc.nat()), (set, asked, numbers) => {
        const policy = load(set);
        const held = holds(set);
        const proof = proveAccess(policy, asked);
        const other = proveAccess(policy, { ...asked, identity: STRANGER });
        const forged = [
          ...changesOf(fromFile(proof), numbers),
          { ...proof, holds: !proof.holds },
          { ...proof, proof: other.proof },
          { ...other, identity: proof.identity, holds: true },
          { ...proof, size: proof.size + 1 },
        ];
        for (const file of forged) {
          const read = readAccessProof(file, proof.root);
          if ('proof' in read && !isTrue(held, read.proof)) throw new Error(JSON.stringify(read.proof));
        }
      }),
      testRuns({ usual: 100, deep: 2_000 }),
    );
  });

  it('is refused where it is no proof at all', () => {
    const policy = load(policyOf([], []));
    const root = accessRoot(policy);
    const proof = proveAccess(policy, {
      identity: STRANGER,
      scope: 'resource:read',
      namespace: pathOf('/a'),
      at: instantOf(0),
    });
    expect(proof).toMatchObject({ size: 0, holds: false, proof: { neighbours: [] } });
    expect(readAccessProof(fromFile(proof), root)).toEqual({ proof });
    const broken: readonly unknown[] = [
      ...[null, 7, 'x', [], {}, { ...proof, proof: null }, { ...proof, proof: {} }, { ...proof, size: -1 }],
      ...[
        { ...proof, proof: { neighbours: [null] } },
        { ...proof, proof: { neighbours: [{ index: 0 }] } },
      ],
      ...[
        { ...proof, proof: { holder: null, steps: [] } },
        { ...proof, identity: 'x' },
        { ...proof, scope: 'all' },
      ],
      ...[
        { ...proof, namespace: '/a/' },
        { ...proof, at: '1970-01-01T00:00:00Z' },
        { ...proof, holds: 'no' },
      ],
    ];
    for (const value of broken) expect(readAccessProof(value, root)).toEqual({ fault: expect.any(String) });
  });

  it('is about as large as its tree is deep, and names nobody else', () => {
    const people = Array.from({ length: 2_000 }, (_, i) => ({ provider: 'orcid', subject: `person-${String(i)}` }));
    const grants = people.map((identity, i) => ({
      principal: { kind: 'identity' as const, identity },
      namespace: pathOf(`/a/b${String(i % 40)}`),
      scopes: 0b11 as ScopeSet,
      ...{ inherit: true, notBefore: null, expires: null, reason: null, place: null },
    }));
    const policy = load(policyOf([], grants));
    const scope: ScopeName = SCOPES[0] ?? 'resource:read';
    for (const subject of ['person-7', 'nobody']) {
      const asked = { identity: { provider: 'orcid', subject }, scope, namespace: pathOf('/a/b7/c'), at: instantOf(0) };
      const text = JSON.stringify(proveAccess(policy, asked));
      expect(text.length).toBeLessThan(4_000);
      expect(text.match(/person-\d+/g) ?? []).toEqual(subject === 'nobody' ? [] : [subject]);
      expect(text).toContain(formatIdentity(asked.identity));
    }
  });
});

/** The file with one thing changed, for some of the things in it. */
function* changesOf(file: unknown, numbers: fc.Stream<number>): Iterable<unknown> {
  const places: (readonly (string | number)[])[] = [];
  const visit = (value: unknown, place: readonly (string | number)[]): void => {
    if (typeof value === 'object' && value !== null)
      for (const [key, item] of Object.entries(value))
        visit(item, [...place, Array.isArray(value) ? Number(key) : key]);
    else places.push(place);
  };
  visit(file, []);
  for (const number of numbers.take(12)) {
    const place = places[number % places.length] ?? [];
    yield changed(file, place, number);
  }
}

function changed(value: unknown, [key, ...rest]: readonly (string | number)[], number: number): unknown {
  if (key !== undefined) {
    if (Array.isArray(value)) return value.map((item: unknown, i) => (i === key ? changed(item, rest, number) : item));
    const members = Object.entries(value as Readonly<Record<string, unknown>>);
    return Object.fromEntries(members.map(([name, item]) => [name, name === key ? changed(item, rest, number) : item]));
  }
  if (typeof value === 'number') return value + (number % 2 === 0 ? 1 : -1);
  if (typeof value === 'boolean') return !value;
  if (value === null) return '1970-01-01T00:00:00.005Z';
  const text = typeof value === 'string' ? value : '';
  const at = number % text.length;
  return `${text.slice(0, at)}${text[at] === 'a' ? 'b' : 'a'}${text.slice(at + 1)}`;
}
