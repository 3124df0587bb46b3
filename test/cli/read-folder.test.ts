// A folder is read completely or faults are reported: no entry is silently skipped, and none can hang or escape.
import { execFileSync } from 'node:child_process';
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { ENGINE_LIMITS } from '../../engine/compiler.js';
import { readPolicyFolder } from '../support/policy-folder.js';
import { makeFolder } from '../support/temp-folder.js';
import { runIn } from './verb-table.js';

async function read(folder: string): Promise<{ files: readonly string[]; found: readonly string[] }> {
  const { files, diagnostics } = await readPolicyFolder(folder);
  return {
    files: files.map((file) => file.path),
    found: diagnostics.map((diagnostic) => `${diagnostic.severity} ${diagnostic.code} ${diagnostic.file}`).sort(),
  };
}

test('every `.yaml` below is read, in code unit order of the whole path; what no policy is made of is left aside', async () => {
  const folder = await makeFolder({
    'policy.yaml': 'a',
    'roles/b.yaml': 'b',
    'roles-2.yaml': 'c',
    'Z.yaml': 'z',
    'README.md': '',
    'roles/CODEOWNERS': '',
    LICENSE: '',
    '.schema/policy.json': '',
    '.githooks/run.yaml': 'run: tests\n',
    '.editorconfig': '',
    'empty/.keep': '',
  });
  expect(await read(folder)).toEqual({
    files: ['Z.yaml', 'policy.yaml', 'roles-2.yaml', 'roles/b.yaml'],
    found: [],
  });
});

test('bytes are passed on as they are', async () => {
  const bytes = Uint8Array.from([0xef, 0xbb, 0xbf, 0xff, 0x0d, 0x0a]);
  const { files } = await readPolicyFolder(await makeFolder({ 'a.yaml': bytes }));
  expect(files[0]?.bytes).toEqual(Buffer.from(bytes));
});

const MOVE = 'policy files end in `.yaml`; move other files out of the folder';
test.each(['snapshot.json', 'v1.snapshot.json', 'snapshot.json.dsse.json', 'notes.txt', 'yaml'])(
  '%s is not read, and that is a warning',
  async (path) => {
    const { files, diagnostics } = await readPolicyFolder(await makeFolder({ [path]: 'x' }));
    expect(files).toEqual([]);
    expect(diagnostics).toMatchObject([{ code: 'FILE_IGNORED', severity: 'warning', file: path, help: MOVE }]);
  },
);

test.each([
  ['guardrails/duties.yml', 'duties.yaml'],
  ['duties.YAML', 'duties.yaml'],
  ['duties.Yml', 'duties.yaml'],
  ['duties.json', 'duties.yaml'],
  ['duties.yaml.txt', 'duties.yaml'],
  ['duties.yaml.bak', 'duties.yaml'],
  ['duties.yaml.orig', 'duties.yaml'],
  ['duties.yaml~', 'duties.yaml'],
  ['#duties.yaml#', 'duties.yaml'],
  ['duties.yaml (copy)', 'duties.yaml'],
  ['grants-snapshot.yml', 'grants-snapshot.yaml'],
  ['duties.yam', 'duties.yaml'],
  ['duties.ymal', 'duties.yaml'],
  ['duties.yaaml', 'duties.yaml'],
  ['duties.aml', 'duties.yaml'],
  ['duties.jsonc', 'duties.yaml'],
  ['duties.yaml.md', 'duties.yaml'],
  ['duties.yaml.swp', 'duties.yaml'],
  ['duties.yaml.rej', 'duties.yaml'],
  ['duties.yaml.disabled', 'duties.yaml'],
  ['duties.yaml.~1~', 'duties.yaml'],
  ['duties.yaml ', 'duties.yaml'],
])('%s looks like policy, and is an error', async (path, meant) => {
  const { files, diagnostics, unread } = await readPolicyFolder(await makeFolder({ [path]: 'x' }));
  const help = `rename it to \`${meant}\`, or move it out of the folder`;
  expect(files).toEqual([]);
  expect(diagnostics).toMatchObject([{ code: 'FILE_MISNAMED', severity: 'error', file: path, help }]);
  expect(unread.length).toBe(1);
});

test.each(['duties (copy).yaml', 'Copy of duties.yaml', '~duties.yaml'])('%s is read', async (path) => {
  expect(await read(await makeFolder({ [path]: 'x' }))).toEqual({ files: [path], found: [] });
});

test.each(['duties.yaml.orig', 'duties.yml', 'duties.yaml~', '.duties.yaml', '.duties.yaml.bak'])(
  '%s beside the real file: no help tells to overwrite that one',
  async (path) => {
    const text = 'grants: []\n';
    const { diagnostics } = await readPolicyFolder(await makeFolder({ 'a/duties.yaml': text, [`a/${path}`]: text }));
    const help = '`duties.yaml` is beside it, and that one is read: remove this one, or move it out of the folder';
    expect(diagnostics).toMatchObject([{ code: 'FILE_MISNAMED', file: `a/${path}`, help }]);
    const alone = await readPolicyFolder(await makeFolder({ 'duties.yaml': text, [`a/${path}`]: text }));
    expect(alone.diagnostics[0]?.help).toBe('rename it to `duties.yaml`, or move it out of the folder');
  },
);

