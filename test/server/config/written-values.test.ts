// Durations, addresses and lists of URLs as settings write them.
import { expect, test } from '@jest/globals';
import { DATABASE_URLS, parseAddress, parseDuration } from '../../../server/config/value-types.js';

test.each([
  ['30s', 30_000],
  ['15m', 900_000],
  ['24h', 86_400_000],
  ['90d', 7_776_000_000],
  ['0s', null],
  ['1.5h', null],
  ['30', null],
  ['', null],
  ['-1s', null],
  ['1w', null],
])('the duration %j', (text, expected) => {
  const parsed = parseDuration(text);
  expect(parsed.ok ? parsed.value : null).toBe(expected);
});

test.each([
  ['localhost:0', { host: 'localhost', port: 0 }],
  ['[::1]:8080', { host: '::1', port: 8080 }],
  ['0.0.0.0:80', { host: '0.0.0.0', port: 80 }],
  [':8080', null],
  ['8080', null],
  ['http://localhost:80', null],
  ['localhost:80\n', null],
])('the address %j', (text, expected) => {
  const parsed = parseAddress(text);
  expect(parsed.ok ? parsed.value : null).toEqual(expected);
});

test.each([
  ['postgres://a/b', ['postgres://a/b']],
  ['postgres://a/b postgres://c/b\n', ['postgres://a/b', 'postgres://c/b']],
  ['postgres://a/b\r\n\tpostgres:///b?host=/run', ['postgres://a/b', 'postgres:///b?host=/run']],
  ['postgres://a/b,postgres://c/b postgres://a/b,postgres://c/b', null],
  ['postgres://a/b replica', null],
  [' ', null],
  ['', null],
])('the replicas %j', (text, expected) => {
  const parsed = DATABASE_URLS.parse(text, '/');
  expect(parsed.ok ? parsed.value : null).toEqual(expected);
});
