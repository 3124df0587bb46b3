// docs/open-data.md works as it says: its policy, its settings and its data in a gateway, and each of its commands.
import { expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fromRoot } from './support/root.js';
import { runCli } from './support/run-cli.js';
import { serveHere } from './support/serve-here.js';
import { newDataDir } from './support/stores.js';
import { makeFolder } from './support/temp-folder.js';

const PAGE = readFileSync(fromRoot('docs/open-data.md'), 'utf8');
const FILES = Object.fromEntries(
  [...PAGE.matchAll(/^```yaml\n# (\S+)\n(.*?)^```$/gms)].map(([, name = '', text = '']) => [name, text]),
);
const [DATA = ''] = [...PAGE.matchAll(/^```json\n(.*?)^```$/gms)].map(([, text = '']) => text);
const COMMANDS = [...PAGE.matchAll(/^```console\n(.*?)^```$/gms)].flatMap(([, block = '']) =>
  block.split(/^\$ /m).flatMap((text) => {
    const [command = '', ...printed] = text.split('\n');
    return command === '' ? [] : [{ command, printed: printed.join('\n') }];
  }),
);

test('the page runs', async () => {
  const { 'bailiwick.yaml': settings = '', ...policy } = FILES;
  const cwd = await makeFolder(policy);
  const place = await makeFolder({
    'records.jsonl': DATA,
    'bailiwick.yaml': settings.replace('policy: policy', `policy: ${JSON.stringify(cwd)}`),
  });
  const checked = await runCli(['check', '.'], { cwd });
  expect([checked.status, checked.stdout]).toEqual([0, 'no mistakes in 2 files, 1 test passed, 2 guardrails held\n']);
  const dataDir = await newDataDir();
  const loaded = await runCli(['load', 'records.jsonl', '--data-dir', dataDir], { cwd: place });
  expect([loaded.status, loaded.stderr.includes('error')]).toEqual([0, false]);
  const refused = await runCli(
    ['keys', 'create', '--actor', 'x', '--identity', 'public:anyone', '--data-dir', dataDir],
    { cwd: place },
  );
  expect([refused.status, refused.stderr]).toEqual([
    2,
    expect.stringContaining('--identity `public:anyone`: is who reads without a credential'),
  ]);
  const { port, stop } = await serveHere(dataDir, 'serve', '--config', join(place, 'bailiwick.yaml'));
  const env = { PATH: process.env['PATH'] ?? '', BAILIWICK_URL: `http://127.0.0.1:${String(port)}` };
  expect(COMMANDS).toHaveLength(6);
  for (const { command, printed } of COMMANDS)
    expect([command, (await promisify(execFile)('bash', ['-c', command], { env })).stdout]).toEqual([command, printed]);
  expect(await stop()).toBe(0);
}, 60_000);
