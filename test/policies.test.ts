// The policy that ships: it is valid, its tests pass, its guardrails hold, and each guardrail would notice what it is
// there for.
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { fromRoot } from './support/root.js';
import { runCli } from './support/run-cli.js';
import { makeFolder } from './support/temp-folder.js';

interface CheckReport {
  readonly ok: boolean;
  readonly policy: string;
  readonly diagnostics: readonly { readonly severity: string }[];
  readonly tests: { readonly passed: number; readonly failed: number };
  readonly guardrails: {
    readonly held: number;
    readonly violated: number;
    readonly violations: readonly { readonly guardrail: string; readonly witnesses: readonly unknown[] }[];
  };
}

const POLICIES = fromRoot('policies');

/** Before any of its grants is over, whatever day it is. */
const EARLY = '2026-12-01T00:00:00Z';

async function check(
  folder: string,
  at = EARLY,
): Promise<{ readonly status: number | null; readonly report: CheckReport }> {
  const { status, stdout } = await runCli(['check', folder, '--at', at, '--format', 'json']);
  return { status, report: JSON.parse(stdout) as CheckReport };
}

/** A copy of the policy in which one text of one file is another. */
async function changed(file: string, from: string, to: string): Promise<string> {
  const folder = join(await makeFolder(), 'policies');
  cpSync(POLICIES, folder, { recursive: true });
  const text = readFileSync(join(folder, file), 'utf8');
  expect(text).toContain(from);
  writeFileSync(join(folder, file), text.replace(from, to));
  return folder;
}

/** One more grant, in the file that is not bound to a place. */
const added = (grant: string): readonly [string, string, string] => [
  'grants/visitors.yaml',
  'grants:\n',
  `grants:\n  - { id: added, ${grant} }\n`,
];

describe('the policy that ships', () => {
  it('is in the one layout, and has the schemas that editors find by the first line of each file', async () => {
    expect(await runCli(['fmt', POLICIES, '--check'])).toMatchObject({ status: 0, stdout: '' });
    const files = readdirSync(POLICIES, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.yaml'));
    expect(files.length).toBeGreaterThan(15);
    for (const path of files) {
      const [, schema = ''] =
        /^# yaml-language-server: \$schema=(\S+)\n/.exec(readFileSync(join(POLICIES, path), 'utf8')) ?? [];
      expect(join(dirname(path), schema)).toBe(`.schema/${path === 'policy.yaml' ? 'policy' : 'sections'}.json`);
    }
  });

  it('is as sound when its grants are over: that is a warning', async () => {
    const { status, report } = await check(POLICIES, '2030-01-01T00:00:00Z');
    expect(report).toMatchObject({ ok: true, tests: { failed: 0 }, guardrails: { violated: 0 } });
    expect([status, new Set(report.diagnostics.map(({ severity }) => severity))]).toEqual([0, new Set(['warning'])]);
  });

  it('has nothing to complain of, passes its tests and keeps its guardrails', async () => {
    const { status, report } = await check(POLICIES);
    expect(report.diagnostics).toEqual([]);
    expect(report).toMatchObject({
      ok: true,
      policy: 'photon-facility',
      tests: { failed: 0 },
      guardrails: { violated: 0 },
    });
    expect(report.tests.passed).toBeGreaterThanOrEqual(15);
    expect(report.guardrails.held).toBe(7);
    expect(status).toBe(0);
  });

  it.each([
    {
      guardrail: 'only-leads-and-curators-change-beamline-templates',
      change: added('role: lix-staff, namespace: /beamlines/lix, scopes: [resource-template:write]'),
    },
    {
      guardrail: 'who-designs-a-procedure-does-not-run-it',
      change: added('role: amx-leads, namespace: /beamlines/amx, scopes: [process-run:write]'),
    },
    {
      guardrail: 'two-keepers-everywhere',
      change: ['grants/facility.yaml', 'process-template:*]\n', 'process-template:*]\n    inherit: false\n'] as const,
    },
    {
      guardrail: 'few-write-at-the-root',
      change: added('role: user-office, namespace: /, scopes: [resource:write], inherit: false'),
    },
    {
      guardrail: 'proprietary-work-stays-closed',
      change: added('role: staff, namespace: /industry, scopes: [resource:read]'),
    },
    {
      guardrail: 'visitors-leave',
      change: added('identity: visitor:2703-0001, namespace: /labs/detector, scopes: [resource:read]'),
    },
    {
      guardrail: 'visitors-change-nothing',
      change: added(
        'identity: visitor:2703-0001, namespace: /labs/detector, scopes: [resource:write], notBefore: 2027-01-01T00:00:00Z, expires: 2027-01-15T00:00:00Z',
      ),
    },
  ])('notices by $guardrail', async ({ guardrail, change }) => {
    const { status, report } = await check(await changed(...change));
    expect(report.diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(report.guardrails.violations.map((violation) => violation.guardrail)).toEqual([guardrail]);
    expect(report.guardrails.violations[0]?.witnesses.length).toBeGreaterThan(0);
    // What breaks a guardrail may break a test as well, which comes first among the exit statuses.
    expect([4, 5]).toContain(status);
  });

  it('is of the size that its description says: four beamlines, each with a folder that is delegated to its owners', () => {
    const folders = readdirSync(join(POLICIES, 'grants/beamlines')).filter((file) => file !== 'shared.yaml');
    expect(folders).toEqual(['amx', 'fmx', 'lix', 'nyx']);
  });

  it('gives a file to an owner only where its folder is delegated: any other file may hold anything', async () => {
    const owned = readFileSync(join(POLICIES, 'CODEOWNERS'), 'utf8')
      .split('\n')
      .filter((line) => /^[*/]/.test(line))
      .map((line) => line.split(/ +/));
    const trusted = ['@photon-facility/curators', '@photon-facility/safety-officers'];
    const others = owned.filter(([, ...owners]) => !owners.every((owner) => trusted.includes(owner)));
    expect(others.map(([path]) => path)).toHaveLength(6);
    for (const [path = ''] of others) {
      const folder = path.slice(1, -1);
      const file = readdirSync(join(POLICIES, folder))[0] ?? '';
      const text = readFileSync(join(POLICIES, folder, file), 'utf8');
      const outside = '  - { id: outside, identity: badge:b-11317, scopes: [resource:read], namespace: / }\n';
      const edited = text.replace(/^within: .*\n/m, '').replace('grants:\n', `grants:\n${outside}`);
      const { report } = await check(await changed(join(folder, file), text, edited));
      expect([path, report.diagnostics]).toEqual([path, [expect.objectContaining({ code: 'DELEGATED_OUTSIDE' })]]);
    }
  });
});
