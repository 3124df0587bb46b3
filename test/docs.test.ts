// Generated files are in the repository exactly as the program would write them; `make docs` updates them.
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it, test } from '@jest/globals';
import { PROBLEM_CODES } from '../engine/compiler.js';
import { fromRoot } from './support/root.js';
import { runCli } from './support/run-cli.js';
import { refreshExamples } from './support/shown-examples.js';

describe('generated documents', () => {
  test.each([
    { file: 'engine/docs/diagnostics.md', args: ['codes', '--format', 'markdown'] },
    { file: 'server/docs/bailiwick.example.yaml', args: ['config', 'example'] },
    { file: 'policies/.schema/policy.json', args: ['schema', 'policy'] },
    { file: 'policies/.schema/sections.json', args: ['schema', 'sections'] },
  ])('$file is up to date', async ({ file, args }) => {
    const { stdout, status } = await runCli(args);
    expect(status).toBe(0);
    expect(readFileSync(fromRoot(file), 'utf8')).toBe(stdout);
  });

  it('has a heading for every code, which the list links to', () => {
    const text = readFileSync(fromRoot('engine/docs/diagnostics.md'), 'utf8');
    const headings = [...text.matchAll(/^## (\w+)$/gm)].map(([, code]) => code);
    expect(headings).toEqual(PROBLEM_CODES);
    for (const code of PROBLEM_CODES) expect(text).toContain(`| [\`${code}\`](#${code.toLowerCase()}) | `);
  });
});

describe('engine/docs/examples.md', () => {
  const text = readFileSync(fromRoot('engine/docs/examples.md'), 'utf8');

  it('shows what its commands print', async () => {
    expect(await refreshExamples(text)).toBe(text);
  });

  it('tries the verbs of policy authors and auditors, successes and refusals', () => {
    const verbs = new Set([...text.matchAll(/^\$ bailiwick ([a-z-]+)/gm)].map(([, verb]) => verb));
    expect([...verbs].sort()).toEqual([
      'check',
      'compile',
      'diff',
      'explain',
      'fmt',
      'inspect',
      'keygen',
      'sign',
      'test',
      'verify',
      'visible',
      'what-can',
      'who-can',
    ]);
    expect(text).not.toMatch(/cli\.internal|Error:|^\s+at .*:\d+:\d+/m);
  });

  it('links to what exists, and is short enough to read', () => {
    const links = [...text.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, link = '']) => `engine/docs/${link}`);
    expect(links.filter((link) => !existsSync(fromRoot(link)))).toEqual([]);
    expect(text.split('\n').length).toBeLessThan(400);
  });
});