test('a hidden `.yaml` is an error in any folder, whatever it holds', async () => {
  for (const text of ['grants: []\n', 'hooks: []\n', '']) {
    const { files, diagnostics } = await readPolicyFolder(await makeFolder({ '.yaml': text, 'a/.duties.yaml': text }));
    expect(files).toEqual([]);
    expect(diagnostics).toMatchObject([
      {
        code: 'FILE_MISNAMED',
        file: '.yaml',
        help: 'give it a name that ends in `.yaml`, or move it out of the folder',
      },
      { code: 'FILE_MISNAMED', file: 'a/.duties.yaml', message: expect.stringMatching(/^a hidden policy file/) },
    ]);
  }
});

test('policy in a hidden folder is an error; what other programs keep there is not', async () => {
  const text = 'grants: []\n';
  const folder = await makeFolder({
    '.old/duties.yaml': text,
    'a/.x/y/z.yaml': text,
    '.github/deploy.yaml': 'jobs: {}\n',
    '.git/duties.yaml': text,
    '..2026_11/duties.yaml': text,
    '.old/README.md': 'grants:\n  - none\n',
  });
  expect(await read(folder)).toEqual({
    files: [],
    found: ['error FILE_MISNAMED .old/duties.yaml', 'error FILE_MISNAMED a/.x/y/z.yaml'],
  });
});

test('a file of any other name is an error if its text is policy, and a warning if it is prose', async () => {
  const POLICY_TEXTS = [
    'guardrails:\n  - { id: a }\n',
    '# ours\n\nbailiwick: 1\n',
    'within: /labs\n',
    'people:\n  # of the lab\n  ana: { identities: ["ad:x"] }\n',
    '{ "grants": [] }',
  ];
  const PROSE = ['roles: ask ana\n', 'people:\n- ana\n', 'within: a week\n', 'bailiwick: a district\n', ''];
  for (const path of ['duties.txt', 'guardrails/duties', 'duties.toml', 'duties.copy']) {
    for (const text of POLICY_TEXTS) {
      const { files, diagnostics } = await readPolicyFolder(await makeFolder({ [path]: text }));
      const message = 'the file has the text of a policy file, and is not read';
      expect([files, diagnostics]).toMatchObject([
        [],
        [{ code: 'FILE_MISNAMED', severity: 'error', file: path, message }],
      ]);
    }
    for (const text of PROSE)
      expect((await read(await makeFolder({ [path]: text }))).found).toEqual([`warning FILE_IGNORED ${path}`]);
  }
});

describe('a hidden file that is named almost like policy', () => {
  const ALMOST = ['.duties.yml', '.duties.YAML', '.duties.json', '.duties.yaml~', '.duties.yaml.bak', '.yml'];
  const POLICY_TEXTS = [
    'guardrails:\n  - { id: a }\n',
    '# ours\ntests: # of duties\n\n  - name: a\n',
    'grants: [{ id: a }]\n',
    'roles:\n  staff: {}\n',
    '{"guardrails": [{"id": "a"}]}',
  ];
  const OTHER_TEXTS = ['tests:\n  script: make test\n', 'stages: [roles]\n', '{"printWidth": 120}', ''];

  test.each(ALMOST)('%s is an error if its text is policy, and aside if it is not', async (path) => {
    for (const text of POLICY_TEXTS)
      expect((await read(await makeFolder({ [path]: text }))).found).toEqual([`error FILE_MISNAMED ${path}`]);
    for (const text of OTHER_TEXTS) expect((await read(await makeFolder({ [path]: text }))).found).toEqual([]);
  });

  test('is left aside where an editor keeps it beside a file that is open', async () => {
    const open = ['.duties.yaml.swp', '.duties.yaml.un~', '.duties.yaml.kate-swp', '.~lock.duties.yaml#'];
    const folder = await makeFolder(Object.fromEntries(open.map((path) => [path, POLICY_TEXTS[0] ?? ''])));
    await symlink('ana@host.4711:1', join(folder, '.#duties.yaml'));
    expect(await read(folder)).toEqual({ files: [], found: [] });
  });
});

test('a folder that is called like a file beside policy is read', async () => {
  const folder = await makeFolder({ 'notes.md/a.yaml': '', 'LICENSE/b.yaml': '', '.git/c.yml': '', 'README.md': '' });
  expect(await read(folder)).toEqual({ files: ['LICENSE/b.yaml', 'notes.md/a.yaml'], found: [] });
});

