import { expect, test } from '@jest/globals';
import { nodeWarning } from '../../server/node-support.js';

const warning = (version: string, at: string): string | null => nodeWarning(version, Date.parse(at));

test.each([
  ['20.20.2', '2026-04-30T23:59:59Z', '2026-05-01T00:00:00Z'],
  ['22.23.5', '2027-04-30T23:59:59Z', '2027-05-01T00:00:00Z'],
  ['24.99.0', '2028-04-30T23:59:59Z', '2028-05-01T00:00:00Z'],
  ['25.1.0', '2026-05-31T23:59:59Z', '2026-06-01T00:00:00Z'],
  ['26.13.0', '2029-04-30T23:59:59Z', '2029-05-01T00:00:00Z'],
  ['27.0.0', '2030-04-30T23:59:59Z', '2030-05-01T00:00:00Z'],
  ['28.0.0', '2031-04-30T23:59:59Z', '2031-05-01T00:00:00Z'],
])('B02 Node %s gets security fixes until %s', (version, last, end) => {
  expect(warning(version, last)).toBeNull();
  expect(warning(version, end)).toMatch(`Node ${version} gets no security fixes any more; serve a network with `);
});

test.each([
  ['22.23.3', false],
  ['22.23.4', true],
  ['22.24.0', true],
  ['24.9.0', false],
  ['24.22.1', true],
  ['26.12.0', false],
  ['26.12.1', true],
])('Node %s has the fixes that we know to matter: %s', (version, patched) => {
  expect(warning(version, '2027-01-01T00:00:00Z') === null).toBe(patched);
});

test.each(['22.23.4', '24.22.1', '26.12.1'])('Node %s is doubted once its place in the list is old', (version) => {
  expect(warning(version, '2027-03-22T00:00:00Z')).toBeNull();
  expect(warning(version, '2027-03-22T00:00:01Z')).toBe(
    `Node ${version} had the security fixes that were out on 2026-11-22; see whether there is a newer release (https://nodejs.org/en/about/previous-releases)`,
  );
});

test('a release that is newer than the list is not spoken of while its line is fixed', () => {
  for (const version of ['22.23.5', '24.23.0', '26.13.0', '28.0.0']) {
    expect(warning(version, '2027-04-15T00:00:00Z')).toBeNull();
  }
});

test('the advice names the lines that are still fixed then, or where to see which are', () => {
  expect(warning('20.20.2', '2027-01-01T00:00:00Z')).toMatch(/ with 22\.23\.4, 24\.22\.1, 26\.12\.1 or newer$/);
  expect(warning('24.9.0', '2027-06-01T00:00:00Z')).toBe(
    'Node 24.9.0 does not have every security fix; serve a network with 24.22.1, 26.12.1 or newer',
  );
  expect(warning('26.12.1', '2031-01-01T00:00:00Z')).toMatch(/ with a line that does \(https:\/\/nodejs\.org\//);
  expect(warning('none', '2027-01-01T00:00:00Z')).toMatch(/^Node none gets no security fixes any more; /);
});
