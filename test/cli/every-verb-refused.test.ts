// Every verb about policies on what is no policy: a broken folder, a missing one, an empty one, a file in its place, a damaged
// snapshot. Each says so in one form, with its exit status (docs/cli.md "Exit statuses"), and writes nothing.
import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, test } from '@jest/globals';
import { fromRoot } from '../support/root.js';
import { makeFolder } from '../support/temp-folder.js';
import { POLICY } from './policies.js';
import { expectPlain, type Facts, inFormat, runIn, type Taken, VERBS } from './verb-table.js';

const FACTS: Facts = { identity: 'orcid:ana', namespace: '/labs/optics' };

type Expected = Readonly<Record<Exclude<Taken, 'nothing'>, number>>;

/** Exit status by what a verb takes. */
const INPUTS: readonly (readonly [string, string, Expected])[] = [
  ['a broken folder', 'broken', { folder: 3, policy: 3, snapshot: 3, place: 2 }],
  ['a folder that is not there', 'missing', { folder: 2, policy: 2, snapshot: 2, place: 0 }],
  ['an empty folder', 'empty', { folder: 3, policy: 3, snapshot: 3, place: 0 }],
  ['a file that is none', 'good/policy.yaml', { folder: 2, policy: 8, snapshot: 8, place: 2 }],
  ['a damaged snapshot', 'damaged.json', { folder: 2, policy: 8, snapshot: 8, place: 2 }],
];
/** Where a verb rightly sees it another way than others that take the same. */
const EXCEPTIONS: ReadonlyMap<string, number> = new Map([
  // There is no file to be laid out.
  ['fmt empty', 0],
]);

const RANGE = { start: { line: expect.any(Number), column: expect.any(Number) }, end: expect.any(Object) };
const DIAGNOSTIC = {
  code: expect.stringMatching(/^[A-Z]+_[A-Z_]+$/),
  severity: 'error',
  file: expect.any(String),
  range: RANGE,
  message: expect.any(String),
  related: expect.any(Array),
};

let cwd: string;

beforeAll(async () => {
  cwd = await makeFolder(Object.fromEntries(Object.entries(POLICY).map(([path, text]) => [`good/${path}`, text])));
  await cp(fromRoot('fixtures/examples/broken'), join(cwd, 'broken'), { recursive: true });
  expect((await runIn(cwd, ['compile', 'good', '-o', 'good.json'])).status).toBe(0);
  expect((await runIn(cwd, ['keygen', '-o', 'release.key'])).status).toBe(0);
  const text = await readFile(join(cwd, 'good.json'), 'utf8');
  await writeFile(join(cwd, 'damaged.json'), text.replace('facility', 'faculty'));
});

const tried = VERBS.filter(({ takes }) => takes !== 'nothing' && takes !== 'place');

describe.each(INPUTS)('on %s', (_name, input, expected) => {
  beforeAll(async () => {
    if (input === 'empty') await cp(await makeFolder(), join(cwd, 'empty'), { recursive: true });
  });

  test.each(tried.map((verb) => [verb.verb, verb] as const))('%s says what is wrong', async (name, verb) => {
    if (verb.takes === 'nothing') throw new Error('such a verb is not tried');
    const status = EXCEPTIONS.get(`${name} ${input}`) ?? expected[verb.takes];
    const before = (await readdir(cwd)).sort();
    const args = verb.args(input, FACTS);

    const machine = await runIn(cwd, inFormat(verb, args, 'json'), verb.stdin?.(FACTS));
    expectPlain(machine);
    expect([machine.stdout, machine.status]).toEqual([machine.stdout, status]);
    const answer = JSON.parse(machine.stdout) as Readonly<Record<string, unknown>>;
    if (status === 0) return;
    expect(answer['error']).toEqual({ code: expect.stringMatching(/^[a-z]+\.[a-z_]+$/), message: expect.any(String) });
    const { message } = answer['error'] as { readonly message: string };
    if (status !== 3 || verb.takes !== 'folder') expect(message).toContain(`\`${input}\``);
    if (status === 3) {
      const diagnostics = answer['diagnostics'] as readonly object[];
      expect(diagnostics.length).toBeGreaterThan(0);
      for (const diagnostic of diagnostics) expect(diagnostic).toEqual(expect.objectContaining(DIAGNOSTIC));
    }

    const people = await runIn(cwd, inFormat(verb, args, 'text'), verb.stdin?.(FACTS));
    expectPlain(people);
    expect(people.status).toBe(status);
    // A check's findings are its result; for all others they are why there is none.
    if (status === 3 && verb.takes === 'folder') expect(people.stdout).toMatch(/error [A-Z]+_/);
    else {
      expect(people.stderr).toContain(`error: ${message}\n`);
      expect(people.stdout).toBe('');
    }
    expect((await readdir(cwd)).sort()).toEqual(before);
  });
});

it.each([
  ['broken', 2],
  ['good/policy.yaml', 2],
  ['damaged.json', 2],
  ['empty', 0],
])('init in %s ends with %i', async (input, status) => {
  const ran = await runIn(cwd, ['init', input, '--format', 'json']);
  expectPlain(ran);
  expect(ran.status).toBe(status);
  const answer = JSON.parse(ran.stdout) as Readonly<Record<string, unknown>>;
  expect(Object.keys(answer)).toEqual(status === 0 ? ['folder', 'files'] : ['error']);
});
