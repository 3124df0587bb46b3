// What lint costs of a large policy.
import { describe, expect, test } from '@jest/globals';
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

describe('lint of one large file', () => {
  const NONE = { at: null, soonMilliseconds: 0, levels: new Map() };
  const repeat = (count: number, line: (i: number) => string): string =>
    Array.from({ length: count }, (_, i) => line(i)).join('');
  const grant = (i: number, namespace: string): string =>
    `  - { id: g${String(i)}, identity: "orcid:u${String(i)}", scopes: ["*:write"], namespace: ${namespace} }`;

  test.each([
    [
      'with as many comments that ignore findings as there are findings',
      `grants:\n${repeat(20_000, (i) => `${grant(i, '/')} # bailiwick-ignore LINT_WRITE_AT_ROOT: why\n`)}`,
      ['LINT_WRITE_UNREAD'],
    ],
    [
      'with as many comments above one entry',
      `${repeat(20_000, () => '# bailiwick-ignore LINT_WRITE_AT_ROOT, LINT_WRITE_UNREAD: why\n')}grants:\n${repeat(20_000, (i) => `${grant(i, '/')}\n`)}`,
      [],
    ],
    [
      'with guardrails at misspelt namespaces',
      `grants:\n${repeat(9_000, (i) => `${grant(i, `/namespace-${String(i % 3_000)}x`)}\n`)}guardrails:\n` +
        repeat(
          3_000,
          (i) => `  - { id: r${String(i)}, never: { scopes: [resource:read], under: /namespaces-${String(i)}x } }\n`,
        ),
      ['LINT_NAMESPACE_LOOKALIKE', 'LINT_WRITE_UNREAD'],
    ],
  ])('%s takes as long as the file, not its square', (_name, text, codes) => {
    const reading = readFolder({ 'policy.yaml': POLICY, 'a.yaml': text });
    const { policy } = reading;
    if (policy === null) throw new Error(reading.diagnostics.map(({ message }) => message).join('\n'));
    const cpu = stopCpu();
    const found = lintPolicy({ ...reading, policy }, NONE);
    expect(cpu()).toBeLessThan(5_000);
    expect([...new Set(found.map(({ code }) => code))].filter((code) => code !== 'LIMIT_LINT').sort()).toEqual(codes);
  });
});
