// What a policy may hold at most, in `make test-deep` at the real value of each limit: where plain arrays, maps and texts of JavaScript end.
// V8 ends the process where an array grows past 2^27 elements, and throws where a map has 2^24 entries or a text 2^29 units.
import { makeScopeColumn, NO_SCOPES, type ScopeSet } from '../../engine/model/scope-set.js';
import { RECORD_VOCABULARY } from '../../engine/model/vocabulary.js';
import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { compilePolicy, ENGINE_LIMITS, readPolicy } from '../../engine/compiler.js';
import { groupHolders } from '../../engine/model/holders.js';
import { type NamespacePath, pastNamespaces } from '../../engine/model/namespace.js';
import type { PolicyTables } from '../../engine/model/tables.js';
import { decodeSnapshot } from '../../engine/snapshot/decode.js';
import { digestOfParts } from '../../engine/snapshot/hash.js';
import { stopCpu } from '../support/cpu-time.js';
import { times } from '../support/test-runs.js';
import { compile, FULL } from './full-policy.js';

/** Of roles and then people, by number. Who is in `members` is in the role; each of `principals` has a grant. */
function policyOf(
  roles: number,
  people: number,
  { members, principals }: { readonly members: readonly (readonly [number, number])[]; readonly principals: number[] },
): PolicyTables {
  const count = principals.length;
  const none = new Int32Array(Math.max(count, members.length));
  const nothing = {
    namespace: none,
    scopes: makeScopeColumn(new Array<ScopeSet>(count).fill(NO_SCOPES)),
    inherit: new Uint8Array(count),
    notBefore: new Float64Array(count),
    expires: new Float64Array(count),
  };
  return {
    ...{ name: 'nested', providers: ['orcid'], files: [], segments: [] },
    namespaces: { parent: Int32Array.of(-1), segment: Int32Array.of(-1) },
    identities: {
      provider: new Int32Array(people),
      subject: Array.from({ length: people }, (_, i) => `p${String(i)}`),
    },
    roles: {
      name: Array.from({ length: roles }, (_, i) => `r${String(i)}`),
      file: none,
      line: none,
      description: { row: none, text: [] },
    },
    members: {
      role: Int32Array.from(members, ([role]) => role),
      member: Int32Array.from(members, ([, member]) => member),
      ...{ file: none, line: none, windows: null },
    },
    grants: {
      ...nothing,
      id: [],
      principal: Int32Array.from(principals),
      ...{ file: none, line: none, reason: { row: none, text: [] } },
    },
    exclusive: { first: none, second: none },
    vocabulary: RECORD_VOCABULARY,
  };
}

const numbers = (count: number, from = 0): number[] => Array.from({ length: count }, (_, i) => from + i);

/** Roles with a grant each, each with the same inner role, and its people with a grant each. */
function nestedRoles(outer: number, people: number): PolicyTables {
  const [outermost, inside] = [numbers(outer), numbers(people, outer + 1)];
  return policyOf(outer + 1, people, {
    members: [...outermost.map((role) => [role, outer] as const), ...inside.map((one) => [outer, one] as const)],
    principals: [...outermost, ...inside],
  });
}

/** Everybody has a grant and is in a role that is in `width` others, each of which is in `width` more; or in one of as many such roles. */
function wovenRoles(width: number, people: number, own: 'one role' | 'a role each'): PolicyTables {
  const [middle, outer, first] = [numbers(width), numbers(width, width), 2 * width];
  const innermost = numbers(own === 'one role' ? 1 : people, first);
  const inside = numbers(people, first + innermost.length);
  return policyOf(first + innermost.length, people, {
    members: [
      ...innermost.flatMap((inner) => middle.map((role) => [role, inner] as const)),
      ...outer.flatMap((role) => middle.map((member) => [role, member] as const)),
      ...inside.map((one, i) => [innermost[i % innermost.length] ?? 0, one] as const),
    ],
    principals: inside,
  });
}

// In full, this is the limit: 250,000,000 rows, 8,000,000 namespaces.
const OUTER = times({ usual: 10, deep: 1040 });
const DEEP_PATHS = times({ usual: 2_500, deep: 249_999 });

