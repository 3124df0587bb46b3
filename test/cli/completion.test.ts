// Completion, as bash does it: the script is sourced and asked for what may follow.
import { execFileSync } from 'node:child_process';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';

let script = '';
beforeAll(async () => {
  const { stdout, status } = await runCli(['completion', 'bash']);
  expect(status).toBe(0);
  script = stdout;
});

/** What bash offers for the last word of a line. */
function offered(...words: readonly string[]): readonly string[] {
  const ask = `source /dev/stdin <<'EOS'\n${script}EOS\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _bailiwick; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const text = execFileSync('bash', ['-c', ask, 'bash', 'bailiwick', ...words], { encoding: 'utf8' });
  return text.split('\n').filter((line) => line !== '');
}

describe('bash completes', () => {
  test.each<[string, readonly string[], readonly string[]]>([
    ['verbs', ['che'], ['check', 'check-proof', 'check-attestation']],
    ['several', ['co'], ['compile', 'codes', 'console', 'config', 'completion']],
    ['verbs of verbs', ['keys', ''], ['create', 'list', 'revoke']],
    ['options', ['check', 'policies', '--str'], ['--strict']],
    ['options of verbs of verbs', ['keys', 'create', '--scope'], ['--scope', '--scope-none']],
    ['values of options', ['compile', '.', '-o', 'x', '--format', 's'], ['sarif']],
    ['values of other verbs apart', ['diff', 'a', 'b', '--format', 'mark'], ['markdown']],
    ['arguments with known values', ['completion', 'f'], ['fish']],
    ['files, by saying nothing', ['check', 'pol'], []],
  ])('%s', (_, words, expected) => {
    expect(offered(...words)).toEqual(expected);
  });
});

test.each(['zsh', 'fish'])('the script of %s names every verb', async (shell) => {
  const { stdout, status } = await runCli(['completion', shell]);
  expect(status).toBe(0);
  for (const verb of ['check', 'explain', 'serve', 'revoke', 'completion']) expect(stdout).toContain(verb);
});

test('the script of bash is one that bash reads without a word', async () => {
  const folder = await makeFolder({ 'completion.bash': script });
  expect(execFileSync('bash', ['-n', 'completion.bash'], { cwd: folder, encoding: 'utf8' })).toBe('');
});
