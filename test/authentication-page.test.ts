// docs/authentication.md says what is true: its settings load, its policies have no mistakes, its tables name every setting.
import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { AUTHENTICATION } from '../server/config/authentication.js';
import { readConfig } from '../server/config/index.js';
import { fromRoot } from './support/root.js';
import { runCli } from './support/run-cli.js';
import { makeFolder } from './support/temp-folder.js';

const PAGE = readFileSync(fromRoot('docs/authentication.md'), 'utf8');
/** Blocks of YAML by the name of their file, which is their first line. */
const FILES = [...PAGE.matchAll(/^```yaml\n# (\S+)\n(.*?)^```$/gms)].map(([, name = '', text = '']) => ({
  name,
  text,
}));
const SETTINGS = FILES.filter(({ name }) => name === 'bailiwick.yaml').map(({ text }) => text);

test.each(SETTINGS)('settings %# load', async (text) => {
  const cwd = await makeFolder({ 'bailiwick.yaml': text });
  const { faults, settings } = await readConfig({ flags: {}, env: {}, cwd });
  expect(faults).toEqual([]);
  expect(settings.some(({ key, level }) => key.startsWith('authentication.') && level === 'file')).toBe(true);
});

test('the policies have no mistakes', async () => {
  expect(SETTINGS.length).toBeGreaterThan(3);
  const grants = FILES.filter(({ name }) => name.startsWith('grants/'));
  const providers = [
    ...new Set(
      grants.flatMap(({ text }) => [...text.matchAll(/identity: ([a-z-]+?)(?:-group)?:/g)].map(([, name]) => name)),
    ),
  ];
  expect(providers.length).toBeGreaterThan(2);
  const cwd = await makeFolder({
    'policy.yaml': `bailiwick: 1\nname: all\nproviders:\n${providers.map((name) => `  ${String(name)}: {}\n`).join('')}`,
    ...Object.fromEntries(grants.map(({ text }, index) => [`grants/page-${String(index)}.yaml`, text])),
  });
  const { status, stderr } = await runCli(['check', '.'], { cwd });
  expect([status, stderr]).toEqual([0, '']);
});

test('every setting of a way in is in a table', () => {
  const { keys: _keys, ...others } = AUTHENTICATION.members;
  for (const member of Object.values(others)) {
    if (!('members' in member)) continue;
    for (const name of Object.keys(member.members)) expect(PAGE).toContain(`\n| \`${name}\` |`);
  }
});
