// The documents tell the truth: the README's example runs and its output is compared, and every file, folder, link or
// make target that a document names exists.
import { execFile } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { fromRoot } from './support/root.js';
import { CLI } from './support/run-cli.js';
import { makeFolder } from './support/temp-folder.js';

interface Block {
  readonly language: string;
  readonly text: string;
}

interface Example {
  readonly command: string;
  readonly output: string;
}

const DOCUMENTS = [
  'README.md',
  'SECURITY.md',
  'CHANGELOG.md',
  'engine/README.md',
  'server/README.md',
  'policies/README.md',
];
const MAX_LINES = 150;
const read = (path: string): string => readFileSync(fromRoot(path), 'utf8');

function blocksOf(markdown: string): readonly Block[] {
  return [...markdown.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = '', text = '']) => ({ language, text }));
}

/** Files shown in the document: the first line of such a block is a comment with its path. */
function filesIn(blocks: readonly Block[]): Readonly<Record<string, string>> {
  const named = blocks.map(({ text }) => [/^# (\S+\.yaml)\n/.exec(text)?.[1], text] as const);
  return Object.fromEntries(named.flatMap(([path, text]) => (path === undefined ? [] : [[path, text]])));
}

/** `$ command` and the lines below it. */
function examplesIn(blocks: readonly Block[]): readonly Example[] {
  const consoles = blocks.filter(({ language }) => language === 'console').map(({ text }) => text);
  return consoles.flatMap((text) =>
    [...text.matchAll(/^\$ (.*)\n((?:(?!\$ ).*\n)*)/gm)].map(([, command = '', output = '']) => ({ command, output })),
  );
}

describe('the README', () => {
  const blocks = blocksOf(read('README.md'));

  it('has an example whose output is what it shows', async () => {
    const files = filesIn(blocks);
    const examples = examplesIn(blocks);
    expect(Object.keys(files).length).toBeGreaterThan(1);
    expect(examples.length).toBeGreaterThan(1);
    const folder = await makeFolder({
      ...files,
      'bin/bailiwick': `#!/bin/sh\nexec '${process.execPath}' '${CLI}' "$@"\n`,
    });
    chmodSync(join(folder, 'bin/bailiwick'), 0o755);
    const env = { PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}` };
    for (const { command, output } of examples) {
      const { stdout } = await promisify(execFile)('sh', ['-c', `${command} 2>&1`], { cwd: folder, env });
      expect({ command, output: stdout }).toEqual({ command, output });
    }
  });

  it(`is read in one go: under ${String(MAX_LINES)} lines`, () => {
    expect(read('README.md').split('\n').length).toBeLessThan(MAX_LINES);
  });

  it('names make targets that exist', () => {
    const targets = [...read('Makefile').matchAll(/^([a-z-]+):/gm)].map(([, name]) => name);
    const named = [...read('README.md').matchAll(/\bmake ([a-z][a-z-]*)/g)].map(([, name]) => name);
    expect(named).toEqual(expect.arrayContaining(['run', 'test', 'ci']));
    expect(named.filter((name) => !targets.includes(name))).toEqual([]);
  });
});

describe.each(DOCUMENTS)('%s', (document) => {
  const base = dirname(document);

  it('links to what exists', () => {
    const text = read(document);
    const links = [...text.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, link = '']) => join(base, link));
    expect(links.filter((link) => !existsSync(fromRoot(link)))).toEqual([]);
  });

  it('names files and folders that exist', () => {
    const text = read(document);
    const named = [...text.matchAll(/(?<![\w/.-])(?:engine|server|policies|fixtures|test|bench)\/[\w./-]*/g)];
    const near = [...text.matchAll(/(?<=`)(?:[\w-]+(?:\/[\w-]+)+\.(?:ts|yaml)|[\w-]+(?:\/[\w-]+)*\/)(?=`)/g)];
    const alone = [...text.matchAll(/(?<=`)[\w-]+\.ts(?=`)/g)].map(([name]) => name);
    const paths = [...named, ...near].map(([path]) => path);
    expect(paths.filter((path) => !existsSync(fromRoot(path)) && !existsSync(fromRoot(join(base, path))))).toEqual([]);
    if (alone.length === 0) return;
    const below = new Set(
      readdirSync(fromRoot(base), { recursive: true, encoding: 'utf8' }).map((path) => basename(path)),
    );
    expect(alone.filter((name) => !below.has(name))).toEqual([]);
  });
});
