// `explain` for a request that no change of a policy or a credential would allow.
import { expect, test } from '@jest/globals';
import { type CliRun, runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';
import { POLICY } from './policies.js';

test('where no edit would allow it, explain says why, whichever step failed', async () => {
  const cwd = await makeFolder(POLICY);
  const run = (...args: readonly string[]): Promise<CliRun> => runCli(['explain', '.', ...args], { cwd });
  const helpFor = async (identity: string, ...more: readonly string[]): Promise<readonly (string | undefined)[]> => {
    const { stdout } = await run('--as', identity, ...more);
    return [stdout.split('\n')[0], stdout.split('\n').find((line) => line.startsWith('help: '))];
  };
  const none = 'help: no edit of the policy or the credential allows it: ';
  const read = ['--scope', 'resource:read'];
  expect(await helpFor('orcid:ana', ...read, '--namespace', '/labs/optics', '--context', '/labs')).toEqual([
    'denied at target_relationship',
    `${none}no grant allows resource:read at /labs/optics from /labs; ask from /labs/optics or from below it`,
  ]);
  const write = ['--scope', 'resource:write', '--namespace', '/labs'];
  expect(await helpFor('orcid:bob', ...write, '--context', '/labs/optics')).toEqual([
    'denied at no_matching_grant',
    `${none}no grant allows resource:write at /labs from /labs/optics; ask from /labs itself`,
  ]);
  expect(await helpFor('orcid:ana', ...read, '--namespace', '/Labs')).toEqual([
    'denied at canonicalize',
    `${none}only namespaces can be granted, and this is not one`,
  ]);
  expect(await helpFor('orcid:ana', '--scope', 'resource:raed', '--namespace', '/labs')).toEqual([
    'denied at unknown_scope',
    `${none}only the ten scopes can be granted, and this is not one of them`,
  ]);
  const far = await run('--as', 'orcid:ana', '--scope', 'resource:delete', '--namespace', '/labs');
  expect(far.stdout).toContain('`resource:delete` is not a scope: scopes are namespace:read, namespace:write, ');
  expect(await helpFor('a-group-group:crew', ...read, '--namespace', '/labs')).toEqual([
    'denied at no_matching_grant',
    `${none}a policy cannot name a-group-group:crew: no provider can be called that`,
  ]);
  expect(await helpFor('orcid:ann orcid:bob', ...read, '--namespace', '/labs')).toEqual([
    'denied at no_matching_grant',
    `${none}a policy cannot name orcid:ann orcid:bob: these are several identities in one text`,
  ]);
  const json = await run('--as', 'orcid:ana', ...read, '--namespace', '//', '--format', 'json');
  expect(JSON.parse(json.stdout)).toMatchObject({
    edits: [],
    noEdit: 'only namespaces can be granted, and this is not one',
  });
});
