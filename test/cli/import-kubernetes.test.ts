// `bailiwick import kubernetes`: what it makes of RBAC, what it says of the rest, and that its proof finds what is wrong.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ForeignFault, type ImportedPolicy } from '../../server/import/imported-policy.js';
import { importKubernetes } from '../../server/import/kubernetes/import-kubernetes.js';
import { comparedOf } from '../support/import-proof.js';
import { fromRoot } from '../support/root.js';
import { makeFolder } from '../support/temp-folder.js';
import { runIn } from './verb-table.js';

const SAMPLE = fromRoot('fixtures/import/kubernetes/rbac.yaml');

describe('the sample', () => {
  let cwd: string;

  beforeAll(async () => {
    cwd = await makeFolder();
    writeFileSync(join(cwd, 'rbac.yaml'), readFileSync(SAMPLE));
  });

  it('is imported, and each rule that is not imported has its place', async () => {
    const ran = await runIn(cwd, ['import', 'kubernetes', 'rbac.yaml', '-o', 'cluster', '--format', 'json']);
    expect(ran.stderr).toBe('');
    const report: unknown = JSON.parse(ran.stdout);
    expect(report).toMatchObject({ ok: true, policy: 'cluster', counts: { rules: 9, roles: 3, grants: 3 } });
    expect(report).toMatchObject({
      unsaid: [
        { file: 'rbac.yaml', line: 8, rule: 'Role shop/deployer, rule 2: get, update configmaps' },
        { file: 'rbac.yaml', line: 20, rule: 'ClusterRole viewer, rule 2: get /healthz, /metrics' },
        { file: 'rbac.yaml', line: 33, rule: 'ClusterRole monitoring, aggregationRule' },
        {
          file: 'rbac.yaml',
          line: 61,
          rule: 'ClusterRoleBinding admins',
          why: 'no file has the ClusterRole cluster-admin',
        },
      ],
    });
    expect((await runIn(cwd, ['check', 'cluster'])).status).toBe(0);
  });

  it.each([
    ['kubernetes-group:shop-team', 'deployments.apps:write', '/shop', 'allow'],
    ['kubernetes-group:shop-team', 'deployments.apps:write', '/bank', 'deny'],
    ['kubernetes-group:shop-team', 'configmaps:read', '/shop', 'deny'],
    ['kubernetes:system:serviceaccount:builds:ci', 'deployments.scale.apps:read', '/shop', 'allow'],
    ['kubernetes:ana@example.org', 'pods.log:read', '/bank', 'allow'],
    ['kubernetes:ana@example.org', 'pods:write', '/bank', 'deny'],
    ['kubernetes:root@example.org', 'other-resources:write', '/', 'allow'],
  ])('%s %s %s: %s', async (identity, scope, namespace, decision) => {
    const asked = ['--as', identity, '--scope', scope, '--namespace', namespace, '--format', 'json'];
    const ran = await runIn(cwd, ['explain', 'cluster', ...asked]);
    expect(JSON.parse(ran.stdout)).toMatchObject({ decision });
  });

  it('says it to people, and ends with 7 on request', async () => {
    const ran = await runIn(cwd, ['import', 'kubernetes', 'rbac.yaml', '-o', 'again', '--exit-code']);
    expect(ran.status).toBe(7);
    expect(ran.stdout).toContain('rbac.yaml:8 not imported Role shop/deployer, rule 2: get, update configmaps\n');
    expect(ran.stdout).toMatch(/the policy and the source agree on all of them\n/);
    expect(readFileSync(join(cwd, 'again/imported.yaml'), 'utf8')).toMatch(/^roles:\n/);
  });

  it.each([
    ['broken.yaml', 'kind: [\n', /broken\.yaml:\d+ /],
    [
      'twice.yaml',
      `${readFileSync(SAMPLE, 'utf8')}---\n${readFileSync(SAMPLE, 'utf8')}`,
      /twice\.yaml:65 .* is also in /,
    ],
    ['other.yaml', 'apiVersion: v1\nkind: Pod\n', /no rules of the kind kubernetes/],
    [
      'wrong.yaml',
      readFileSync(SAMPLE, 'utf8').replace('resources: [configmaps]', 'resources: 7'),
      /wrong\.yaml:8 `resources` must be a list/,
    ],
  ])('refuses %s and writes nothing', async (name, text, message) => {
    writeFileSync(join(cwd, name), text);
    const ran = await runIn(cwd, ['import', 'kubernetes', name, '-o', 'none']);
    expect(ran.status).toBe(2);
    expect(ran.stderr).toMatch(message);
    expect(existsSync(join(cwd, 'none'))).toBe(false);
  });

  it('refuses a folder that exists, and a kind that it does not know', async () => {
    expect((await runIn(cwd, ['import', 'kubernetes', 'rbac.yaml', '-o', '.'])).status).toBe(2);
    expect((await runIn(cwd, ['import', 'nonsense', 'rbac.yaml', '-o', 'none'])).status).toBe(2);
  });
});

