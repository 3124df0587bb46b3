// What is generated stands in the repository as the program would write it: `make docs` brings it up to date.
import { readFileSync } from 'node:fs';
import { describe, expect, it, test } from '@jest/globals';
import { DIAGNOSTIC_CODES } from '../engine/compiler.js';
import { fromRoot } from './support/root.js';
import { runCli } from './support/run-cli.js';

describe('generated documents', () => {
  test.each([
    { file: 'engine/docs/diagnostics.md', args: ['codes', '--format', 'markdown'] },
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
    expect(headings).toEqual(DIAGNOSTIC_CODES);
    for (const code of DIAGNOSTIC_CODES) expect(text).toContain(`| [\`${code}\`](#${code.toLowerCase()}) | `);
  });
});
