// The ends of time: instants are of the years 0000 to 9999, so what a policy says of the time before decides nothing, and no
// digest, difference or test may count it (docs/meaning.md "Time").
import { expect, it } from '@jest/globals';
import { compilePolicy, diffPolicies, readPolicy, runPolicyTests, whoCan } from '../../engine/compiler.js';
import { FIRST_INSTANT, instantOf, LAST_INSTANT, windowOf } from '../../engine/model/instant.js';
import { canonicalize, loadSnapshot, type Policy } from '../../engine/index.js';
import type { PolicySet } from '../../engine/model/policy-set.js';
import { decodeTables } from '../../engine/snapshot/decode-tables.js';
import { digestOf } from '../../engine/snapshot/hash.js';
import { digestChecks } from '../../engine/snapshot/checks.js';
import { toSnapshotBody } from '../../engine/snapshot/encode.js';
import { compileTables } from '../../engine/compile/compile-tables.js';
import { ENGINE_LIMITS } from '../../engine/limits.js';
import { FULL } from './full-policy.js';

const FIRST = '0000-01-01T00:00:00Z';
const LAST = '9999-12-31T23:59:59.999Z';

const OTHER =
  '  - { id: z, identity: orcid:y, namespace: /b, scopes: [resource:read], expires: 2027-01-01T00:00:00Z }\n';
const grant = (window: string): string =>
  `${OTHER}  - { id: a, identity: orcid:x, namespace: /a, scopes: [resource:read]${window} }\n`;

function read(grants: string, tests = ''): PolicySet {
  const texts = {
    'policy.yaml': 'bailiwick: 1\nname: p\nproviders: { orcid: {} }\n',
    'a.yaml': `grants:\n${grants}${tests}`,
  };
  const files = Object.entries(texts).map(([path, text]) => ({ path, bytes: new TextEncoder().encode(text) }));
  const { policy, diagnostics } = readPolicy(files);
  if (policy === null) throw new Error(diagnostics.map(({ message }) => message).join());
  return policy;
}

interface Loaded {
  readonly decisions: string;
  readonly policy: Policy;
}

function load(set: PolicySet): Loaded {
  const compiled = compilePolicy(set);
  if (!compiled.ok) throw new Error('too large');
  const loaded = loadSnapshot(compiled.snapshot.bytes);
  if (!loaded.ok) throw new Error(loaded.fault.message);
  return { decisions: compiled.snapshot.decisions, policy: loaded.policy };
}

it.each([
  ['what begins at the first instant is always in force', `, notBefore: ${FIRST}`, grant('')],
  ['what ends at the first instant is never in force', `, expires: ${FIRST}`, OTHER],
  ['what ends before the first reader of a clock, in another offset', ', expires: 0000-01-01T01:00:00+01:00', OTHER],
])('%s: digest, difference and holders are those of a policy that says so', (_, window, plain) => {
  const [one, other] = [load(read(grant(window))), load(read(plain))];
  expect(one.decisions).toBe(other.decisions);
  const report = diffPolicies(one.policy, other.policy);
  expect(report).toMatchObject({ equal: true, gained: [], lost: [] });
  const same = diffPolicies(load(read(grant(''))).policy, other.policy);
  expect(report.cells.compared).toBe(same.cells.compared);
  const path = canonicalize('/a');
  if (!path.ok) throw new Error('a path');
  for (const at of [FIRST_INSTANT, FIRST_INSTANT + 1, 0, LAST_INSTANT].map(instantOf)) {
    const asked = { scope: 'resource:read', namespace: path.path, at } as const;
    expect(whoCan(one.policy, asked).map(({ identity }) => identity)).toEqual(
      whoCan(other.policy, asked).map(({ identity }) => identity),
    );
  }
});

it('the last instant can be asked about, so what begins or ends there does', () => {
  const digests = [grant(''), grant(`, expires: ${LAST}`), grant(`, notBefore: ${LAST}`), OTHER].map(
    (text) => load(read(text)).decisions,
  );
  expect(new Set(digests).size).toBe(4);
});

it('beyond both ends there is nothing', () => {
  const [before, after] = [FIRST_INSTANT - 1, LAST_INSTANT + 1];
  expect(windowOf({ notBefore: before, expires: after })).toEqual(windowOf({ notBefore: null, expires: null }));
  const never = { from: -Infinity, until: -Infinity };
  expect(windowOf({ notBefore: null, expires: before })).toEqual(never);
  expect(windowOf({ notBefore: after, expires: null })).toEqual(never);
  expect(windowOf({ notBefore: LAST_INSTANT, expires: null })).toEqual({ from: LAST_INSTANT, until: Infinity });
});

it('a test without `at` is run in no interval before time', () => {
  const expects = (text: string): string => `tests:\n  - { name: t, actor: { identities: [orcid:x] }, ${text} }\n`;
  const results = [
    [`, notBefore: ${FIRST}`, 'allow: ["resource:read /a"]'],
    [`, expires: ${FIRST}`, 'deny: ["resource:read /a"]'],
  ].map(([window = '', text = '']) => {
    const set = read(grant(window), expects(text));
    return runPolicyTests(set, load(set).policy).failures;
  });
  expect(results).toEqual([[], []]);
});

it('a snapshot has one spelling of it, and comes back as it was', () => {
  const { tables } = compileTables(
    read(
      `${grant(`, expires: ${FIRST}`)}  - { id: b, identity: orcid:x, namespace: /, scopes: [resource:read], notBefore: ${FIRST} }\n`,
    ),
  );
  const body = toSnapshotBody(tables, { checks: digestChecks(FULL), decisions: digestOf('') });
  expect([body.grants.notBefore, body.grants.expires.at]).toEqual([
    { row: [], at: [] },
    [FIRST_INSTANT, Date.UTC(2027, 0)],
  ]);
  expect(decodeTables(body, ENGINE_LIMITS)).toEqual(tables);
  for (const at of [FIRST_INSTANT, FIRST_INSTANT - 1, LAST_INSTANT + 1]) {
    const grants = { ...body.grants, notBefore: { row: [1], at: [at] } };
    expect(decodeTables({ ...body, grants }, ENGINE_LIMITS)).toBe('grants.notBefore: not rows of grants and instants');
  }
});
