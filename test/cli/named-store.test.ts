// A gateway with a place for its socket or its audit log, and verbs beside a gateway, use its store or none: they name the store that they use, and make none by surprise.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';

const VERBS: readonly (readonly string[])[] = [
  ['serve'],
  ['local'],
  ['migrate'],
  ['load', 'records.jsonl'],
  ['export'],
  ['keys', 'create', '--actor', 'prometheus', '--admin'],
  ['keys', 'list'],
];
const SETTINGS = 'adminSocket: /run/bailiwick/admin.sock\naudit: { folder: /var/lib/bailiwick/audit }\n';

describe.each(VERBS)('%s %s', (...verb) => {
  it('is refused where settings of a gateway name no store', async () => {
    const cwd = await makeFolder({ 'etc/bailiwick.yaml': SETTINGS, 'records.jsonl': '' });
    const run = await runCli([...verb, '--config', 'etc/bailiwick.yaml'], { cwd });
    expect([run.status, run.stdout]).toEqual([2, '']);
    expect(run.stderr).toBe(
      [
        'error: settings of a gateway are given (`adminSocket` by bailiwick.yaml:1:14), and none of them names its store',
        '  help: give the store that the gateway uses: `dataDir`, `databaseUrl` or `databaseUrlFile` in the settings file, DATABASE_URL or DATABASE_URL_FILE, or `--data-dir`',
        '',
      ].join('\n'),
    );
    expect(existsSync(join(cwd, '.bailiwick'))).toBe(false);
  });
});

it('a gateway makes its store where its socket and its audit log have no place of their own', async () => {
  const cwd = await makeFolder({ 'bailiwick.yaml': 'listen: 127.0.0.1:0\nadminSocket: none\nadminListen: none\n' });
  // It comes as far as the policy, of which there is none.
  const run = await runCli(['serve'], { cwd });
  expect([run.status, run.stderr]).toEqual([2, expect.stringContaining('no policy')]);
});

it('a variable is such a setting, too', async () => {
  const run = await runCli(['migrate'], { cwd: await makeFolder(), env: { BAILIWICK_LISTEN: '127.0.0.1:0' } });
  expect([run.status, run.stderr]).toEqual([2, expect.stringContaining('(`listen` by BAILIWICK_LISTEN)')]);
});

it('a store that is named is used, and named', async () => {
  const cwd = await makeFolder({ 'bailiwick.yaml': `${SETTINGS}dataDir: data\n` });
  const run = await runCli(['migrate'], { cwd });
  expect([run.status, run.stderr]).toEqual([0, `store: embedded, in ${join(cwd, 'data')} (made by this command)\n`]);
});
