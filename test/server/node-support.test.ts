import { expect, test } from '@jest/globals';
import { isNodeSupported } from '../../server/node-support.js';

test.each([
  ['20.20.2', false],
  ['22.23.3', false],
  ['22.23.4', true],
  ['22.24.0', true],
  ['23.11.0', false],
  ['24.22.1', true],
  ['24.9.0', false],
  ['25.1.0', false],
  ['26.12.0', false],
  ['26.12.1', true],
  ['28.0.0', true],
])('Node %s gets security fixes: %s', (version, supported) => {
  expect(isNodeSupported(version)).toBe(supported);
});
