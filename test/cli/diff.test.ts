// `diff` as its user runs it: rows with causes, the certificate, what it refuses.
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { type CliRun, runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';
import { POLICY } from './policies.js';

const DIGEST = /^sha256:[0-9a-f]{64}$/;

const CHANGED = {
  ...POLICY,
  'roles.yaml': 'roles:\n  staff:\n    members: [orcid:ana, "orcid:bo|b`x`"]\n',
  'grants/optics.yaml':
    'within: /labs/optics\ngrants:\n  - id: staff\n    role: staff\n    namespace: /labs/optics\n    scopes: ["resource:*"]\n  - id: guest\n    identity: orcid:guest\n    namespace: /labs/optics/run-7\n    scopes: [resource:read]\n    inherit: false\n    notBefore: 2027-02-01T00:00:00Z\n    expires: 2027-03-01T00:00:00Z\n',
};

let cwd = '';
const run = (...args: readonly string[]): Promise<CliRun> => runCli(args, { cwd });
const json = async (...args: readonly string[]): Promise<unknown> =>
  JSON.parse((await run(...args, '--format', 'json')).stdout);

beforeAll(async () => {
  const inFolder = (folder: string, files: Readonly<Record<string, string>>): [string, string][] =>
    Object.entries(files).map(([path, text]) => [`${folder}/${path}`, text]);
  cwd = await makeFolder(Object.fromEntries([...inFolder('old', POLICY), ...inFolder('new', CHANGED)]));
  expect((await run('compile', 'old', '-o', 'old.json')).status).toBe(0);
});

describe('diff', () => {
  test('has rows with causes, and the certificate', async () => {
    const guest = {
      change: 'added',
      kind: 'grant',
      id: 'guest',
      principal: 'orcid:guest',
      file: 'grants/optics.yaml',
      line: 7,
    };
    expect(await json('diff', 'old.json', 'new')).toEqual({
      old: { snapshot: expect.stringMatching(DIGEST), decisions: expect.stringMatching(DIGEST) },
      new: { snapshot: expect.stringMatching(DIGEST), decisions: expect.stringMatching(DIGEST) },
      equal: false,
      gained: [
        {
          namespace: '/labs/optics',
          extent: 'subtree',
          identities: ['orcid:bo|b`x`'],
          scopes: ['resource:read', 'resource:write'],
          from: null,
          until: null,
          causes: [
            { change: 'added', kind: 'member', role: 'staff', member: 'orcid:bo|b`x`', file: 'roles.yaml', line: 3 },
          ],
        },
        {
          namespace: '/labs/optics/run-7',
          extent: 'exact',
          identities: ['orcid:guest'],
          scopes: ['resource:read'],
          from: '2027-02-01T00:00:00.000Z',
          until: '2027-03-01T00:00:00.000Z',
          causes: [guest],
        },
      ],
      lost: [],
      // 3 identities, 3 nodes with what is below each, 10 scopes, 3 intervals; 4 classes x 2 scopes x 3 intervals, and 1.
      cells: { compared: 540, equal: 515, gained: 25, lost: 0 },
      exclusive: { added: [], removed: [] },
      scopes: { added: [], removed: [] },
      checks: {
        delegation: { changed: false },
        exclusive: { changed: false },
        guardrails: { changed: false },
        people: { changed: false },
        tests: { changed: false },
      },
    });
  });

  test.each([
    ['no flag', ['old', 'new'], 0],
    ['--exit-code', ['old', 'new', '--exit-code'], 7],
    ['--no-new-access', ['old', 'new', '--no-new-access'], 7],
    ['--no-new-access where access is lost only', ['new', 'old', '--no-new-access'], 0],
    ['--exit-code where access is lost only', ['new', 'old', '--exit-code'], 7],
    ['both flags where nothing differs', ['old', 'old.json', '--exit-code', '--no-new-access'], 0],
  ])('exits as asked: %s', async (_what, args, status) => {
    expect((await run('diff', ...args)).status).toBe(status);
  });

  test('says which flag refuses it, beside the difference', async () => {
    const { stderr, stdout } = await run('diff', 'old', 'new', '--no-new-access', '--format', 'json');
    expect(JSON.parse(stdout)).toMatchObject({ cells: { gained: 25 } });
    expect(stderr).toBe('refused: somebody gains access, which `--no-new-access` forbids\n');
    expect((await run('diff', 'new', 'old', '--no-new-access')).stderr).toBe('');
  });

  test('reads well on a terminal and in a pull request', async () => {
    const { stdout } = await run('diff', 'old', 'new');
    expect(stdout.split('\n').slice(0, 7)).toEqual([
      '+ orcid:bo|b`x`',
      '    resource:* at and below /labs/optics',
      '    because orcid:bo|b`x` was added to role staff (roles.yaml:3)',
      '+ orcid:guest',
      '    resource:read at /labs/optics/run-7 from 2027-02-01T00:00:00.000Z until 2027-03-01T00:00:00.000Z',
      '    because grant `guest` to orcid:guest was added (grants/optics.yaml:7)',
      '540 cells compared: 25 gained, 0 lost, 515 equal',
    ]);
    const markdown = (await run('diff', 'old', 'new', '--format', 'markdown')).stdout.split('\n');
    expect(markdown.slice(0, 6)).toEqual([
      '### Access: 2 identities gain, 0 identities lose',
      '',
      '| | who | may | where | when | because |',
      '|---|---|---|---|---|---|',
      '| + | `` orcid:bo\\|b`x` `` | `resource:*` | at and below `/labs/optics` | always | `` orcid:bo\\|b`x` `` added to `staff` (`roles.yaml:3`) |',
      '| + | `orcid:guest` | `resource:read` | `/labs/optics/run-7` | from 2027-02-01T00:00:00.000Z until 2027-03-01T00:00:00.000Z | grant `guest` added (`grants/optics.yaml:7`) |',
    ]);
    expect((await run('diff', 'old', 'old.json')).stdout).toContain('no access is gained or lost\n');
  });

  test('refuses what is not a policy, as every verb does', async () => {
    const broken = join(await mkdtemp(join(tmpdir(), 'bailiwick-')), 'broken.json');
    await writeFile(broken, '{}');
    expect([
      (await run('diff', 'old', broken)).status,
      (await run('diff', 'old', 'absent')).status,
      (await run('diff', '-', '-')).status,
    ]).toEqual([8, 2, 2]);
  });
});
