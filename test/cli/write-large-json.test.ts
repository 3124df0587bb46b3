// JSON that may be too large for one string: written in parts, it has the same characters as one string would have,
// even with nested lists.
import { PassThrough } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
// Before `main` imports it from several places at once, which the module loader of the tests does not take.
import '../../engine/compiler.js';
import { main } from '../../server/cli/main.js';
import { untilReaderGone, writeJson, writeToReader } from '../../server/cli/io.js';
import { makeIo } from '../support/cli-io.js';
import { makeFolder } from '../support/temp-folder.js';

describe('writeJson', () => {
  test.each([
    ['nothing', {}],
    ['plain values', { a: 1, b: null, c: true, d: 'x "y"\n' }],
    ['empty lists and objects at every level', { a: [], b: {}, c: [[], {}], d: { e: { f: [{ g: [] }] } } }],
    ['undefined fields, which are left out', { a: undefined, b: { c: undefined, d: [undefined, { e: undefined }] } }],
    ['many levels', { a: [[[[[[[[[['deep', { b: 1 }]]]]]]]]]] }],
    [
      'lists that are taken apart',
      {
        a: Array.from({ length: 1_000 }, (_, i) => [i, {}, undefined, { b: [], c: undefined, d: [i, [i]] }]),
        e: { f: Array.from({ length: 1_000 }, (_, i) => ({ g: [i], h: undefined })), i: null, j: undefined },
      },
    ],
    ['a field named as what objects have', { constructor: [{ hasOwnProperty: 1 }] }],
  ])('%s', async (_name, value) => {
    const made = makeIo();
    await writeJson(made.io, value);
    expect(made.stdout()).toBe(`${JSON.stringify(value)}\n`);
  });

  test('names and values steer no terminal', async () => {
    const made = makeIo();
    await writeJson(made.io, { 'a\u202e': [{ 'b\u009b': 'c\u202e' }] });
    expect(made.stdout()).toBe('{"a\\u202e":[{"b\\u009b":"c\\u202e"}]}\n');
  });

  test('stops where nobody reads any more', async () => {
    const { io } = makeIo();
    io.stdout.destroy();
    let written = 0;
    const text = (): string => {
      written += 1;
      return 'x'.repeat(1_000);
    };
    await writeJson(io, { list: Array.from({ length: 1_000 }, () => ({ toJSON: text })) });
    expect(written).toBeGreaterThan(0);
    expect(written).toBeLessThan(100);
  });

  test('work that writes in parts ends where nobody reads any more, and other failures stay failures', async () => {
    const { io, stdout } = makeIo();
    const parts = async (): Promise<number> => {
      let written = 0;
      for (; written < 100; written += 1) {
        if (written === 3) io.stdout.destroy();
        await writeToReader(io.stdout, `${String(written)}\n`);
      }
      return written;
    };
    const work = parts();
    expect(await untilReaderGone(work)).toBe(null);
    await expect(work).rejects.toThrow('nobody reads the results');
    expect(stdout()).toBe('0\n1\n2\n');
    await expect(untilReaderGone(Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  });
});

test('a guardrail that everybody breaks in every stretch of time is one violation, and is written in parts', async () => {
  const members = Array.from({ length: 300 }, (_, i) => `orcid:person-number-${String(i)}`);
  const stretches = Array.from({ length: 200 }, (_, i) => {
    const day = (hours: number): string => new Date(Date.UTC(2026, 0, 1 + i, hours)).toISOString();
    return `  - { id: g${String(i)}, role: r, namespace: /x, scopes: [resource:write], notBefore: ${day(0)}, expires: ${day(12)} }\n`;
  });
  const cwd = await makeFolder({
    'policy.yaml': 'bailiwick: 1\nname: p\nproviders: { orcid: {} }\n',
    'a.yaml': `roles:\n  r: { members: [${members.join(', ')}] }\ngrants:\n${stretches.join('')}guardrails:\n  - { id: m, atMost: { identities: 1, scope: resource:write, at: /x } }\n`,
  });
  const parts: string[] = [];
  const stdout = new PassThrough();
  stdout.on('data', (part: Buffer) => parts.push(part.toString('utf8')));
  const made = makeIo();
  const status = await main(['check', '.', '--format', 'json'], { ...made.io, stdout, cwd });
  expect([status, made.stderr()]).toEqual([5, '']);
  const text = parts.join('');
  const { guardrails } = JSON.parse(text) as {
    readonly guardrails: { readonly violations: readonly { readonly witnesses: readonly object[] }[] };
  };
  expect(guardrails.violations.map(({ witnesses }) => witnesses.length)).toEqual([200]);
  expect(text.length).toBeGreaterThan(1_000_000);
  expect(Math.max(...parts.map((part) => part.length))).toBeLessThan(100_000);
});
