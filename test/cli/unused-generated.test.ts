// `bailiwick unused` on generated policies and logs, compared with `replay --against`, which knows nothing of needs.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { compilePolicy } from '../../engine/compiler.js';
import { formatIdentity, formatInstant, type Instant, instantOf } from '../../engine/index.js';
import type { PolicySet } from '../../engine/model/policy-set.js';
import { scopeNames } from '../../engine/model/scope-set.js';
import { type AccessAsked, askedOf, type CopyAsked, queryAsked } from '../../server/audit/event.js';
import { INSTANTS, windowedWorld } from '../engine/oracle/worlds.js';
import { pathOf } from '../support/gateway.js';
import { type Done, madeOf, writeLog, writePolicy } from '../support/past-log.js';
import { runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';

/** The policy as files, in both styles of YAML, with a comment at each entry. */
function filesOf(set: PolicySet): Readonly<Record<string, string>> {
  const text = (value: unknown): string => JSON.stringify(value);
  const windowOf = (one: {
    readonly notBefore?: Instant | null;
    readonly expires?: Instant | null;
  }): readonly string[] => [
    ...[one.notBefore ?? []].flat().map((instant) => `notBefore: ${text(formatInstant(instant))}`),
    ...[one.expires ?? []].flat().map((instant) => `expires: ${text(formatInstant(instant))}`),
  ];
  const roles = set.roles.flatMap(({ name, members }, i) => {
    const items = members.map((member) => {
      const window = windowOf(member);
      if (member.kind === 'role') return `{ ${[`role: ${member.role}`, ...window].join(', ')} }`;
      const who = text(formatIdentity(member.identity));
      return window.length === 0 ? who : `{ ${[`identity: ${who}`, ...window].join(', ')} }`;
    });
    const block = items.map((item, k) => `      # ${name} ${String(k)}\n      - ${item}\n`).join('');
    return [`  ${name}:\n    members:${i % 2 === 0 || items.length === 0 ? ` [${items.join(', ')}]\n` : `\n${block}`}`];
  });
  const grants = set.grants.flatMap((grant, i) => {
    const { principal, scopes } = grant;
    if (grant.notBefore !== null && grant.expires !== null && grant.notBefore >= grant.expires) return [];
    const fields = [
      `id: ${grant.id}`,
      principal.kind === 'role' ? `role: ${principal.role}` : `identity: ${text(formatIdentity(principal.identity))}`,
      `namespace: ${text(grant.namespace)}`,
      `scopes: ${text(scopeNames(scopes))}`,
      `inherit: ${String(grant.inherit)}`,
      ...windowOf(grant),
    ];
    const entry = i % 2 === 0 ? `{ ${fields.join(', ')} }\n` : `${fields.join('\n    ')}\n`;
    return [`  # ${grant.id}\n  - ${entry}`];
  });
  const families = (set.families ?? [])
    .map(({ name, actions }) => `  ${name}: { actions: ${text(actions)} }\n`)
    .join('');
  return {
    'policy.yaml': `bailiwick: 1\nname: world\nproviders: { github: {}, orcid: {} }\n${families === '' ? '' : `families:\n${families}`}`,
    'teams/a.yaml': `roles:\n${roles.join('')}${grants.length === 0 ? '' : `grants:\n${grants.join('')}`}`,
  };
}

const PATHS = ['/', '/a', '/a/b', '/b/a', '/a-b', '/z'];
const done: fc.Arbitrary<Done> = fc
  .record({
    who: fc.uniqueArray(fc.constantFrom('github:ada', 'orcid:ada', 'orcid:bob', 'orcid:\u{1d518}-eve'), {
      minLength: 1,
      maxLength: 2,
    }),
    path: fc.constantFrom(...PATHS),
    to: fc.constantFrom(...PATHS),
    kind: fc.constantFrom('read', 'write', 'copy', 'create', 'lineage', 'exact', 'subtree'),
    family: fc.constantFrom('resource' as const, 'namespace' as const),
    at: fc.constantFrom(...INSTANTS.map(instantOf)),
    restrictions: fc.option(fc.subarray(PATHS), { freq: 4 }),
  })
  .map(({ who, path, to, kind, family, at: when, restrictions }): Done => {
    const here = pathOf(path);
    const access = ((): AccessAsked | CopyAsked => {
      if (kind === 'read' || kind === 'write')
        return askedOf({ kind: 'access', scope: `${family}:${kind}`, context: here, target: here });
      if (kind === 'copy') return askedOf({ kind: 'copy', source: here, destination: pathOf(to) });
      if (kind === 'create')
        return askedOf({ kind: 'create-namespace', namespace: pathOf(path === '/' ? '/q' : `${path}/q`) });
      return queryAsked({
        family,
        context: here,
        reach: kind === 'exact' ? 'exact' : kind === 'subtree' ? 'subtree' : 'lineage',
      });
    })();
    return { who, access, at: when, ...(restrictions === null ? {} : { restrictions }) };
  });

describe('on generated policies and logs', () => {
  it('the smaller policy changes nothing, as `replay` says; and everything that is not listed changes something', async () => {
    let dropped = 0;
    await fc.assert(
      fc.asyncProperty(
        windowedWorld,
        fc.array(done, { minLength: 1, maxLength: 20, size: 'max' }),
        async (world, all) => {
          const files = filesOf(world);
          const made = madeOf(files);
          const [folder, where] = [await writePolicy(files), await writeLog(made, all)];
          const out = join(await makeFolder(), 'smaller');
          const period = ['--since', '1969-01-01T00:00:00Z', '--until', '1971-01-01T00:00:00Z'];
          const run = await runCli(['unused', folder, '--log', where, ...period, '-o', out, '--format', 'json']);
          expect([run.status, run.stderr]).toEqual([0, '']);
          const report = JSON.parse(run.stdout) as {
            readonly unused: readonly { readonly kind: string; readonly grant?: { readonly id: string } }[];
            readonly smaller: { readonly grants: number; readonly scopes: number; readonly members: number };
          };
          dropped += report.smaller.grants + report.smaller.scopes + report.smaller.members;
          const flips = async (against: string): Promise<number> => {
            const { status } = await runCli(['replay', where, '--against', against, '--exit-code']);
            expect([0, 7]).toContain(status);
            return status === 7 ? 1 : 0;
          };
          expect(await flips(out)).toBe(0);
          // Comments of what is left are left, and no others.
          const text = readFileSync(join(out, 'teams/a.yaml'), 'utf8');
          const ids = [...text.matchAll(/id: (g\d+)/g)].map(([, id]) => id);
          expect([...text.matchAll(/# (g\d+)/g)].map(([, id]) => id)).toEqual(ids);
          // Without a grant that is not listed, something that happened would not have.
          const listed = new Set(report.unused.flatMap(({ kind, grant }) => (kind === 'grant' ? [grant?.id] : [])));
          for (const { id } of made.set.grants.slice(0, 3)) {
            const less = compilePolicy({ ...made.set, grants: made.set.grants.filter((grant) => grant.id !== id) });
            if (!less.ok) throw new Error('too large');
            const file = join(await makeFolder(), 'less.json');
            writeFileSync(file, less.snapshot.bytes);
            expect([id, await flips(file)]).toEqual([id, listed.has(id) ? 0 : 1]);
          }
        },
      ),
      { numRuns: 12 },
    );
    expect(dropped).toBeGreaterThan(20);
  });
});
