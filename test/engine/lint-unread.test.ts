// Writes without readers, against the slow evaluator at every path and instant of small worlds; and where and when the
// message says that they are.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { lintPolicy, type PolicySet, readPolicy } from '../../engine/compiler.js';
import { isScopeName, scopeNames, vocabularyOf } from '../../engine/index.js';
import { testRuns } from '../support/test-runs.js';
import { isAtOrBelow, oracleGrants } from './oracle/oracle.js';
import { IDENTITIES, INSTANTS, UNIVERSE, world } from './oracle/worlds.js';

function unread(policy: PolicySet): readonly string[] {
  const input = { policy, sources: new Map<string, string>(), outlines: [] };
  const found = lintPolicy(input, { at: null, soonMilliseconds: 0, levels: new Map() });
  return found.flatMap(({ code, message }) => (code === 'LINT_WRITE_UNREAD' ? [message] : []));
}

/** `g1 resource`, for each family of each grant. */
function pairsOf(messages: readonly string[]): readonly string[] {
  const pairs = messages.flatMap((message) => {
    const [, id = '', families = ''] = /^`([^`]+)` allows writing (.*) records that/.exec(message) ?? [];
    return families.split(', ').map((family) => `${id} ${family.replaceAll('`', '')}`);
  });
  return pairs.sort();
}

function bruteForce(set: PolicySet): readonly string[] {
  const readable = new Map<string, boolean>();
  const isRead = (family: string, target: string, at: number): boolean => {
    const key = `${family} ${target} ${String(at)}`;
    let known = readable.get(key);
    if (known === undefined) {
      const scope = `${family}:read`;
      known = isScopeName(scope) && oracleGrants(set, { identities: IDENTITIES, scope, target, at }).length > 0;
      readable.set(key, known);
    }
    return known;
  };
  const pairs = set.grants.flatMap((grant) => {
    const isHeld = oracleGrants(
      { ...set, grants: [{ ...grant, notBefore: null, expires: null }] },
      { identities: IDENTITIES, scope: scopeNames(grant.scopes)[0] ?? 'resource:read', target: grant.namespace, at: 0 },
    );
    if (isHeld.length === 0) return [];
    const held: readonly string[] = scopeNames(grant.scopes);
    const families = vocabularyOf(set).familyNames.filter((family) => held.includes(`${family}:write`));
    const targets = UNIVERSE.filter(
      (path) => path === grant.namespace || (grant.inherit && isAtOrBelow(path, grant.namespace)),
    );
    const times = INSTANTS.filter((at) => (grant.notBefore ?? -Infinity) <= at && at < (grant.expires ?? Infinity));
    return families
      .filter((family) => targets.some((target) => times.some((at) => !isRead(family, target, at))))
      .map((family) => `${grant.id} ${family}`);
  });
  return pairs.sort();
}

describe('writes that nobody reads', () => {
  it('are found if there is a place and a time, and only then', () => {
    let [found, missing] = [0, 0];
    fc.assert(
      fc.property(world, fc.boolean(), (set, reads) => {
        // With some grants that read everything, what is left is found in corners of place and time.
        const grants = set.grants.map((grant, index) =>
          reads && index < 3 ? { ...grant, scopes: 0b0101010101 as typeof grant.scopes } : grant,
        );
        const wanted = bruteForce({ ...set, grants });
        expect(pairsOf(unread({ ...set, grants }))).toEqual(wanted);
        found += wanted.length;
        missing += grants.length - wanted.length;
      }),
      testRuns({ usual: 100, deep: 200 }),
    );
    expect(Math.min(found, missing)).toBeGreaterThan(100);
  });

  const lint = (grants: readonly string[]): readonly string[] => {
    const texts = {
      'policy.yaml': 'bailiwick: 1\nname: p\nproviders: { orcid: {} }\n',
      'a.yaml': `grants:\n${grants.map((grant) => `  - { identity: orcid:x, ${grant} }\n`).join('')}`,
    };
    const files = Object.entries(texts).map(([path, text]) => ({ path, bytes: new TextEncoder().encode(text) }));
    const { policy } = readPolicy(files);
    if (policy === null) throw new Error('the policy was not read');
    return unread(policy);
  };
  const write = 'id: w, namespace: /a, scopes: [resource:write, process-run:write]';
  const read = (id: string, more: string): string =>
    `id: ${id}, scopes: [resource:read, process-run:read], ${more.includes('namespace') ? more : `namespace: /a, ${more}`}`;
  const NOBODY = '`w` allows writing `resource`, `process-run` records that nobody may read';
  it.each([
    ['nowhere', [write], `${NOBODY.replace('may', 'may ever')} at \`/a\` and below it`],
    ['at one place', [`${write}, inherit: false`], `${NOBODY.replace('may', 'may ever')} at \`/a\``],
    ['not below', [write, read('r', 'inherit: false')], `${NOBODY.replace('may', 'may ever')} below \`/a\``],
    [
      'in some places below',
      [write, read('r', 'namespace: /a/b')],
      `${NOBODY.replace('may', 'may ever')} at \`/a\` and below it, outside the namespaces that grants name there`,
    ],
    [
      'until it may',
      [write, read('r', 'notBefore: 2027-01-01T00:00:00Z')],
      `${NOBODY} at \`/a\` and below it, until 2027-01-01T00:00:00.000Z`,
    ],
    [
      'between two readers, and after',
      [
        write,
        read('r', 'expires: 2027-01-01T00:00:00Z'),
        read('s', 'notBefore: 2028-01-01T00:00:00Z, expires: 2029-01-01T00:00:00Z'),
      ],
      `${NOBODY} at \`/a\` and below it, from 2027-01-01T00:00:00.000Z until 2028-01-01T00:00:00.000Z, and 1 more times`,
    ],
    [
      'since readers take turns',
      [write, read('r', 'expires: 2027-01-01T00:00:00Z'), read('s', 'notBefore: 2027-01-01T00:00:00Z')],
      null,
    ],
  ] as const)('say where and when: %s', (_, grants, message) => {
    expect(lint(grants)).toEqual(message === null ? [] : [message]);
  });

  it('tell families apart that differ in place or time', () => {
    expect(lint([write, 'id: r, namespace: /a, scopes: [process-run:read], inherit: false'])).toEqual([
      '`w` allows writing `process-run` records that nobody may ever read below `/a`',
      '`w` allows writing `resource` records that nobody may ever read at `/a` and below it',
    ]);
  });
});
