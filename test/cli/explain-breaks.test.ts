// The changes that `explain` proposes say which guardrail they would break, since `check` would refuse them.
import { expect, test } from '@jest/globals';
import { type CliRun, runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';
import { POLICY } from './policies.js';

const ONE_WRITER = '  - { id: one-writer, atMost: { identities: 1, scopes: ["*:write"], at: /labs/optics } }\n';

function guardedBy(guardrails: string): Promise<string> {
  return makeFolder({ ...POLICY, 'guardrails.yaml': `guardrails:\n${guardrails}` });
}

function explain(cwd: string, policy: string, ...more: readonly string[]): Promise<CliRun> {
  const asked = ['--as', 'orcid:bob', '--scope', 'resource:write', '--namespace', '/labs/optics'];
  return runCli(['explain', policy, ...asked, ...more], { cwd });
}

const editsOf = ({ stdout }: CliRun): readonly object[] => (JSON.parse(stdout) as { edits: object[] }).edits;

test('each change names the guardrails that hold now and would not with it', async () => {
  const cwd = await guardedBy(ONE_WRITER);
  expect((await explain(cwd, '.')).stdout.split('\n').slice(-3)).toEqual([
    '  1. 0  grant resource:write at /labs/optics alone (`inherit: false`) to orcid:bob; breaks guardrail `one-writer`',
    '  2. 3  add orcid:bob to role `staff`; breaks guardrail `one-writer`',
    '',
  ]);
  const breaks = expect.objectContaining({ breaks: ['one-writer'] });
  expect(editsOf(await explain(cwd, '.', '--format', 'json'))).toEqual([breaks, breaks]);
});

test('a guardrail that is broken already is not one that a change breaks', async () => {
  const cwd = await guardedBy('  - { id: nobody, never: { scopes: ["resource:*"], under: / } }\n');
  expect((await explain(cwd, '.', '--format', 'json')).stdout).not.toContain('breaks');
});

test('a snapshot says that it cannot know', async () => {
  const cwd = await guardedBy(ONE_WRITER);
  await runCli(['compile', '.', '-o', 'policy.json'], { cwd });
  const { stdout, stderr } = await explain(cwd, 'policy.json');
  expect(stdout).not.toContain('breaks');
  expect(stderr).toContain(
    'note: which guardrails and tests these changes would break was not computed, since a snapshot does not contain them: name the policy folder\n',
  );
  const unknown = expect.objectContaining({ breaks: null });
  expect(editsOf(await explain(cwd, 'policy.json', '--format', 'json'))).toEqual([unknown, unknown]);
});
