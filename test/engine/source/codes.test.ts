// Every code of what `check` finds: its examples do what its page says, a folder yields exactly it, and help says what to do.
import { describe, expect, it, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { accessSync, chmodSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import {
  checkGuardrails,
  codePage,
  compilePolicy,
  type Diagnostic,
  ENGINE_LIMITS,
  type EngineLimits,
  isLintCode,
  lintPolicy,
  openCompiled,
  type PolicyReading,
  type PolicySet,
  PROBLEM_CODES,
  type ProblemCode,
  readPolicy,
  runPolicyTests,
} from '../../../engine/compiler.js';
import { instantOf } from '../../../engine/index.js';
import { readPolicyFolder } from '../../support/policy-folder.js';
import { fromRoot } from '../../support/root.js';
import { makeFolder } from '../../support/temp-folder.js';
import { POLICY, readFolder, ROLES, textUnder } from './support.js';

const BAD = fromRoot('fixtures/policies/bad');
const GOOD = fromRoot('fixtures/policies/good');

function filesOf(folder: string): { readonly path: string; readonly bytes: Uint8Array }[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => statSync(join(folder, path)).isFile() && !path.endsWith('.expected.json'))
    .map((path) => ({ path: relative('.', path).split(sep).join('/'), bytes: readFileSync(join(folder, path)) }));
}

/** The clock that the rules about it are shown with. */
const AT = instantOf(Date.UTC(2027, 0, 1));

type Found = Pick<Diagnostic, 'file' | 'range' | 'help' | 'message'> & { readonly code: ProblemCode };

/** What reading finds; for codes of lint what lint finds after it; and what is found by compiling and running. */
function found(code: string, reading: PolicyReading, limits: EngineLimits = ENGINE_LIMITS): readonly Found[] {
  const { policy, sources, outlines } = reading;
  if (policy === null) return reading.diagnostics;
  if (OUTCOMES.has(code)) return [...reading.diagnostics, ...outcomes(policy, limits)];
  if (!isLintCode(code) && code !== 'LIMIT_LINT') return reading.diagnostics;
  const stored = code === 'LINT_NAMESPACE_UNSTORED' ? { stored: new Set(['/labs/optics']) } : {};
  const options = { at: AT, soonMilliseconds: 30 * 86_400_000, levels: new Map(), ...stored };
  return [...reading.diagnostics, ...lintPolicy({ policy, sources, outlines }, options, limits)];
}

/** What is found by compiling and running. */
const OUTCOMES: ReadonlySet<string> = new Set(['GUARDRAIL_VIOLATED', 'LIMIT_EXPANDED', 'POLICY_TEST_FAILED']);

function outcomes(set: PolicySet, limits: EngineLimits): readonly Found[] {
  const compiled = compilePolicy(set, limits);
  if (!compiled.ok) return compiled.diagnostics;
  const opened = openCompiled(compiled.snapshot);
  if (!opened.ok) throw new Error(opened.fault.message);
  const failed = runPolicyTests(set, opened.policy).failures.map((failure) => ({
    ...failure,
    code: 'POLICY_TEST_FAILED' as const,
  }));
  const violated = checkGuardrails(set, opened.policy).violations.map((one) => ({
    ...one,
    code: 'GUARDRAIL_VIOLATED' as const,
  }));
  return [...failed, ...violated].map(({ code, file, line }) => {
    const start = { line: line ?? 1, column: 1 };
    return {
      code,
      file: file ?? '',
      range: { start, end: { line: start.line + 1, column: 1 } },
      message: 'an outcome',
      help: 'see its lines',
    };
  });
}

/** What only a real folder can show; null if this machine or user cannot. */
const BUILT: ReadonlyMap<ProblemCode, (folder: string) => string | null> = new Map<
  ProblemCode,
  (folder: string) => string | null
>([
  [
    'FILE_NAME',
    (folder) => {
      writeFileSync(join(folder, 'a\nb.yaml'), 'grants: []\n');
      return 'a\nb.yaml';
    },
  ],
  ['FILE_SPECIAL', (folder) => (spawnSync('mkfifo', [join(folder, 'pipe.yaml')]).status === 0 ? 'pipe.yaml' : null)],
  [
    'FILE_SYMLINK',
    (folder) => {
      symlinkSync('/', join(folder, 'out.yaml'));
      return 'out.yaml';
    },
  ],
  [
    'FILE_UNREADABLE',
    (folder) => {
      const path = join(folder, 'secret.yaml');
      writeFileSync(path, 'grants: []\n');
      chmodSync(path, 0o000);
      return canRead(path) ? null : 'secret.yaml';
    },
  ],
]);

function canRead(path: string): boolean {
  try {
    accessSync(path, 4);
    return true;
  } catch {
    return false;
  }
}

interface Expected {
  readonly limits?: Readonly<Record<string, number>>;
  readonly diagnostics: readonly { readonly code: string; readonly file: string; readonly text: string }[];
}

describe('the folder of fixtures of each code', () => {
  const codes = readdirSync(BAD).sort();

  it('exists for every code', () => {
    const known: readonly string[] = [...codes, ...BUILT.keys()];
    expect(PROBLEM_CODES.filter((code) => !known.includes(code))).toEqual([]);
    expect(codes.length).toBeGreaterThan(70);
    expect(codes.filter((code) => !(PROBLEM_CODES as readonly string[]).includes(code))).toEqual([]);
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

describe('a folder that no checkout can hold', () => {
  test.each([...BUILT])('%s', async (code, build) => {
    const folder = await makeFolder({ 'policy.yaml': POLICY });
    const file = build(folder);
    if (file === null) {
      process.stderr.write(`${code} is not shown: this machine or user cannot make such a file\n`);
      return;
    }
    const { diagnostics } = await readPolicyFolder(folder);
    expect(diagnostics.map((one) => [one.code, one.file, typeof one.help])).toEqual([[code, file, 'string']]);
  });
});

describe('the page of each code', () => {
  const shown = PROBLEM_CODES.filter((code) => codePage(code).shows !== 'words');
  const folder = (code: ProblemCode, text: string): Record<string, string> =>
    codePage(code).shows === 'policy.yaml'
      ? { 'policy.yaml': text, 'roles.yaml': ROLES }
      : codePage(code).shows === 'alone'
        ? { 'policy.yaml': POLICY, 'example.yaml': text }
        : { 'policy.yaml': POLICY, 'roles.yaml': ROLES, 'example.yaml': text };
  const codesOf = (code: ProblemCode, text: string): readonly string[] =>
    found(code, readFolder(folder(code, text))).map((diagnostic) => diagnostic.code);

  it('has examples to run for most', () => {
    expect(shown.length).toBeGreaterThan(50);
  });

  test.each(shown)('%s: the wrong example yields it and the right one nothing', (code) => {
    const page = codePage(code);
    expect(codesOf(code, page.wrong)).toEqual([code]);
    expect(codesOf(code, page.right)).toEqual([]);
  });

  test.each(PROBLEM_CODES)('%s: is written in our manner', (code) => {
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

test('every mistake is reported with what to do about it', () => {
  const silent = readdirSync(BAD).filter((code) => {
    const expected = JSON.parse(readFileSync(join(BAD, code, '.expected.json'), 'utf8')) as Expected;
    const limits = { ...ENGINE_LIMITS, ...expected.limits };
    const reading = readPolicy(filesOf(join(BAD, code)), limits);
    return found(code, reading, limits).some(({ help }) => help === undefined);
  });
  expect(silent).toEqual([]);
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
