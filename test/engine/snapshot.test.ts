// The snapshot file: the same bytes for the same policy, and nothing but what was sealed is ever loaded.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createHash } from 'node:crypto';
import { compilePolicy, ENGINE_LIMITS } from '../../engine/compiler.js';
import {
  adopt,
  type LoadResult,
  loadSnapshot,
  packSnapshot,
  unrestrictedPolicy,
  namespaceDigests,
  verifyDecisions,
} from '../../engine/index.js';
import { snapshotJson } from '../../engine/snapshot/canonical.js';
import { decodeSnapshot } from '../../engine/snapshot/decode.js';
import type { SnapshotBody } from '../../engine/snapshot/document.js';
import type { Identity } from '../../engine/model/identity.js';
import type { PolicySet } from '../../engine/model/policy-set.js';
import { testRuns } from '../support/test-runs.js';
import { digestChecks } from '../../engine/snapshot/checks.js';
import { compile, FULL, LEAVES, valueAt } from './full-policy.js';
import { exclusiveWorld as world } from './oracle/worlds.js';
import { statedTables } from '../../engine/model/tables.js';

function bodyOf(text: string): SnapshotBody {
  return (JSON.parse(text) as { snapshot: SnapshotBody }).snapshot;
}

/** A file whose seal holds, whatever is in it. */
function seal(body: unknown): Uint8Array {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const digest = createHash('sha256').update(text).digest('hex');
  return new TextEncoder().encode(`{"seal":"sha256:${digest}","snapshot":${text}}`);
}

/** With its label checked, as whoever states it does. */
function loadStated(bytes: Uint8Array): LoadResult {
  const loaded = loadSnapshot(bytes);
  const fault = loaded.ok ? verifyDecisions(loaded.policy) : null;
  return fault === null ? loaded : { ok: false, fault };
}

function faultOf(result: LoadResult): string | null {
  return result.ok ? null : result.fault.code;
}

describe('compiling', () => {
  it('gives the same bytes in whatever order things are declared', () => {
    fc.assert(
      fc.property(world, fc.nat(), (set, turn) => {
        const rotate = <T>(list: readonly T[]): readonly T[] => [
          ...list.slice(turn % (list.length || 1)),
          ...list.slice(0, turn % (list.length || 1)),
        ];
        const roles = rotate(set.roles).map((role) => ({ ...role, members: [...role.members].reverse() }));
        const other = { ...set, providers: rotate(set.providers), roles, grants: [...rotate(set.grants)].reverse() };
        expect(compile(other).text).toBe(compile(set).text);
      }),
      testRuns({ usual: 30, deep: 60 }),
    );
  });

  it('is canonical: sorted keys, no white space, no trailing newline, and SHA-256 of the bytes is the digest', () => {
    const { bytes, text, digest } = compile(FULL);
    expect(text).toBe(snapshotJson(JSON.parse(text) as object));
    expect(text.endsWith('}')).toBe(true);
    expect(digest).toBe(`sha256:${createHash('sha256').update(bytes).digest('hex')}`);
  });

  it('refuses a policy past the limit of rows, and takes one at it', () => {
    const rows = (limit: number): boolean => compilePolicy(FULL, { ...ENGINE_LIMITS, expandedRows: limit }).ok;
    const least = Array.from({ length: 20 }, (_, limit) => limit).findIndex(rows);
    expect(least).toBeGreaterThan(1);
    expect([rows(least), rows(least - 1)]).toEqual([true, false]);
    const refused = compilePolicy(FULL, { ...ENGINE_LIMITS, expandedRows: least - 1 });
    expect(refused.ok ? [] : refused.diagnostics).toMatchObject([
      { code: 'LIMIT_EXPANDED', severity: 'error', file: 'policy.yaml' },
    ]);
    const { bytes } = compile(FULL);
    expect(decodeSnapshot(bytes, { ...ENGINE_LIMITS, expandedRows: least - 1 })).toMatchObject({
      fault: { code: 'snapshot.limit' },
    });
    expect(compilePolicy(FULL, { ...ENGINE_LIMITS, snapshotBytes: bytes.length }).ok).toBe(true);
    expect(compilePolicy(FULL, { ...ENGINE_LIMITS, snapshotBytes: bytes.length - 1 }).ok).toBe(false);
  });
});

