// `config check` and `config example`: every setting with its source, every error at once, and no secret on any path.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { main } from '../../server/cli/main.js';
import { readConfig } from '../../server/config/index.js';
import { makeIo } from '../support/cli-io.js';
import { fromRoot } from '../support/root.js';
import { makeFolder } from '../support/temp-folder.js';

const CANARY = 'hunter2-canary';
const EXAMPLE = 'server/docs/bailiwick.example.yaml';

async function check(
  given: { readonly file?: string; readonly env?: Readonly<Record<string, string>> },
  ...args: readonly string[]
): Promise<{ readonly status: number; readonly stdout: string; readonly stderr: string }> {
  const cwd = await makeFolder(given.file === undefined ? {} : { 'bailiwick.yaml': given.file });
  const made = makeIo({ env: given.env ?? {} });
  const status = await main(['config', 'check', ...args], { ...made.io, cwd });
  return { status, stdout: made.stdout(), stderr: made.stderr() };
}

describe('config check', () => {
  it('lists every setting with its value and where it comes from', async () => {
    const file = 'listen: 127.0.0.1:9\nlimits: { rate: { perActor: 7 } }\n';
    const ran = await check({ file, env: { BAILIWICK_POLICY: 'p' } }, '--data-dir', 'd');
    expect([ran.status, ran.stderr]).toEqual([0, '']);
    expect(ran.stdout.split('\n').map((line) => line.split(/ {2,}/))).toEqual(
      expect.arrayContaining([
        ['SETTING', 'VALUE', 'SOURCE'],
        ['dataDir', 'd', '--data-dir'],
        ['policy', 'p', 'BAILIWICK_POLICY'],
        ['listen', '127.0.0.1:9', 'bailiwick.yaml:1:9'],
        ['limits.rate.perActor', '7', 'bailiwick.yaml:2:29'],
        ['limits.rate.unauthenticated', '50', 'default'],
      ]),
    );
  });

  it('never prints a secret', async () => {
    const url = `postgres://a:${CANARY}@db/x`;
    for (const args of [[], ['--format', 'json']]) {
      for (const given of [
        { env: { DATABASE_URL: url } },
        { file: `databaseUrl: ${url}\n` },
        { file: `databaseUrl: [${url}]\n` },
      ]) {
        const ran = await check(given, ...args);
        expect(ran.stdout + ran.stderr).not.toContain(CANARY);
        expect(ran.stdout + ran.stderr).toMatch(/\(secret\)|"secret":true|must be a PostgreSQL URL/);
      }
    }
  });

  it('tells every error at once with its place, and exits 2', async () => {
    const given = {
      file: 'listn: x\nsecretsFile: s\nlimits: { rate: { perActor: -1 } }\n',
      env: { BAILIWICK_DATA_DI: 'x' },
    };
    const ran = await check(given, '--policy', '');
    expect([ran.status, ran.stdout]).toEqual([2, '']);
    expect(ran.stderr).toBe(
      [
        'error: the configuration has 5 errors',
        '  BAILIWICK_DATA_DI: there is no such setting; did you mean `BAILIWICK_DATA_DIR`?',
        '  bailiwick.yaml:1:1: there is no setting `listn`; did you mean `listen`?',
        '  bailiwick.yaml:2:1: there is no setting `secretsFile`',
        '  bailiwick.yaml:3:29: `limits.rate.perActor` must be a whole number from 0 to 1000000',
        '  --policy: is empty',
        '',
      ].join('\n'),
    );
    const json = JSON.parse((await check(given, '--policy', '', '--format', 'json')).stdout) as { faults: object[] };
    expect(json).toMatchObject({ ok: false, error: { code: 'config.invalid' } });
    expect(json.faults).toEqual([
      { place: 'BAILIWICK_DATA_DI', message: 'there is no such setting', fix: 'did you mean `BAILIWICK_DATA_DIR`?' },
      { place: 'bailiwick.yaml:1:1', message: 'there is no setting `listn`', fix: 'did you mean `listen`?' },
      { place: 'bailiwick.yaml:2:1', message: 'there is no setting `secretsFile`' },
      { place: 'bailiwick.yaml:3:29', message: '`limits.rate.perActor` must be a whole number from 0 to 1000000' },
      { place: '--policy', message: 'is empty' },
    ]);
  });
});

describe('the example file', () => {
  const text = readFileSync(fromRoot(EXAMPLE), 'utf8');
  const sources = { flags: { config: fromRoot(EXAMPLE) }, env: {}, cwd: fromRoot('server/docs') };

  it('loads, and says what no file would say', async () => {
    const [loaded, bare] = await Promise.all([readConfig(sources), readConfig({ ...sources, flags: {} })]);
    expect(loaded.faults).toEqual([]);
    const origin = { file: null, storeNamedBy: null, otherSetting: null };
    expect({ ...loaded.config, ...origin }).toEqual(bare.config);
  });

  it('names every setting, and loads with the ones that it leaves to the reader', async () => {
    const { settings } = await readConfig(sources);
    for (const { key } of settings) expect(text).toMatch(new RegExp(`^[ #]*${key.split('.').at(-1) ?? ''}:`, 'm'));
    const chosen = text.replace(/^dataDir:.*$/m, '').replace(/^#(databaseUrl|policy):/gm, '$1:');
    const ran = await check({ file: chosen });
    expect([ran.status, ran.stderr]).toEqual([0, '']);
    expect(ran.stdout).toMatch(/^databaseUrl +\(secret\) +bailiwick\.yaml:/m);
  });
});
