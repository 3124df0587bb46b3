// `bailiwick import casbin`: the RBAC model as a policy, what it says of other lines, and denials that a policy cannot say.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { importCasbin } from '../../server/import/casbin/import-casbin.js';
import { comparedOf } from '../support/import-proof.js';
import { fromRoot } from '../support/root.js';
import { makeFolder } from '../support/temp-folder.js';
import { runIn } from './verb-table.js';

const SAMPLE = readFileSync(fromRoot('fixtures/import/casbin/policy.csv'), 'utf8');
const MODEL = `[request_definition]
r = sub, obj, act

[policy_definition]
p = sub, obj, act

[role_definition]
g = _, _

[policy_effect]
e = some(where (p.eft == allow))

[matchers]
m = g(r.sub, p.sub) && r.obj == p.obj && r.act == p.act
`;

function lines(count: number, lineOf: (i: string) => string): string {
  return Array.from({ length: count }, (_, i) => `${lineOf(String(i))}\n`).join('');
}

describe('the sample', () => {
  let cwd: string;

  beforeAll(async () => {
    cwd = await makeFolder();
    writeFileSync(join(cwd, 'policy.csv'), SAMPLE);
    writeFileSync(join(cwd, 'model.conf'), MODEL);
  });

  it('is imported, and each line that is not imported has its place', async () => {
    const args = ['import', 'casbin', 'model.conf', 'policy.csv', '-o', 'made', '--format', 'json'];
    const ran = await runIn(cwd, args);
    expect(ran.stderr).toBe('');
    expect(JSON.parse(ran.stdout)).toMatchObject({
      counts: { rules: 10, families: 1, roles: 2, grants: 4 },
      unsaid: [
        { file: 'policy.csv', line: 9, rule: 'g, carol, auditor, domain1' },
        { file: 'policy.csv', line: 10, rule: 'p, mallory, data1, write, deny' },
        { file: 'policy.csv', line: 11, rule: 'p2, alice, data1, read' },
      ],
    });
    expect((await runIn(cwd, ['check', 'made'])).status).toBe(0);
  });

  it.each([
    ['casbin:alice', 'object:write', '/data2', 'allow'],
    ['casbin:alice', 'object:export', '/reports/2026', 'allow'],
    ['casbin:alice', 'object:export', '/reports/2026/may', 'deny'],
    ['casbin:bob', 'object:read', '/data2', 'deny'],
  ])('%s %s %s: %s', async (identity, scope, namespace, decision) => {
    const asked = ['--as', identity, '--scope', scope, '--namespace', namespace, '--format', 'json'];
    expect(JSON.parse((await runIn(cwd, ['explain', 'made', ...asked])).stdout)).toMatchObject({ decision });
  });

  it('writes nothing if a denial takes something away', async () => {
    writeFileSync(join(cwd, 'deny.csv'), `${SAMPLE}p, alice, data2, write, deny\n`);
    const ran = await runIn(cwd, ['import', 'casbin', 'deny.csv', '-o', 'none']);
    expect(ran.status).toBe(7);
    expect(ran.stderr).toContain('alice, data2, write: the source denies it, the policy allows it');
    expect(ran.stderr).toContain('deny.csv:12 not imported p, alice, data2, write, deny');
    expect(existsSync(join(cwd, 'none'))).toBe(false);
  });

  it('writes nothing if a circle of roles gives something', async () => {
    writeFileSync(join(cwd, 'circle.csv'), `p, a, x, read\ng, a, b\ng, b, a\ng, ann, b\n`);
    const ran = await runIn(cwd, ['import', 'casbin', 'circle.csv', '-o', 'none']);
    expect(ran.status).toBe(7);
    expect(ran.stderr).toContain('circle.csv:3 not imported g, b, a');
  });

  it.each([
    [
      'keys.conf',
      MODEL.replace('r.obj == p.obj', 'keyMatch(r.obj, p.obj)'),
      /keys\.conf:14 .* is not of the RBAC model/,
    ],
    ['domains.conf', MODEL.replace('g = _, _', 'g = _, _, _'), /domains\.conf:8 /],
    ['quote.csv', 'p, "alice, data1, read\n', /quote\.csv:1 has a quotation mark/],
    ['word.csv', 'p, a, b, c\nallow alice\n', /word\.csv:2 is not a line of casbin/],
    ['many.csv', lines(2_400, (i) => `p, u${i}, d${i}, read`), /\d+,\d+,\d+ questions, and the limit is 5,000,000\n/],
    ['actions.csv', lines(53, (i) => `p, a, b, x${i}`), /need 56 scopes, and a policy has at most 54 of its own/],
  ])('refuses %s', async (name, text, message) => {
    writeFileSync(join(cwd, name), text);
    const ran = await runIn(cwd, ['import', 'casbin', name, 'policy.csv', '-o', 'none']);
    expect(ran.status).toBe(2);
    expect(ran.stderr).toMatch(message);
  });
});

it('follows a model whose effect does not count denials', () => {
  const policy = { path: 'policy.csv', text: 'p, ana, x, read\np, ana, x, read, deny\n' };
  const counted = MODEL.replace('(p.eft == allow))', '(p.eft == allow)) && !some(where (p.eft == deny))');
  const made = (model: string): ReturnType<typeof importCasbin> =>
    importCasbin([policy, { path: 'model.conf', text: model }]);
  expect(comparedOf(made(MODEL)).disagreements).toBe(0);
  expect(made(MODEL).unsaid).toMatchObject([{ line: 2, why: expect.stringContaining('so it denies nothing') }]);
  expect(comparedOf(made(counted)).disagreements).toBe(1);
});

it('follows a role with more members than a call has arguments', () => {
  const many = lines(200_000, (i) => `g, u${i}, r`);
  const made = importCasbin([{ path: 'policy.csv', text: `p, t, x, read\n${many}g, r, t\n` }]);
  expect(made.unsaid).toEqual([]);
});

it('follows layers of roles whose ways are many', () => {
  const links = lines(9 * 36, (place) => {
    const i = Number(place);
    const [layer, from, to] = [Math.floor(i / 36), i % 6, Math.floor(i / 6) % 6];
    return `g, r${String(layer)}-${String(from)}, r${String(layer + 1)}-${String(to)}`;
  });
  const made = importCasbin([{ path: 'policy.csv', text: `p, r9-0, x, read\n${links}` }]);
  const started = process.cpuUsage();
  expect(comparedOf(made).disagreements).toBe(0);
  expect(process.cpuUsage(started).user).toBeLessThan(3_000_000);
});

it('decides as casbin does, on generated lines', () => {
  const subject = fc.constantFrom('ana', 'Bob', 'role:a', 'b c');
  const role = fc.constantFrom('role:a', 'R2', 'r2');
  const permission = fc
    .tuple(
      fc.oneof(subject, role),
      fc.constantFrom('data', '/data', '/data/x', 'Ä', '..'),
      fc.constantFrom('read', 'Read', 'x'),
    )
    .map((parts) => `p, ${parts.join(', ')}`);
  const link = fc.tuple(subject, role).map(([member, to]) => `g, ${member}, ${to}`);
  let allowed = 0;
  fc.assert(
    fc.property(fc.array(fc.oneof(permission, link), { maxLength: 12 }), (lines) => {
      const imported = importCasbin([{ path: 'policy.csv', text: lines.join('\n') }]);
      const { examples, questions, allowed: some } = comparedOf(imported);
      expect(examples).toEqual([]);
      expect(questions).toBe(imported.questionCount);
      allowed += some;
    }),
    { numRuns: 100 },
  );
  expect(allowed).toBeGreaterThan(0);
});