describe('links', () => {
  test('one that stays inside is read, as a mounted ConfigMap needs', async () => {
    const folder = await makeFolder({ '..2026/policy.yaml': 'name' });
    await symlink('..2026', join(folder, '..data'));
    await symlink(join('..data', 'policy.yaml'), join(folder, 'policy.yaml'));
    expect(await read(folder)).toEqual({ files: ['policy.yaml'], found: [] });
  });

  test('one that leaves, dangles or turns back is refused', async () => {
    const outside = await makeFolder({ 'o.yaml': 'x', 'folder/p.yaml': 'y' });
    const folder = await makeFolder({ 'sub/a.yaml': 'a' });
    await symlink(join(outside, 'o.yaml'), join(folder, 'out.yaml'));
    await symlink(join(outside, 'folder'), join(folder, 'outfolder'));
    await symlink('nothing', join(folder, 'dangling.yaml'));
    await symlink('..', join(folder, 'sub', 'up'));
    await symlink('self.yaml', join(folder, 'self.yaml'));
    await symlink('/dev/zero', join(folder, 'zero.yaml'));
    expect(await read(folder)).toEqual({
      files: ['sub/a.yaml'],
      found: [
        'error FILE_SYMLINK dangling.yaml',
        'error FILE_SYMLINK out.yaml',
        'error FILE_SYMLINK outfolder',
        'error FILE_SYMLINK self.yaml',
        'error FILE_SYMLINK sub/up',
        'error FILE_SYMLINK zero.yaml',
      ],
    });
  });

  test('a folder beside it whose name begins alike is outside', async () => {
    const parent = await makeFolder({ 'pol/policy.yaml': 'a', 'pol-2/b.yaml': 'b' });
    await symlink(join(parent, 'pol-2', 'b.yaml'), join(parent, 'pol', 'b.yaml'));
    expect((await read(join(parent, 'pol'))).found).toEqual(['error FILE_SYMLINK b.yaml']);
  });

  test('the policy folder itself may be one', async () => {
    const parent = await makeFolder({ 'real/policy.yaml': 'a' });
    await symlink('real', join(parent, 'link'));
    expect(await read(join(parent, 'link'))).toEqual({ files: ['policy.yaml'], found: [] });
  });
});

describe('what cannot be read', () => {
  test('pipes and folders named like files do not hang', async () => {
    const folder = await makeFolder({ 'x.yaml/inside.yaml': 'a' });
    execFileSync('mkfifo', [join(folder, 'pipe.yaml')]);
    expect(await read(folder)).toEqual({
      files: [],
      found: ['error FILE_SPECIAL pipe.yaml', 'error FILE_SPECIAL x.yaml'],
    });
  });

  test('names that would break a line of output are refused, also ones that are not Unicode', async () => {
    const folder = await makeFolder({ 'a\nb.yaml': 'x', 'e\u0301.yaml': 'y' });
    await writeFile(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff]), Buffer.from('.yaml')]), 'z');
    expect(await read(folder)).toEqual({
      files: [],
      found: ['error FILE_NAME a\nb.yaml', 'error FILE_NAME e\u0301.yaml', 'error FILE_NAME \ufffd.yaml'].sort(),
    });
  });

  (process.getuid?.() === 0 ? test.skip : test)('permissions', async () => {
    const folder = await makeFolder({ 'closed.yaml': 'x' });
    await mkdir(join(folder, 'shut'));
    await chmod(join(folder, 'closed.yaml'), 0);
    await chmod(join(folder, 'shut'), 0);
    const reading = await read(folder);
    await chmod(join(folder, 'shut'), 0o700);
    expect(reading).toEqual({ files: [], found: ['error FILE_UNREADABLE closed.yaml', 'error FILE_UNREADABLE shut'] });
  });

  test('a file at the limit is read, one byte more is refused', async () => {
    const folder = await makeFolder({
      'big.yaml': Buffer.alloc(ENGINE_LIMITS.fileBytes),
      'over.yaml': Buffer.alloc(ENGINE_LIMITS.fileBytes + 1),
    });
    expect(await read(folder)).toEqual({ files: ['big.yaml'], found: ['error FILE_TOO_LARGE over.yaml'] });
  });

  test('folders nested without end are refused', async () => {
    const folder = await makeFolder({ [`${'d/'.repeat(33)}a.yaml`]: 'x', [`${'e/'.repeat(32)}b.yaml`]: 'y' });
    const { files, found } = await read(folder);
    expect(files).toEqual([`${'e/'.repeat(32)}b.yaml`]);
    expect(found).toEqual([`error FILE_UNREADABLE ${'d/'.repeat(32)}d`]);
  });
});

test.each([
  ['missing', 'nothing', 'cli.not_found'],
  ['a file', 'policy.yaml', 'cli.not_a_folder'],
  ['below a file', 'policy.yaml/x', 'cli.not_found'],
])('a path that is %s is a usage error', async (_name, path, code) => {
  const folder = await makeFolder({ 'policy.yaml': 'a' });
  const { status, stdout } = await runIn(folder, ['check', path, '--format', 'json']);
  expect([status, JSON.parse(stdout)]).toEqual([
    2,
    expect.objectContaining({ error: expect.objectContaining({ code }) }),
  ]);
});
