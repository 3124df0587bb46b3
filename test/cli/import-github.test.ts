// `bailiwick import github`: teams, permissions and owners of code as a policy, and what grants cannot say of CODEOWNERS.
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { importGithub } from '../../server/import/github/import-github.js';
import { comparedOf } from '../support/import-proof.js';
import { fromRoot } from '../support/root.js';
import { makeFolder } from '../support/temp-folder.js';
import { runIn } from './verb-table.js';

describe('the sample', () => {
  let cwd: string;

  beforeAll(async () => {
    cwd = await makeFolder();
    cpSync(fromRoot('fixtures/import/github'), cwd, { recursive: true });
  });

  it('is imported, and each line that is not imported has its place', async () => {
    const args = ['import', 'github', 'teams.json', 'shop/.github/CODEOWNERS', '-o', 'made', '--format', 'json'];
    const ran = await runIn(cwd, args);
    expect(ran.stderr).toBe('');
    const file = 'shop/.github/CODEOWNERS';
    expect(JSON.parse(ran.stdout)).toMatchObject({
      unsaid: [
        { file: 'teams.json', line: 19, rule: 'members of payments' },
        { file, line: 2, why: 'line 4 decides about files in it that no path names' },
        { file, line: 3 },
        { file, line: 4, rule: '*.sql            @acme/dba' },
        { file, line: 5, why: 'line 8 decides about files in it that no path names' },
        { file, line: 6 },
        { file, line: 7, rule: '/keys/           security@acme.example' },
        { file, line: 7 },
        { file, line: 8 },
      ],
    });
    expect((await runIn(cwd, ['check', 'made'])).status).toBe(0);
  });

  it('keeps an owner at a folder if one below has others', async () => {
    mkdirSync(join(cwd, 'till'));
    writeFileSync(
      join(cwd, 'till/CODEOWNERS'),
      '* @acme/engineering\n/docs/ @ana @acme/engineering\n/pay/ @acme/payments\n/lib/ @cleo\n/lib/x/ @cleo @ana\n',
    );
    const ran = await runIn(cwd, [
      'import',
      'github',
      'teams.json',
      'till/CODEOWNERS',
      '-o',
      'till-policy',
      '--format',
      'json',
    ]);
    expect(JSON.parse(ran.stdout)).toMatchObject({
      unsaid: [
        { line: 19 },
        { file: 'till/CODEOWNERS', line: 1, why: expect.stringContaining('line 3 gives `pay` to others') },
      ],
    });
  });

  it.each([
    ['github:ben', 'repository:maintain', '/shop', 'allow'],
    ['github:ben', 'repository:admin', '/shop', 'deny'],
    ['github:ana', 'repository:triage', '/shop', 'deny'],
    ['github:ben', 'code:approve', '/till', 'allow'],
    ['github:ana', 'code:approve', '/till/pay', 'deny'],
    ['github:ana', 'code:approve', '/till/docs/old', 'allow'],
    ['github:cleo', 'code:approve', '/till/lib/x/y', 'allow'],
  ])('%s %s %s: %s', async (identity, scope, namespace, decision) => {
    const asked = ['--as', identity, '--scope', scope, '--namespace', namespace, '--format', 'json'];
    const ran = await runIn(cwd, ['explain', 'till-policy', ...asked]);
    expect(JSON.parse(ran.stdout)).toMatchObject({ decision });
  });

  it.each([
    ['CODEOWNERS', '* @ana\n', /CODEOWNERS:1 does not say which repository it is of/],
    ['list.json', '[]', /list\.json:1 has no `organization`/],
  ])('refuses %s', async (name, text, message) => {
    writeFileSync(join(cwd, name), text);
    const ran = await runIn(cwd, ['import', 'github', name, '-o', 'none']);
    expect(ran.status).toBe(2);
    expect(ran.stderr).toMatch(message);
    expect(existsSync(join(cwd, 'none'))).toBe(false);
  });
});

it('refuses two CODEOWNERS of one repository', () => {
  const files = ['shop/CODEOWNERS', 'shop/docs/CODEOWNERS'].map((path) => ({ path, text: '* @ana' }));
  expect(() => importGithub(files)).toThrow('is of the repository shop, and so is shop/CODEOWNERS');
});

it.each([
  ['shop/.github/CODEOWNERS', 'shop'],
  ['acme/docs/CODEOWNERS', 'acme'],
  ['acme/docs/docs/CODEOWNERS', 'docs'],
  ['.github/.github/CODEOWNERS', '.github'],
])('takes %s for the file of the repository %s', (path, repository) => {
  const { grants } = importGithub([{ path, text: '* @ana' }]);
  expect(grants.map(({ namespace }) => namespace)).toEqual([`/${repository}`]);
});

it('skips a line for `/`, which matches no file', () => {
  const made = importGithub([{ path: 'shop/CODEOWNERS', text: '/docs/ @ben\n/ @ana\n' }]);
  expect(made.grants.map(({ namespace }) => namespace)).toEqual(['/shop/docs']);
  expect(made.unsaid).toEqual([
    { file: 'shop/CODEOWNERS', line: 2, rule: '/ @ana', why: '`/` matches no file: write `*` for all of them' },
  ]);
});