describe('groups of declared providers', () => {
  const identity = (provider: string): Identity => ({ provider, subject: 'x' });
  const withGroups = (count: number): PolicySet => {
    const names = Array.from({ length: count }, (_, i) => `p${String(i)}`);
    const [grant] = FULL.grants;
    if (grant === undefined) throw new Error('the full policy has a grant');
    return {
      ...FULL,
      providers: names.map((name) => ({ name, description: null })),
      roles: [],
      exclusive: [],
      guardrails: [],
      tests: [],
      grants: names.map((name) => ({
        ...grant,
        id: name,
        principal: { kind: 'identity', identity: identity(`${name}-group`) },
      })),
    };
  };

  it('do not count among the providers that a policy may have', () => {
    const { bytes } = compile(withGroups(ENGINE_LIMITS.providers));
    expect(faultOf(loadSnapshot(bytes))).toBe(null);
  });

  it('are one for each provider at most', () => {
    const limits = { ...ENGINE_LIMITS, providers: 5 };
    const opened = (count: number): boolean => decodeSnapshot(compile(withGroups(count)).bytes, limits).ok;
    expect([opened(5), opened(6)]).toEqual([true, false]);
  });
});

describe('loading', () => {
  it('says what is in the file and hands out nothing that can be changed', () => {
    const { bytes, digest, decisions } = compile(FULL);
    const loaded = loadSnapshot(bytes);
    if (!loaded.ok) throw new Error(loaded.fault.message);
    const { policy } = loaded;
    expect(policy).toEqual({
      kind: 'compiled',
      name: 'full',
      digest,
      decisions,
      format: 3,
      counts: { identities: 2, roles: 2, grants: 2, namespaces: 3 },
      providers: ['github', 'orcid'],
      checks: digestChecks(FULL),
      families: FULL.families,
      scopes: [
        ...['invoice:approve', 'invoice:pay', 'invoice:read', 'invoice:write', 'namespace:read', 'namespace:write'],
        ...['order:read', 'order:ship', 'order:write', 'process-run:read', 'process-run:write'],
        ...['process-template:read', 'process-template:write', 'resource-template:read', 'resource-template:write'],
        ...['resource:read', 'resource:write'],
      ],
    });
    const { counts, providers, checks, families, scopes } = policy;
    const [family] = families;
    expect(
      [policy, counts, providers, checks, checks?.guardrails, families, family, family?.actions, scopes].map(
        Object.isFrozen,
      ),
    ).not.toContain(false);
    const keys = [
      'kind',
      'name',
      'digest',
      'decisions',
      'format',
      'counts',
      'providers',
      'checks',
      'families',
      'scopes',
    ];
    expect(Reflect.ownKeys(policy).sort()).toEqual(keys.sort());
  });

  it('does not depend on the bytes after it has read them', () => {
    const { bytes, digest } = compile(FULL);
    const loaded = loadSnapshot(bytes);
    bytes.fill(0);
    expect(loaded.ok && loaded.policy.digest).toBe(digest);
  });

  it('gives back every table that was compiled', () => {
    fc.assert(
      fc.property(world, (set) => {
        const { bytes, text } = compile(set);
        const decoded = decodeSnapshot(bytes);
        if (!decoded.ok) throw new Error(decoded.fault.message);
        expect(statedTables(decoded.snapshot.tables).grants.id).toEqual(bodyOf(text).grants.id);
        expect(statedTables(decoded.snapshot.tables).grants.id).toEqual(set.grants.map((grant) => grant.id).sort());
      }),
      testRuns({ usual: 20, deep: 40 }),
    );
  });

  it('refuses a file in which any one bit is another', () => {
    const { bytes } = compile(FULL);
    const accepted: number[] = [];
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = bytes.slice();
      changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8));
      if (loadSnapshot(changed).ok) accepted.push(at);
    }
    expect(bytes.length).toBeGreaterThan(500);
    expect(accepted).toEqual([]);
  });

  it('refuses a file that is cut short or has more behind it', () => {
    const { bytes } = compile(FULL);
    for (let length = 0; length < bytes.length; length += 7)
      expect(loadSnapshot(bytes.slice(0, length)).ok).toBe(false);
    for (const more of [10, 32, 0, 0x7d]) expect(loadSnapshot(Uint8Array.of(...bytes, more)).ok).toBe(false);
  });

  it('never throws, whatever the bytes are', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array({ maxLength: 300 }),
          fc.json().map((text) => seal(text)),
          fc.string().map((text) => seal(text)),
        ),
        (bytes) => {
          expect(loadSnapshot(bytes).ok).toBe(false);
        },
      ),
      testRuns({ usual: 150, deep: 300 }),
    );
  });

  it('loads a file that somebody changed and sealed again only if it decides as it says', () => {
    const { text, decisions } = compile(FULL);
    const seen = new Set<string>();
    fc.assert(
      fc.property(
        fc.nat(),
        fc.oneof(
          fc.integer({ min: -2, max: 12 }),
          fc.constantFrom<unknown>(null, '', 'x', [], {}, 1.5, 2 ** 53, '__proto__'),
        ),
        (n, value) => {
          const changed = structuredClone(bodyOf(text)) as unknown as Record<string, unknown>;
          replaceLeaf(changed, n, value);
          const loaded = loadStated(seal(changed));
          seen.add(faultOf(loaded) ?? 'loads');
          if (!loaded.ok) return;
          expect(loaded.policy.decisions).toBe(decisions);
          for (const [path, field] of LEAVES) {
            if (field.digests !== 'decided') continue;
            // The sum says what was checked. What is decided by it stands in `exclusive`.
            if (path.startsWith('snapshot.checks.')) continue;
            // Bób alone is in `leads`: his grant (row 0) may as well be theirs.
            if (path === 'snapshot.grants.principal' && changedGrantOfBob(changed)) continue;
            expect([path, valueAt({ snapshot: changed }, path)]).toEqual([path, valueAt(JSON.parse(text), path)]);
          }
        },
      ),
      testRuns({ usual: 200, deep: 400 }),
    );
    for (const code of ['loads', 'snapshot.shape', 'snapshot.content', 'snapshot.decisions'])
      expect([...seen]).toContain(code);
  });

  const body = (): Record<string, unknown> => structuredClone(bodyOf(compile(FULL).text));
  it.each<[string, string, (text: Record<string, unknown>) => unknown]>([
    ['snapshot.format', 'another format', (b) => ({ ...b, format: 4 })],
    ['snapshot.shape', 'a field that its format does not have', (b) => ({ ...b, format: 1 })],
    [
      'snapshot.content',
      'a digest that is none',
      (b) => JSON.stringify(b).replace(/("people":\{"count":\d+,"digest":"sha256:).{64}/, '$1'),
    ],
    [
      'snapshot.content',
      'a decision digest that is none',
      (b) => ({ ...b, decisions: `\u001b[2J${String(b['decisions'])}` }),
    ],
    ['snapshot.shape', 'one field more', (b) => ({ ...b, zzz: 1 })],
    ['snapshot.shape', 'fields in another order', (b) => Object.fromEntries(Object.entries(b).reverse())],
    ['snapshot.shape', 'no object', () => []],
    [
      'snapshot.not_canonical',
      'a repeated key',
      (b) => JSON.stringify(b).replace('"format":3', '"format":3,"format":3'),
    ],
    [
      'snapshot.not_canonical',
      'a number with a fraction of nothing',
      (b) => JSON.stringify(b).replace('"format":3', '"format":3.0'),
    ],
    ['snapshot.not_canonical', 'white space', (b) => JSON.stringify(b).replace('"format":3', '"format": 3')],
    ['snapshot.not_canonical', 'an escape', (b) => JSON.stringify(b).replace('"name":"full"', '"name":"\\u0066ull"')],
    [
      'snapshot.decisions',
      'a decision digest of other decisions',
      (b) => ({ ...b, decisions: `sha256:${'0'.repeat(64)}` }),
    ],
    [
      'snapshot.content',
      'a role that is a member of itself',
      (b) => ({ ...b, members: { ...(b['members'] as object), member: [0, 2, 3] } }),
    ],
    ['snapshot.content', 'a name that is no name', (b) => ({ ...b, name: 'Full' })],
    ['snapshot.content', 'a provider that is no name', (b) => ({ ...b, providers: ['GitHub', 'orcid'] })],
    ['snapshot.content', 'providers out of order', (b) => ({ ...b, providers: ['orcid', 'github'] })],
    ['snapshot.content', 'a segment that is none', (b) => ({ ...b, segments: ['Labs', 'optics'] })],
    ['snapshot.content', 'a parent that is not above', (b) => ({ ...b, namespaces: { segment: [0, 1], up: [1, 3] } })],
    [
      'snapshot.content',
      'a file that nothing names',
      (b) => ({ ...b, files: [...(b['files'] as string[]), 'zzz.yaml'] }),
    ],
  ])('refuses with %s: %s', (code, _, change) => {
    expect(faultOf(loadStated(seal(change(body()))))).toBe(code);
  });

  it('decides by what is in the file, whatever label it carries; who states the label finds it false', () => {
    const loaded = loadSnapshot(seal({ ...body(), decisions: `sha256:${'0'.repeat(64)}` }));
    if (!loaded.ok) throw new Error('it is whole');
    expect(verifyDecisions(loaded.policy)?.code).toBe('snapshot.decisions');
    expect(namespaceDigests(loaded.policy)).toMatchObject({ ok: false, fault: { code: 'snapshot.decisions' } });
    const honest = loadSnapshot(compile(FULL).bytes);
    expect(honest.ok && verifyDecisions(honest.policy)).toBe(null);
    expect(verifyDecisions(unrestrictedPolicy())).toBe(null);
  });

  it('gives a policy that is packed, cloned and adopted the same facts and no way to its table', () => {
    const packed = packSnapshot(compile(FULL).bytes);
    const loaded = loadSnapshot(compile(FULL).bytes);
    if (!packed.ok || !loaded.ok) throw new Error('it is whole');
    const policy = adopt(structuredClone(packed.packed));
    expect({ ...policy }).toEqual({ ...loaded.policy });
    expect(Reflect.ownKeys(policy).sort()).toEqual(Reflect.ownKeys(loaded.policy).sort());
    expect(Object.isFrozen(policy)).toBe(true);
    expect(() => verifyDecisions(policy)).toThrow('loaded in this thread');
    expect(packSnapshot(new Uint8Array(9))).toMatchObject({ ok: false, fault: { code: 'snapshot.malformed' } });
  });

  it('packs nothing of reasons and descriptions, which no decision needs', () => {
    const packed = packSnapshot(compile(FULL).bytes);
    const text = JSON.stringify(packed, (_key, value: unknown) =>
      value instanceof SharedArrayBuffer ? Buffer.from(value).toString('latin1') : value,
    );
    expect(compile(FULL).text).toContain('"They read."');
    expect(text).toContain('crew-read');
    for (const shown of ['They read.', 'Who works there.']) expect(text).not.toContain(shown);
  });

  function changedGrantOfBob(changed: object): boolean {
    return JSON.stringify(valueAt({ snapshot: changed }, 'snapshot.grants.principal')) === '[1,0]';
  }

  it('refuses with snapshot.seal, snapshot.malformed and snapshot.too_large before it parses', () => {
    const { bytes, text } = compile(FULL);
    expect(faultOf(loadSnapshot(new TextEncoder().encode(text.replace('"full"', '"fuxl"'))))).toBe('snapshot.seal');
    expect(faultOf(loadSnapshot(new TextEncoder().encode(`\ufeff${text}`)))).toBe('snapshot.malformed');
    expect(decodeSnapshot(bytes, { ...ENGINE_LIMITS, snapshotBytes: bytes.length - 1 })).toMatchObject({
      fault: { code: 'snapshot.too_large' },
    });
  });
});

function replaceLeaf(value: Record<string, unknown>, n: number, replacement: unknown): void {
  const keys = Object.keys(value);
  const key = keys[n % keys.length];
  if (key === undefined) return;
  const child = value[key];
  const deeper = Math.floor(n / keys.length);
  if (typeof child === 'object' && child !== null && Object.keys(child).length > 0)
    replaceLeaf(child as Record<string, unknown>, deeper, replacement);
  else value[key] = replacement;
}

describe('the unrestricted policy', () => {
  it('has one digest for good', () => {
    const digest = `sha256:${createHash('sha256')
      .update(snapshotJson(['bailiwick.unrestricted', 1]))
      .digest('hex')}`;
    expect(unrestrictedPolicy()).toMatchObject({ kind: 'unrestricted', digest, decisions: digest });
  });
});