describe('rows with roles followed', () => {
  it('are grouped up to the limit, which no plain array would hold, and refused above it', () => {
    const people = 120_000;
    const tables = nestedRoles(OUTER, people);
    // Each person is in all outer roles and the inner one, and has a grant; each outer role has one.
    const rows = people * (2 * OUTER + 2);
    const grouped = groupHolders(tables, rows);
    expect([grouped?.count, grouped?.principals.length]).toEqual([people, people * (OUTER + 1)]);
    expect([grouped?.principals[0], grouped?.principals.at(-1)]).toEqual([0, OUTER + people]);
    expect(groupHolders(tables, rows - 1)).toBeNull();
  });

  it('count each membership that is followed, also to a role that is known', () => {
    const tables = wovenRoles(50, 20, 'a role each');
    // The own role, those around it and a grant; the memberships in between lead there many times.
    const rows = 20 * (1 + 50 + 50 * 50 + 1);
    expect(groupHolders(tables, rows)?.count).toBe(20);
    expect(groupHolders(tables, rows - 1)).toBeNull();
  });

  it.each([
    ['a role each', 2_000, null],
    ['one role', 20_000, 20_000],
  ] as const)('are counted soon, however the roles are woven: %s', (own, people, count) => {
    const tables = wovenRoles(500, people, own);
    const cpu = stopCpu();
    expect(groupHolders(tables, ENGINE_LIMITS.expandedRows)?.count ?? null).toBe(count);
    expect(cpu()).toBeLessThan(3_000);
  });
});

describe('namespaces', () => {
  const deep = (name: string): NamespacePath => `/${name}${'/a'.repeat(31)}` as NamespacePath;

  it('are counted with those above them, each once', () => {
    const paths = ['/a/b', '/a/c', '/a/b', '/', '/d'] as NamespacePath[];
    // The root, /a, /a/b; /a/c; /d.
    expect([2, 3, 4, 5].map((limit) => pastNamespaces(paths, limit))).toEqual([0, 1, 4, -1]);
  });

  it('are taken up to the limit', () => {
    const paths = Array.from({ length: DEEP_PATHS }, (_, i) => deep(i.toString(36)));
    const limit = 32 * (DEEP_PATHS + 1);
    expect(limit).toBeLessThanOrEqual(ENGINE_LIMITS.namespaces);
    expect(pastNamespaces(paths, limit)).toBe(-1);
    expect(pastNamespaces([...paths, deep('x~1')], limit)).toBe(DEEP_PATHS);
  });

  it('are refused above the limit: in a folder at the grant, by compile, and by load', () => {
    const limits = { ...ENGINE_LIMITS, namespaces: 3 };
    const text = (grants: string): Uint8Array => new TextEncoder().encode(grants);
    const files = (second: string) => [
      { path: 'policy.yaml', bytes: text('bailiwick: 1\nname: p\nproviders: { orcid: {} }\n') },
      {
        path: 'team.yaml',
        bytes: text(
          `grants:\n  - { id: a, identity: orcid:x, scopes: [resource:read], namespace: /a/b }\n` +
            `  - { id: b, identity: orcid:x, scopes: [resource:read], namespace: ${second} }\n`,
        ),
      },
    ];
    expect(readPolicy(files('/a'), limits).diagnostics).toEqual([]);
    expect(readPolicy(files('/b'), limits).diagnostics).toMatchObject([
      { code: 'LIMIT_COUNT', file: 'team.yaml', range: { start: { line: 3 } } },
    ]);
    const { bytes } = compile(FULL);
    // The root, /labs, /labs/optics.
    const rows = 3;
    for (const [namespaces, ok] of [
      [rows, true],
      [rows - 1, false],
    ] as const) {
      expect(compilePolicy(FULL, { ...ENGINE_LIMITS, namespaces }).ok).toBe(ok);
      expect(decodeSnapshot(bytes, { ...ENGINE_LIMITS, namespaces }).ok).toBe(ok);
    }
  });
});

describe('what is hashed', () => {
  it('may be longer than a text of JavaScript', () => {
    const list = ['"a"', '"\u00e9\u{1f600}"', '"b"'];
    expect(digestOfParts(['[', list, ']'])).toBe(
      `sha256:${createHash('sha256').update(`[${list.join()}]`).digest('hex')}`,
    );
    const long = 'x'.repeat(1 << 24);
    const hash = createHash('sha256').update('[');
    for (let i = 0; i < 40; i += 1) hash.update(i === 0 ? long : `,${long}`);
    const many = Array.from({ length: 40 }, () => long);
    expect(digestOfParts(['[', many, ']'])).toBe(`sha256:${hash.update(']').digest('hex')}`);
  });
});

describe('a snapshot', () => {
  it('is refused if its text would be longer than any text of JavaScript', () => {
    const [grant] = FULL.grants;
    if (grant === undefined) throw new Error('the full policy has a grant');
    // The same long id under many numbers: 600 MB of JSON from little memory.
    const long = '"'.repeat(300_000);
    const grants = Array.from({ length: 1_000 }, (_, i) => ({ ...grant, id: `${String(i)}${long}` }));
    const refused = compilePolicy({ ...FULL, grants, guardrails: [], tests: [] });
    expect(refused.ok ? [] : refused.diagnostics).toMatchObject([{ code: 'LIMIT_EXPANDED' }]);
  });
});
