// What `who-can`, `what-can`, `explain` and `visible` add to an answer that is exact but perhaps not what was meant.
import { beforeAll, expect, test } from '@jest/globals';
import { type CliRun, runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';
import { POLICY } from './policies.js';

const AT = ['--at', '2027-01-01T00:00:00Z'];

let cwd = '';
const run = (...args: readonly string[]): Promise<CliRun> => runCli(args, { cwd });

beforeAll(async () => {
  cwd = await makeFolder(Object.fromEntries(Object.entries(POLICY).map(([path, text]) => [`old/${path}`, text])));
  expect((await run('compile', 'old', '-o', 'old.json')).status).toBe(0);
});

test.each([
  ['/nowhere', ''],
  ['/labs/optcs', '; did you mean `/labs/optics`?'],
  ['labs/optcs', '; did you mean `/labs/optics`?'],
])('notes that no grant names %s', async (path, meant) => {
  const { stderr, stdout } = await run('who-can', 'old', 'resource:write', path, ...AT);
  const canonical = path.startsWith('/') ? path : `/${path}`;
  expect(stderr).toBe(`note: no grant names \`${canonical}\` or a namespace below it${meant}\n`);
  expect(stdout).toContain(`nobody holds resource:write at ${canonical} `);
});

const then = ['--at', '2020-01-01T00:00:00Z'];
const actor = ['--as', 'orcid:ana', '--namespace', '/labs/optics'];
const NOTE =
  /^note: `--at` changes the time, not the policy: .* for a past policy, name its snapshot or `<revision>:<folder>`\n$/;

test.each([
  ['who-can', ['resource:read', '/labs']],
  ['what-can', ['orcid:ana']],
  ['explain', [...actor, '--scope', 'resource:read']],
  ['visible', [...actor, '--family', 'resource']],
])('%s of a folder at a past time says what that does not move', async (verb, args) => {
  expect((await run(verb, 'old', ...args, ...then)).stderr).toMatch(NOTE);
  for (const [policy, at] of [
    ['old.json', then],
    ['old', []],
    ['old', ['--at', '2999-01-01T00:00:00Z']],
  ] as const) {
    expect((await run(verb, policy, ...args, ...at)).stderr).toBe('');
  }
});