const NAMES = ['a', 'b', 'c'];
const some = (...of: readonly string[]): fc.Arbitrary<string[]> => fc.subarray([...of], { minLength: 1 });
const rule = fc.record({
  apiGroups: some('', 'apps', '*'),
  resources: some('pods', 'pods/log', 'nodes', '*', '*/log'),
  verbs: some('get', 'list', 'update', 'delete', 'impersonate', '*'),
  resourceNames: fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: fc.constant(['x']) }),
});
const role = fc.record({
  cluster: fc.boolean(),
  name: fc.constantFrom(...NAMES),
  rules: fc.array(rule, { maxLength: 3 }),
});
const subject = fc.oneof(
  fc.record({ kind: fc.constantFrom('User', 'Group'), name: fc.constantFrom('ana', 'Bob', 'system:authenticated') }),
  fc.record({ kind: fc.constant('ServiceAccount'), name: fc.constantFrom('ci'), namespace: fc.constantFrom('a', 'b') }),
);
const binding = fc.record({
  cluster: fc.boolean(),
  namespace: fc.constantFrom(...NAMES),
  toCluster: fc.boolean(),
  role: fc.constantFrom(...NAMES),
  subjects: fc.array(subject, { maxLength: 2 }),
});

it('decides as Kubernetes does, on generated objects', () => {
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  let allowed = 0;
  fc.assert(
    fc.property(
      fc.uniqueArray(role, { selector: ({ cluster, name }) => `${String(cluster)} ${name}`, maxLength: 5 }),
      fc.array(binding, { maxLength: 6 }),
      (roles, bindings) => {
        const items = [
          ...roles.map(({ cluster, name, rules }) => ({
            apiVersion,
            kind: cluster ? 'ClusterRole' : 'Role',
            metadata: cluster ? { name } : { name, namespace: name },
            rules,
          })),
          ...bindings.map(({ cluster, namespace, toCluster, role: named, subjects }, i) => ({
            apiVersion,
            kind: cluster ? 'ClusterRoleBinding' : 'RoleBinding',
            metadata: { name: `b${String(i)}`, ...(cluster ? {} : { namespace }) },
            roleRef: { kind: toCluster ? 'ClusterRole' : 'Role', name: named },
            subjects,
          })),
        ];
        const text = JSON.stringify({ kind: 'List', items });
        const imported = importedOrTooMany(text);
        fc.pre(imported !== null);
        const proof = comparedOf(imported);
        expect(proof.examples).toEqual([]);
        expect(proof.questions).toBe(imported.questionCount);
        allowed += proof.allowed;
      },
    ),
    { numRuns: 60 },
  );
  expect(allowed).toBeGreaterThan(0);
});

/** Null where the rules need more scopes than a policy has: such files are refused. */
function importedOrTooMany(text: string): ImportedPolicy | null {
  try {
    return importKubernetes([{ path: 'all.json', text }]);
  } catch (error) {
    if (error instanceof ForeignFault && error.message.includes('of its own')) return null;
    throw error;
  }
}

it('finds a policy that is too wide or too narrow', () => {
  const imported = importKubernetes([{ path: 'rbac.yaml', text: readFileSync(SAMPLE, 'utf8') }]);
  const wide = { ...imported, grants: imported.grants.map((grant) => ({ ...grant, namespace: '/' })) };
  expect(comparedOf(imported).disagreements).toBe(0);
  expect(comparedOf(wide, imported).disagreements).toBeGreaterThan(0);
  for (const [i] of imported.grants.entries()) {
    const narrow = { ...imported, grants: imported.grants.filter((_, at) => at !== i) };
    expect(comparedOf(narrow, imported).disagreements).toBeGreaterThan(0);
  }
});
