// What an import costs grows with its files and with the questions of its proof, and not with their product.
import { expect, test } from '@jest/globals';
import { importCasbin } from '../../../server/import/casbin/import-casbin.js';
import { importGithub } from '../../../server/import/github/import-github.js';
import { importKubernetes } from '../../../server/import/kubernetes/import-kubernetes.js';
import { importOpenFga } from '../../../server/import/openfga/import-openfga.js';
import type { ForeignFile, ImportedPolicy } from '../../../server/import/imported-policy.js';
import { growth } from '../../support/cpu-time.js';

const times = <T>(count: number, one: (i: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, i) => one(i));
const json = (value: unknown): readonly ForeignFile[] => [{ path: 'a.json', text: JSON.stringify(value) }];
const RBAC = 'rbac.authorization.k8s.io';

/** How many questions the source allows. */
function allowed({ questions }: ImportedPolicy): number {
  let count = 0;
  for (const question of questions()) if (question.allowed) count += 1;
  return count;
}

test.each<[string, number, (size: number) => ImportedPolicy]>([
  [
    'Kubernetes: bindings in ten namespaces',
    100,
    (size) =>
      importKubernetes(
        json({
          apiVersion: 'v1',
          kind: 'List',
          items: times(size, (i) => {
            const metadata = { name: `r${String(i)}`, namespace: `n${String(i % 10)}` };
            const apiVersion = `${RBAC}/v1`;
            return [
              { apiVersion, kind: 'Role', metadata, rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] },
              {
                ...{ apiVersion, kind: 'RoleBinding', metadata },
                roleRef: { apiGroup: RBAC, kind: 'Role', name: metadata.name },
                subjects: [{ kind: 'User', name: `u${String(i)}` }],
              },
            ];
          }).flat(),
        }),
      ),
  ],
  [
    'casbin: a chain of roles, the innermost first',
    1_000,
    (size) => {
      const chain = times(size, (i) => `g, r${String(size - i)}, r${String(size - i - 1)}\n`).join('');
      return importCasbin([{ path: 'a.csv', text: `${chain}g, ana, r0\np, r0, /a, read\n` }]);
    },
  ],
  [
    'GitHub: a chain of teams',
    60,
    (size) =>
      importGithub(
        json({
          organization: {
            login: 'o',
            teams: {
              nodes: times(size, (i) => ({
                slug: `t${String(i)}`,
                parentTeam: i % 60 === 0 ? null : { slug: `t${String(i - 1)}` },
                members: { nodes: [{ login: `u${String(i)}` }] },
                repositories: { edges: [{ permission: 'READ', node: { name: 'r' } }] },
              })),
            },
          },
        }),
      ),
  ],
])('%s', (_name, size, importOf) => {
  const cost = growth(size, (count) => () => {
    expect(allowed(importOf(count))).toBeGreaterThan(0);
  });
  expect(cost).toBeLessThan(24);
});

// The questions are a product themselves: each has to be answered at once.
test.each<[string, number, (size: number) => ImportedPolicy]>([
  [
    'OpenFGA: many users of one team that sees many documents',
    100,
    (size) =>
      importOpenFga(
        json([
          ...times(size, (i) => ({ user: `user:u${String(i)}`, relation: 'member', object: 'team:all' })),
          ...times(size, (i) => ({ user: 'team:all#member', relation: 'viewer', object: `doc:d${String(i)}` })),
        ]),
      ),
  ],
  [
    'CODEOWNERS: many folders of many owners',
    100,
    (size) =>
      importGithub([{ path: 'r/CODEOWNERS', text: times(size, (i) => `/d${String(i)}/ @u${String(i)}\n`).join('') }]),
  ],
])('%s', (_name, size, importOf) => {
  const cost = growth(size, (count) => {
    const imported = importOf(count);
    return () => {
      expect(allowed(imported)).toBeGreaterThanOrEqual(count);
    };
  });
  // A square is 64, a cube 512.
  expect(cost).toBeLessThan(160);
});
