// The formats that templates assert: what RFC 3339, 3986, 5321, 6570 and 6901 allow, and that no text takes long.
import { describe, expect, it, test } from '@jest/globals';
import { FORMAT_NAMES, formatOf } from '../../../server/templates/formats.js';
import { stopCpu } from '../../support/cpu-time.js';

interface Texts {
  readonly right: readonly string[];
  readonly wrong: readonly string[];
}

const TEXTS: Readonly<Record<string, Texts>> = {
  date: {
    right: ['2027-01-31', '2024-02-29', '2000-02-29', '0001-01-01'],
    wrong: ['', '2027-02-29', '1900-02-29', '2027-13-01', '2027-00-10', '2027-01-00', '2027-1-31', '2027-01-31\n'],
  },
  time: {
    right: ['09:30:00Z', '09:30:00.123456789z', '23:59:60Z', '15:59:60-08:00', '00:29:60+00:30', '09:30:00+23:59'],
    wrong: [
      '09:30:00',
      '24:00:00Z',
      '09:60:00Z',
      '22:59:60Z',
      '23:59:60+00:01',
      '09:30:00+0100',
      '09:30:00.Z',
      '9:30:00Z',
    ],
  },
  'date-time': {
    right: ['2027-01-31T09:30:00Z', '2027-01-31t09:30:00.5+01:00', '2026-11-23T02:29:28.123456+00:00'],
    wrong: ['yesterday', '2027-01-31', '2027-01-31 09:30:00Z', '2027-02-30T09:30:00Z', '2027-01-31T09:30:00', 'T'],
  },
  duration: {
    right: ['P1D', 'P1DT12H', 'PT36H', 'P3Y6M4DT12H30M5S', 'P4W', 'PT0S', 'P1M', 'PT1M'],
    wrong: ['', 'P', 'PT', 'P1DT', '1D', 'P1S', 'PT1D', 'P1Y2W', 'P1W2D', 'P2D1Y', 'P1Y2D', 'PT1H2S', 'P-1D', 'XT1H'],
  },
  email: {
    right: [
      'ines@example.org',
      'a.b+c@x-y.example',
      '"a b\\""@example.org',
      'a@[192.0.2.1]',
      'a@[IPv6:2001:db8::1]',
      'a@b',
    ],
    wrong: [
      '',
      '@',
      'a@',
      '@b',
      'a..b@c',
      '.a@c',
      'a.@c',
      'a@-c',
      'a b@c',
      'a@b@c',
      'a@[192.0.2]',
      `${'a'.repeat(65)}@b`,
    ],
  },
  hostname: {
    right: ['db.example.org', 'localhost', 'a', '1.2.3', `${'a'.repeat(63)}.b`],
    wrong: ['', '.', 'a.', '.a', 'a..b', '-a', 'a-', 'a_b', `${'a'.repeat(64)}.b`, 'a.'.repeat(127), 'ä.example'],
  },
  ipv4: { right: ['192.0.2.1', '0.0.0.0'], wrong: ['256.0.0.1', '1.2.3', '01.2.3.4', '1.2.3.4/8', ''] },
  ipv6: {
    right: ['::', '2001:db8::1', '::ffff:192.0.2.1', '1:2:3:4:5:6:7:8'],
    wrong: ['', ':::', '1::2::3', '12345::', 'fe80::1%eth0', '1:2:3:4:5:6:7', '::1/64'],
  },
  uri: {
    right: [
      'https://example.org/a?b=/c#d',
      'urn:isbn:0451450523',
      'http://u:p@[::1]:80/',
      'mailto:a@b',
      'a:',
      'http://[v1.x]/',
    ],
    wrong: [
      '',
      '/a',
      '//a/b',
      'http://a b/',
      'http://[::1/',
      'http://a:b/',
      '1a:b',
      'http://a/%g0',
      'http://a/#b#c',
      'http://ä/',
    ],
  },
  'uri-reference': {
    right: ['', '../a', '/a', '//a/b', '?q', '#f', 'https://example.org', './a:b'],
    wrong: ['\\a', 'a b', '1a:b', '%', 'a\n', '#a#', '//a:b'],
  },
  'uri-template': {
    right: ['', '/samples/{id}', '{+path*}/{?a,b:3}', '{a.b}', '%20'],
    wrong: ['{', '}', '{}', '{a', 'a}', '{a b}', '{a:0}', '{a,}', 'a b', '%2', '{{a}}', '{=a}{', '{a..b}'],
  },
  uuid: {
    right: [
      '01900000-0000-7000-8000-000000000000',
      '00000000-0000-0000-0000-000000000000',
      'ABCDEF00-0000-7000-8000-000000000000',
    ],
    wrong: [
      '',
      '01900000000070008000000000000000',
      'urn:uuid:01900000-0000-7000-8000-000000000000',
      'g1900000-0000-7000-8000-000000000000',
    ],
  },
  'json-pointer': { right: ['', '/', '/a/0', '/a~0b~1c', '//'], wrong: ['a', '#/a', '/~', '/~2', '/a~'] },
  regex: { right: ['^a+$', '(?<a>b)\\k<a>', '\\p{L}', ''], wrong: ['(', '[a', '\\Z', 'a{2,1}', 'a'.repeat(1_001)] },
};

test('each format has texts here', () => {
  expect(Object.keys(TEXTS).sort()).toEqual([...FORMAT_NAMES].sort());
});

describe.each(Object.entries(TEXTS))('%s', (name, { right, wrong }) => {
  const isRight = (text: string): boolean => formatOf(name)?.test(text) === true;

  it('takes what the standard allows', () => {
    expect(right.filter((text) => !isRight(text))).toEqual([]);
  });

  it('refuses everything else', () => {
    expect(wrong.filter(isRight)).toEqual([]);
  });

  it('takes the example of its message', () => {
    const example = /, like (\S+)$/.exec(formatOf(name)?.meaning ?? '')?.[1];
    expect(isRight(example ?? '(')).toBe(true);
  });

  // The longest text of a record is a megabyte, so a check that tries it again from each place would take hours.
  it('is checked in a time linear in the text', () => {
    const pieces = [
      ...'a1-.:/%@?#[]{}~+"\\, '.split(''),
      '%41',
      '1-',
      'a.',
      'a@',
      '::',
      '{a',
      '{a}',
      '\\"',
      '.1',
      'P1',
      '1D',
      'T1H',
      '~0/',
      '(a+)+',
    ];
    const heads = ['', '2027-01-31T09:30:00.', '09:30:00.', 'P', 'PT', 'http://', '/', '"', '{', '^'];
    const cpu = stopCpu();
    for (const head of heads) for (const piece of pieces) isRight(`${head}${piece.repeat(100_000)}!`);
    expect(cpu()).toBeLessThan(10_000);
  });
});
