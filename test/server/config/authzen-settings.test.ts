import { expect, test } from '@jest/globals';
import { loadConfig } from '../../../server/config/index.js';
import { makeFolder } from '../../support/temp-folder.js';

test('the words of AuthZEN', async () => {
  const cwd = await makeFolder({
    'bailiwick.yaml': [
      'authzen:',
      '  baseUrl: https://pdp.example.org/',
      '  vocabulary: { actions: { can_read: resource:read }, resources: { todo: { under: /todos } } }',
    ].join('\n'),
    'wrong.yaml': 'authzen: { baseUrl: http://pdp.example.org, vocabulary: { actions: { a: fly }, more: {} } }',
  });
  const { authzen } = await loadConfig({ flags: {}, env: {}, cwd });
  expect(authzen?.baseUrl).toBe('https://pdp.example.org');
  expect(authzen?.vocabulary?.actions).toEqual(new Map([['can_read', 'resource:read']]));
  expect(authzen?.vocabulary?.subjects).toBeNull();
  await expect(loadConfig({ flags: { config: 'wrong.yaml' }, env: {}, cwd })).rejects.toThrow();
});
