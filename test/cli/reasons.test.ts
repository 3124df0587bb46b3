// The reason of a grant and the description of a role, wherever a grant is cited: from a folder and from a snapshot, for people and as
// JSON, and never as something that steers a terminal.
import { readFileSync } from 'node:fs';
import { beforeAll, expect, test } from '@jest/globals';
import { type CliRun, runCli } from '../support/run-cli.js';
import { fromRoot } from '../support/root.js';
import { makeFolder } from '../support/temp-folder.js';

const REASON = 'SOX-12 "until audit"\nthen over';
const SHOWN = '"SOX-12 \\"until audit\\"\\nthen over"';
const FILES = {
  'policy.yaml': 'bailiwick: 1\nname: facility\nproviders:\n  orcid: {}\n',
  'roles.yaml':
    'roles:\n  audit:\n    description: Internal audit\n    members: [{ role: leads }]\n  leads:\n    description: Leads\n    members: [orcid:ana]\n',
  'grants.yaml': `grants:\n  - id: audit-read\n    role: audit\n    namespace: /books\n    scopes: [resource:read]\n    reason: ${JSON.stringify(REASON)}\n`,
};
const GUARDED = {
  'guards.yaml': 'guardrails:\n  - id: closed\n    never: { scopes: [resource:read], under: /books }\n',
};
const CITED = { id: 'audit-read', file: 'grants.yaml', line: 2, reason: REASON };
const THROUGH = [
  { role: 'leads', description: 'Leads', file: 'roles.yaml', line: 7 },
  { role: 'audit', description: 'Internal audit', file: 'roles.yaml', line: 4 },
];
const BY = `  by audit-read (grants.yaml:2): ${SHOWN}, through leads (roles.yaml:7): "Leads" in audit (roles.yaml:4): "Internal audit"\n`;
const AT = ['--at', '2027-01-01T00:00:00Z'];
const ASKED = ['--as', 'orcid:ana', '--scope', 'resource:read', '--namespace', '/books', ...AT];

let cwd = '';
const run = (...args: readonly string[]): Promise<CliRun> => runCli(args, { cwd });
const json = async (...args: readonly string[]): Promise<unknown> =>
  JSON.parse((await run(...args, '--format', 'json')).stdout);

beforeAll(async () => {
  const under = (folder: string, files: object): object =>
    Object.fromEntries(Object.entries(files).map(([path, text]) => [`${folder}/${path}`, text]));
  cwd = await makeFolder({
    ...under('folder', FILES),
    ...under('guarded', { ...FILES, ...GUARDED }),
    ...under('without', { ...FILES, 'grants.yaml': '' }),
    ...under('fewer', { ...FILES, 'roles.yaml': FILES['roles.yaml'].replace('[{ role: leads }]', '[]') }),
  });
  expect((await run('compile', 'folder', '-o', 'snapshot.json')).status).toBe(0);
});

test.each(['folder', 'snapshot.json'])('are in who-can, what-can and explain of a %s', async (policy) => {
  const held = { ...CITED, through: THROUGH };
  expect(await json('who-can', policy, 'resource:read', '/books', ...AT)).toMatchObject({
    identities: [{ identity: 'orcid:ana', grants: [held] }],
  });
  expect(await json('what-can', policy, 'orcid:ana', ...AT)).toMatchObject({ access: [{ grants: [held] }] });
  expect(await json('explain', policy, ...ASKED)).toMatchObject({ decision: 'allow', grants: [held] });
  for (const args of [
    ['who-can', policy, 'resource:read', '/books', ...AT],
    ['what-can', policy, 'orcid:ana', ...AT],
  ])
    expect((await run(...args)).stdout).toContain(BY);
  expect((await run('explain', policy, ...ASKED)).stdout).toContain(`grants\n${BY}`);
});

test('are in the causes of a diff', async () => {
  expect(await json('diff', 'without', 'snapshot.json')).toMatchObject({
    gained: [{ causes: [{ kind: 'grant', id: 'audit-read', reason: REASON, description: 'Internal audit' }] }],
  });
  expect((await run('diff', 'without', 'folder')).stdout).toContain(
    `because grant \`audit-read\` to role audit was added (grants.yaml:2): ${SHOWN}; role audit: "Internal audit"\n`,
  );
  expect((await run('diff', 'without', 'folder', '--format', 'markdown')).stdout).toContain(
    'grant `audit-read` added (`grants.yaml:2`): `SOX-12 "until audit"\\nthen over`',
  );
  expect((await run('diff', 'folder', 'fewer')).stdout).toContain(
    'because role leads was removed from role audit (roles.yaml:4): "Internal audit"\n',
  );
});

test('are in the report of a guardrail', async () => {
  const { status, stdout } = await run('check', 'guarded');
  expect([status, stdout.split('\n').slice(3, 5)]).toEqual([
    5,
    [
      `    grant: audit-read (grants.yaml:2): ${SHOWN}, for role audit: "Internal audit"`,
      '  help: removing this grant would satisfy it: audit-read (grants.yaml:2)',
    ],
  ]);
  expect(await json('check', 'guarded')).toMatchObject({
    guardrails: {
      violations: [
        { witnesses: [{ grants: [{ ...CITED, role: 'audit', description: 'Internal audit' }] }], repair: [CITED] },
      ],
    },
  });
});

test.each(['format-1.json', 'format-2.json'])('are not in %s, which has none', async (file) => {
  const policy = fromRoot(`fixtures/snapshots/${file}`);
  expect(readFileSync(policy, 'utf8')).not.toContain('"reason"');
  const { status, stdout } = await run('who-can', policy, 'resource:read', '/', '--format', 'json', ...AT);
  expect(status).toBe(0);
  expect(stdout).not.toMatch(/"reason"|"description"/);
});
