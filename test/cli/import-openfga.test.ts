// `bailiwick import openfga`: tuples as a policy, what only a model says, and sets of users in sets of users.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { importOpenFga } from '../../server/import/openfga/import-openfga.js';
import { comparedOf } from '../support/import-proof.js';
import { fromRoot } from '../support/root.js';
import { makeFolder } from '../support/temp-folder.js';
import { runIn } from './verb-table.js';

const SAMPLE = readFileSync(fromRoot('fixtures/import/openfga/tuples.yaml'), 'utf8');

describe('the sample', () => {
  let cwd: string;

  beforeAll(async () => {
    cwd = await makeFolder();
    writeFileSync(join(cwd, 'tuples.yaml'), SAMPLE);
  });

  it('is imported, and each tuple that is not imported has its place', async () => {
    const ran = await runIn(cwd, ['import', 'openfga', 'tuples.yaml', '-o', 'made', '--format', 'json']);
    expect(ran.stderr).toBe('');
    expect(JSON.parse(ran.stdout)).toMatchObject({
      counts: { rules: 9, families: 2, roles: 2, grants: 5 },
      unsaid: [
        { file: 'tuples.yaml', line: 2, rule: 'model' },
        { file: 'tuples.yaml', line: 11, rule: 'user:* viewer document:handbook' },
        { file: 'tuples.yaml', line: 12, rule: 'document:plan parent document:appendix' },
        { file: 'tuples.yaml', line: 13, rule: 'user:cleo viewer document:plan' },
      ],
    });
    expect((await runIn(cwd, ['check', 'made'])).status).toBe(0);
  });

  it.each([
    ['user:ana', 'document:viewer', '/document/plan', 'allow'],
    ['user:ana', 'team:member', '/team/all', 'allow'],
    ['user:ben', 'document:viewer', '/document/plan', 'deny'],
    ['user:cleo', 'document:viewer', '/document/plan', 'deny'],
    ['user:cleo', 'document:viewer', '/document/~44raft-7', 'allow'],
  ])('%s %s %s: %s', async (identity, scope, namespace, decision) => {
    const asked = ['--as', identity, '--scope', scope, '--namespace', namespace, '--format', 'json'];
    expect(JSON.parse((await runIn(cwd, ['explain', 'made', ...asked])).stdout)).toMatchObject({ decision });
  });

  it.each([
    [
      'list.yaml',
      '- { user: ana, relation: viewer, object: "document:a" }\n',
      /list\.yaml:1 `ana viewer document:a` is not a tuple/,
    ],
    ['none.yaml', 'model: {}\n', /none\.yaml:1 has no `tuples`/],
    ['empty.yaml', 'tuples: []\n', /no rules of the kind openfga/],
  ])('refuses %s', async (name, text, message) => {
    writeFileSync(join(cwd, name), text);
    const ran = await runIn(cwd, ['import', 'openfga', name, '-o', 'none']);
    expect(ran.status).toBe(2);
    expect(ran.stderr).toMatch(message);
    expect(existsSync(join(cwd, 'none'))).toBe(false);
  });
});

const tuplesOf = (...tuples: readonly (readonly [user: string, relation: string, object: string])[]): string =>
  JSON.stringify(tuples.map(([user, relation, object]) => ({ user, relation, object })));

it('leaves out an object that is too long for a namespace, with its place, and imports the rest', () => {
  const long = `document:${'x'.repeat(400)}`;
  const text = tuplesOf(['user:ana', 'viewer', 'document:plan'], ['user:ana', 'viewer', long]);
  const made = importOpenFga([{ path: 'tuples.json', text }]);
  expect(made.unsaid).toEqual([
    {
      file: 'tuples.json',
      line: 1,
      rule: `user:ana viewer ${long}`,
      why: `\`${long}\` is too long for a namespace`,
    },
  ]);
  expect(made.grants.map(({ namespace }) => namespace)).toEqual(['/document/plan']);
  const { disagreements, questions } = comparedOf(made);
  expect([disagreements, questions]).toEqual([0, made.questionCount]);
});

it('takes for an object also what only a tuple that is not imported names as one', () => {
  const text = tuplesOf(['user:*', 'viewer', 'folder:a'], ['folder:a', 'parent', 'document:plan']);
  const made = importOpenFga([{ path: 'tuples.json', text }]);
  expect(made.unsaid.map(({ why }) => why)).toEqual([
    'it applies to everybody, but a grant applies to an identity or a role',
    '`folder:a` is an object itself, so what follows from this is in the model',
  ]);
  expect(made.grants).toEqual([]);
});

it('follows layers of sets whose ways are many', () => {
  const set = (layer: number, one: number): string => `team:t${String(layer)}-${String(one)}`;
  const tuples = Array.from({ length: 9 * 36 }, (_, i) => ({
    user: `${set(Math.floor(i / 36), i % 6)}#member`,
    relation: 'member',
    object: set(Math.floor(i / 36) + 1, Math.floor(i / 6) % 6),
  }));
  const read = { user: `${set(9, 0)}#member`, relation: 'read', object: 'document:a' };
  const ana = { user: 'user:ana', relation: 'member', object: set(0, 0) };
  const made = importOpenFga([{ path: 'tuples.json', text: JSON.stringify([...tuples, read, ana]) }]);
  const started = process.cpuUsage();
  expect(comparedOf(made).disagreements).toBe(0);
  expect(process.cpuUsage(started).user).toBeLessThan(3_000_000);
});

it('answers as the tuples do, on generated ones', () => {
  // A team is below those with a larger number, so that there are no circles.
  const team = fc.tuple(fc.nat(3), fc.nat(3)).map(([a, b]) => ({
    user: `team:${String(Math.min(a, b))}#member`,
    relation: 'member',
    object: `team:${String(Math.max(a, b) + 1)}`,
  }));
  const user = fc.constantFrom('user:ana', 'user:Ben', 'robot:1');
  const member = fc.record({
    user,
    relation: fc.constant('member'),
    object: fc.constantFrom('team:0', 'team:1', 'team:2'),
  });
  const right = fc.record({
    user: fc.oneof(user, fc.constantFrom('team:1#member', 'team:4#member', 'team:9#member')),
    relation: fc.constantFrom('read', 'owner', 'Owner'),
    object: fc.constantFrom('document:a', 'document:A', 'resource:x/y', 'document:b:c'),
  });
  let allowed = 0;
  fc.assert(
    fc.property(fc.array(fc.oneof(team, member, right), { maxLength: 14 }), (tuples) => {
      const imported = importOpenFga([{ path: 'tuples.json', text: JSON.stringify(tuples) }]);
      const proof = comparedOf(imported);
      expect(proof.examples).toEqual([]);
      expect(proof.questions).toBe(imported.questionCount);
      allowed += proof.allowed;
    }),
    { numRuns: 100 },
  );
  expect(allowed).toBeGreaterThan(0);
});
