// What lint costs of a large policy.
import { expect, test } from '@jest/globals';
import { lintPolicy } from '../../engine/compiler.js';
import type { Instant } from '../../engine/index.js';
import { stopCpu } from '../support/cpu-time.js';
import { POLICY, readFolder } from './source/support.js';

test('100,000 grants are linted within seconds', () => {
  const one = (id: string, namespace: string): string =>
    `  - { id: ${id}, identity: orcid:x, scopes: [resource:read], namespace: ${namespace} }\n`;
  const many = Array.from({ length: 2_000 }, (_, i) => one(`p${String(i)}`, `/l${String(i % 50)}/m${String(i)}`));
  const text = `roles:\n  a: { members: [orcid:x] }\ngrants:\n${one('g', '/a')}${many.join('')}`;
  const set = readFolder({ 'policy.yaml': POLICY, 'a.yaml': text }).policy;
  if (set === null) throw new Error('not a policy');
  const [grant, ...placed] = set.grants;
  if (grant === undefined) throw new Error('no grant');
  const paths = placed.map(({ namespace }) => namespace);
  const grants = Array.from({ length: 100_000 }, (_, i) => ({
    ...grant,
    id: `g${String(i)}`,
    principal: { kind: 'identity', identity: { provider: 'orcid', subject: `u${String(i % 30_000)}` } } as const,
    namespace: paths[(i * 7) % 2_000] ?? grant.namespace,
    expires: i % 3 === 0 ? ((1_800_000_000_000 + i) as Instant) : null,
  }));
  const cpu = stopCpu();
  lintPolicy(
    { policy: { ...set, grants }, sources: new Map(), outlines: [] },
    { at: null, soonMilliseconds: 0, levels: new Map() },
  );
  // Two seconds are the aim on a quiet machine; what must not be is anything quadratic.
  expect(cpu()).toBeLessThan(15_000);
});
