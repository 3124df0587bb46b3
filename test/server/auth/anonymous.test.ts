// The identity of those who bring no credential: it is that one exactly, and nobody where the settings have none.
import { expect, test } from '@jest/globals';
import { isAnonymous } from '../../../server/auth/anonymous.js';

const SETTINGS = { identity: { provider: 'public', subject: 'anyone' } };

test.each([
  ['that identity', { provider: 'public', subject: 'anyone' }, SETTINGS, true],
  ['another subject of its provider', { provider: 'public', subject: 'someone' }, SETTINGS, false],
  ['its subject at another provider', { provider: 'orcid', subject: 'anyone' }, SETTINGS, false],
  ['another in both', { provider: 'orcid', subject: 'ada' }, SETTINGS, false],
  ['that identity where the settings have none', { provider: 'public', subject: 'anyone' }, null, false],
])('%s', (_, identity, settings, expected) => {
  expect(isAnonymous(identity, settings)).toBe(expected);
});
