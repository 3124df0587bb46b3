// Every diagnostic code: its examples do what its page says, and a folder of fixtures yields exactly it.
import { describe, expect, it, test } from '@jest/globals';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import {
  codePage,
  DIAGNOSTIC_CODES,
  type DiagnosticCode,
  type Diagnostic,
  ENGINE_LIMITS,
  type EngineLimits,
  isLintCode,
  lintPolicy,
  type PolicyReading,
  readPolicy,
} from '../../../engine/compiler.js';
import { instantOf } from '../../../engine/index.js';
import { fromRoot } from '../../support/root.js';
import { POLICY, readFolder, ROLES, textUnder } from './support.js';

const BAD = fromRoot('fixtures/policies/bad');
const GOOD = fromRoot('fixtures/policies/good');

/** Found outside of `readPolicy`: by the folder reader of the command line, and by the compiler. */
const FOUND_ELSEWHERE: readonly DiagnosticCode[] = [
  'FILE_NAME',
  'FILE_SPECIAL',
  'FILE_SYMLINK',
  'FILE_UNREADABLE',
  'LIMIT_EXPANDED',
];

function filesOf(folder: string): { readonly path: string; readonly bytes: Uint8Array }[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => statSync(join(folder, path)).isFile() && !path.endsWith('.expected.json'))
    .map((path) => ({ path: relative('.', path).split(sep).join('/'), bytes: readFileSync(join(folder, path)) }));
}

/** The clock that the rules about it are shown with. */
const AT = instantOf(Date.UTC(2027, 0, 1));

/** What reading finds, and for codes of lint what lint finds after it. */
function found(code: string, reading: PolicyReading, limits: EngineLimits = ENGINE_LIMITS): readonly Diagnostic[] {
  const { policy, sources, outlines } = reading;
  if (policy === null || !(isLintCode(code) || code === 'LIMIT_LINT')) return reading.diagnostics;
  const options = { at: AT, soonMilliseconds: 30 * 86_400_000, levels: new Map() };
  return [...reading.diagnostics, ...lintPolicy({ policy, sources, outlines }, options, limits)];
}

interface Expected {
  readonly limits?: Readonly<Record<string, number>>;
  readonly diagnostics: readonly { readonly code: string; readonly file: string; readonly text: string }[];
}

describe('the folder of fixtures of each code', () => {
  const codes = readdirSync(BAD).sort();

  it('exists for every code', () => {
    const missing = DIAGNOSTIC_CODES.filter((code) => !FOUND_ELSEWHERE.includes(code) && !existsSync(join(BAD, code)));
    expect(missing).toEqual([]);
    expect(codes.length).toBeGreaterThan(70);
    expect(codes.filter((code) => !(DIAGNOSTIC_CODES as readonly string[]).includes(code))).toEqual([]);
  });

  test.each(codes)('%s', (code) => {
    const folder = join(BAD, code);
    const expected = JSON.parse(readFileSync(join(folder, '.expected.json'), 'utf8')) as Expected;
    const limits = { ...ENGINE_LIMITS, ...expected.limits };
    const reading = readPolicy(filesOf(folder), limits);
    const diagnostics = found(code, reading, limits).map((diagnostic) => ({
      code: diagnostic.code,
      file: diagnostic.file,
      text: textUnder(reading, diagnostic),
    }));
    expect(diagnostics).toEqual(expected.diagnostics);
    expect(diagnostics.map((diagnostic) => diagnostic.code)).toEqual([code]);
    expect(reading.policy === null).toBe(reading.diagnostics.some((diagnostic) => diagnostic.severity === 'error'));
  });
});

describe('the page of each code', () => {
  const shown = DIAGNOSTIC_CODES.filter((code) => codePage(code).shows !== 'words');
  const folder = (code: DiagnosticCode, text: string): Record<string, string> =>
    codePage(code).shows === 'policy.yaml'
      ? { 'policy.yaml': text, 'roles.yaml': ROLES }
      : codePage(code).shows === 'alone'
        ? { 'policy.yaml': POLICY, 'example.yaml': text }
        : { 'policy.yaml': POLICY, 'roles.yaml': ROLES, 'example.yaml': text };
  const codesOf = (code: DiagnosticCode, text: string): readonly string[] =>
    found(code, readFolder(folder(code, text))).map((diagnostic) => diagnostic.code);

  it('has examples to run for most', () => {
    expect(shown.length).toBeGreaterThan(50);
  });

  test.each(shown)('%s: the wrong example yields it and the right one nothing', (code) => {
    const page = codePage(code);
    expect(codesOf(code, page.wrong)).toEqual([code]);
    expect(codesOf(code, page.right)).toEqual([]);
  });

  test.each(DIAGNOSTIC_CODES)('%s: is written in our manner', (code) => {
    const page = codePage(code);
    expect(code).toMatch(/^[A-Z]+(?:_[A-Z0-9]+)+$/);
    expect(page.title).toMatch(/^[^A-Z].*[^.]$|^NUL/);
    expect(page.explanation).toMatch(/[.]$/);
  });
});

test('messages are one line, in lower case, without a period', () => {
  for (const code of readdirSync(BAD)) {
    for (const { message, help } of found(code, readPolicy(filesOf(join(BAD, code))))) {
      expect(message).toMatch(/^[^A-Z\n][^\n]*[^.\n]$/);
      expect(help ?? 'x').not.toMatch(/\n|\.$/);
    }
  }
});

describe('a folder of good policy', () => {
  const folders = readdirSync(GOOD).sort();

  it('is there', () => {
    expect(folders.length).toBeGreaterThan(2);
  });

  test.each(folders)('%s loads without a word', (name) => {
    const reading = readPolicy(filesOf(join(GOOD, name)));
    expect(reading.diagnostics).toEqual([]);
    expect(reading.policy?.name).toBe(name);
  });
});