it('leaves out what is too long for a namespace, with its place, and imports the rest', () => {
  const long = 'x'.repeat(400);
  const edges = ['shop', long].map((name) => ({ permission: 'READ', node: { name } }));
  const nodes = [{ slug: 'staff', parentTeam: null, members: { nodes: [{ login: 'ana' }] }, repositories: { edges } }];
  const made = importGithub([
    { path: 'teams.json', text: JSON.stringify({ organization: { login: 'acme', teams: { nodes } } }) },
    { path: 'shop/CODEOWNERS', text: `/docs/ @ben\n/${long}/ @ana\n` },
  ]);
  expect(made.unsaid.map(({ file, line }) => `${file}:${String(line)}`)).toEqual(['teams.json:1', 'shop/CODEOWNERS:2']);
  expect(made.grants.map(({ namespace }) => namespace)).toEqual(['/shop', '/shop/docs']);
  const { disagreements, questions } = comparedOf(made);
  expect([disagreements, questions]).toEqual([0, made.questionCount]);
});

it('misses no page of a list whose last page is there, also in another document of the file', () => {
  const page = (hasNextPage: boolean, login: string): string => {
    const members = { nodes: [{ login }], pageInfo: { hasNextPage } };
    const nodes = [{ slug: 'staff', parentTeam: null, members, repositories: { edges: [] } }];
    return JSON.stringify({ organization: { login: 'acme', teams: { nodes, pageInfo: { hasNextPage: false } } } });
  };
  const made = (...texts: readonly string[]): ReturnType<typeof importGithub> =>
    importGithub(texts.map((text, i) => ({ path: `${String(i)}.yaml`, text })));
  expect(made(page(true, 'ana')).unsaid.map(({ rule }) => rule)).toEqual(['members of staff']);
  for (const whole of [
    made(page(true, 'ana'), page(false, 'ben')),
    made(`${page(true, 'ana')}\n---\n${page(false, 'ben')}\n`),
  ]) {
    expect(whole.unsaid).toEqual([]);
    expect(whole.roles.map(({ members }) => members.length)).toEqual([2]);
  }
});

it('joins the pages of one organization, and refuses a second one, whose repositories have the same names', () => {
  const page = (login: string, slug: string, parent: string | null, member: string): object => ({
    organization: {
      login,
      teams: {
        nodes: [
          {
            slug,
            parentTeam: parent === null ? null : { slug: parent },
            members: { nodes: [{ login: member }] },
            repositories: { edges: [{ permission: 'WRITE', node: { name: 'api' } }] },
          },
        ],
      },
    },
  });
  const file = (path: string, content: object): { path: string; text: string } => ({
    path,
    text: JSON.stringify(content),
  });
  const first = file('one.json', page('acme', 'staff', null, 'ana'));
  const made = importGithub([first, file('two.json', page('Acme', 'guild', 'staff', 'ben'))]);
  expect(made.unsaid).toEqual([]);
  expect(comparedOf(made)).toMatchObject({ disagreements: 0, examples: [] });
  expect(() => importGithub([first, file('two.json', page('globex', 'staff', null, 'cleo'))])).toThrow(
    'is of the organization globex, and one.json is of acme: import one organization at a time',
  );
});

it('decides as teams and CODEOWNERS do, on generated ones', () => {
  const slugs = ['a', 'b', 'c'];
  const login = fc.constantFrom('ana', 'Ben', 'cleo');
  const team = (slug: string, parents: readonly string[]): fc.Arbitrary<object> =>
    fc.record({
      slug: fc.constant(slug),
      parentTeam: fc.option(fc.record({ slug: fc.constantFrom(...parents, 'gone') })),
      members: fc.record({ nodes: fc.array(fc.record({ login }), { maxLength: 2 }) }),
      repositories: fc.record({
        edges: fc.array(
          fc.record({
            permission: fc.constantFrom('READ', 'TRIAGE', 'WRITE', 'MAINTAIN', 'ADMIN'),
            node: fc.record({ name: fc.constantFrom('shop', 'Till') }),
          }),
          { maxLength: 2 },
        ),
      }),
    });
  const owner = fc.constantFrom('@ana', '@ben', '@acme/a', '@acme/c', '@acme/other', 'x@y.z');
  const pattern = fc.constantFrom(
    '*',
    '/x/',
    '/x/y/',
    'x/y/z',
    '/x/**',
    '*.md',
    '/x/*.md',
    '/w/',
    'y/',
    '/x/*',
    '/w/**/v',
  );
  const line = fc
    .tuple(pattern, fc.array(owner, { maxLength: 3 }))
    .map(([start, owners]) => [start, ...owners].join(' '));
  let allowed = 0;
  fc.assert(
    fc.property(
      fc.tuple(...slugs.map((slug, i) => team(slug, slugs.slice(0, i)))),
      fc.array(line, { maxLength: 7 }),
      (nodes, lines) => {
        const teams = { organization: { login: 'acme', teams: { nodes } } };
        const imported = importGithub([
          { path: 'teams.json', text: JSON.stringify(teams) },
          { path: 'shop/CODEOWNERS', text: lines.join('\n') },
        ]);
        const proof = comparedOf(imported);
        expect(proof.examples).toEqual([]);
        expect(proof.questions).toBe(imported.questionCount);
        allowed += proof.allowed;
      },
    ),
    { numRuns: 150 },
  );
  expect(allowed).toBeGreaterThan(0);
});
