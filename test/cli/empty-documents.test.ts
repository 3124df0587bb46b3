// Documents that say nothing, or nothing that a policy can use: every verb that reads or writes policy files reports them or takes
// them as they are, and none fails inside.
import { expect, test } from '@jest/globals';
import { formatFile, takeOut } from '../../engine/compiler.js';
import { makeRepository } from '../support/git-repository.js';
import { runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';

const POLICY = 'bailiwick: 1\nname: p\nproviders: { orcid: {} }\n';
const GRANTS = 'grants:\n  - { id: a, identity: orcid:x, scopes: [resource:read], namespace: /a }\n';

const SILENT = {
  nothing: '',
  'an empty line': '\n',
  'white space': '  \n\n',
  'a comment': '# nothing yet\n',
  'a mark of a document': '---\n',
  'an empty mapping': '{}\n',
  'an empty mapping with comments': '# above\n\n# below\n{}\n',
};
const UNTIDY = {
  'an empty mapping without a line end': ['{}', '{}\n'],
  'an empty mapping over lines': ['{\n\n}\n', '{}\n'],
  'an empty mapping with comments inside': [
    '# above\n{ # inside\n} # behind\n# below\n',
    '# above\n# inside\n# behind\n# below\n{}\n',
  ],
  'an empty mapping after a mark': ['--- {}\n', '{}\n'],
  'an empty mapping before the end': ['{}\n...\n', '{}\n'],
};
const EMPTY_SECTIONS = {
  'empty sections': 'roles: {}\ngrants: []\ntests: []\nguardrails: []\npeople: {}\n',
  'an empty role': 'roles: { r: {} }\n',
};
const WRONG = {
  'an empty list': '[]\n',
  null: 'null\n',
  'a tilde': '~\n',
  'an empty string': '""\n',
  'a number': '0\n',
  'a section of null': 'grants:\n',
  'an empty grant': 'grants: [{}]\n',
  'a grant of null': 'grants:\n  -\n',
};

const format = (text: string): ReturnType<typeof formatFile> =>
  formatFile({ path: 'a.yaml', bytes: new TextEncoder().encode(text) });

test.each(Object.entries(SILENT))('%s stays as it is', (_, text) => {
  expect(format(text)).toEqual({ ok: true, text });
  expect(takeOut({ path: 'a.yaml', text }, { items: [], scopes: new Map() })).toBe(text);
});

test.each(Object.entries(UNTIDY))('%s is laid out', (_, [text = '', layout]) => {
  expect(format(text)).toEqual({ ok: true, text: layout });
  expect(takeOut({ path: 'a.yaml', text }, { items: [], scopes: new Map() })).toBe(layout);
});

test.each(Object.entries(WRONG))('%s is reported, not formatted', (_, text) => {
  const formatted = format(text);
  expect(formatted.ok).toBe(false);
  expect(formatted.ok ? [] : formatted.diagnostics.map(({ severity }) => severity)).toContain('error');
});

test.each(Object.entries({ ...SILENT, ...EMPTY_SECTIONS }))('every verb takes a file with %s', async (_, text) => {
  const { path: cwd, commit } = await makeRepository();
  commit({ 'policy.yaml': POLICY, 'grants.yaml': GRANTS });
  commit({ 'policy.yaml': POLICY, 'grants.yaml': GRANTS, 'a.yaml': text });
  const ran = async (...args: readonly string[]): Promise<number | null> => {
    const { status, stderr } = await runCli(args, { cwd });
    expect([args.join(' '), stderr.includes('bug')]).toEqual([args.join(' '), false]);
    return status;
  };
  expect(await ran('fmt', '.')).toBe(0);
  expect(await ran('fmt', '.', '--check')).toBe(0);
  expect(await ran('check', '.')).toBe(0);
  expect(await ran('diff', 'HEAD~1:.', '.', '--exit-code')).toBe(0);
  expect(await ran('history', '.')).toBe(0);
  const request = ['--as', 'orcid:y', '--scope', 'resource:read', '--namespace', '/a'];
  expect(await ran('explain', '.', ...request, '--apply', '1')).toBe(0);
  expect(await ran('decide', '.')).toBe(0);
});

test.each(Object.entries(WRONG))('every verb reports a file with %s', async (_, text) => {
  const cwd = await makeFolder({ 'policy.yaml': POLICY, 'grants.yaml': GRANTS, 'a.yaml': text });
  for (const verb of [
    ['fmt', '.'],
    ['check', '.'],
    ['diff', '.', '.'],
    ['compile', '.', '-o', 'out.json'],
  ]) {
    const { status, stdout, stderr } = await runCli(verb, { cwd });
    expect([verb[0], status]).toEqual([verb[0], 3]);
    expect(stdout + stderr).toMatch(/a\.yaml:[12]:/);
  }
});
