// The shape of the repository: who imports whom, no cycles, sizes, casts, versions, words. Everything is read from the
// sources and from the compiler's output, which has no type-only imports, so each import there is a value import.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import ts from 'typescript';

interface Row {
  readonly from: string;
  readonly may: readonly string[];
  readonly packages?: readonly string[];
  readonly types?: readonly string[];
}

interface Architecture {
  readonly common: readonly string[];
  readonly imports: readonly Row[];
  readonly importedBy: Readonly<Record<string, readonly string[]>>;
  readonly typeCircles: readonly string[];
  readonly loadsLate: Readonly<Record<string, readonly string[]>>;
  readonly casts: Readonly<Record<string, number>>;
}

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

interface Lockfile {
  readonly packages: Readonly<
    Record<
      string,
      {
        readonly resolved?: string;
        readonly integrity?: string;
        readonly version?: string;
        readonly hasInstallScript?: boolean;
        readonly dev?: boolean;
      }
    >
  >;
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const MAX_LINES = 400;
const MAX_BYTES = 2 * 1024 * 1024;

const read = (path: string): string => readFileSync(ROOT + path, 'utf8');
const RULES = JSON.parse(read('test/architecture.json')) as Architecture;

/** Paths of all files below, from the root, with `/`. */
function filesBelow(folder: string, skip: ReadonlySet<string> = new Set()): readonly string[] {
  return readdirSync(ROOT + folder, { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (skip.has(entry.name)) return [];
    if (entry.isDirectory()) return filesBelow(path, skip);
    return entry.isFile() ? [path] : [];
  });
}

const SOURCES = ['engine', 'server', 'test']
  .flatMap((folder) => filesBelow(folder))
  .filter((path) => path.endsWith('.ts'));
const MODULES = SOURCES.filter((path) => !path.endsWith('.d.ts'));
const REPOSITORY = filesBelow('', new Set(['node_modules', 'dist', 'coverage', '.git', '.bailiwick', '.run']));

const emitted = (path: string): string => `dist/${path.replace(/\.ts$/, '.js')}`;

/** What a file imports: paths from the root for our own files, names for packages. */
function importsOf(path: string, text: string): ReadonlySet<string> {
  const names = ts.preProcessFile(text, true, true).importedFiles.map((imported) => imported.fileName);
  return new Set(names.map((name) => targetOf(path, name)));
}

function targetOf(path: string, name: string): string {
  return name.startsWith('.') ? posix.join(posix.dirname(path), name).replace(/\.js$/, '.ts') : name;
}

const isLocal = (target: string): boolean => target.endsWith('.ts');

function matches(target: string, pattern: string): boolean {
  if (pattern === '*') return true;
  if (pattern === 'common') return RULES.common.some((one) => matches(target, one));
  if (pattern.endsWith('/') || pattern.endsWith(':')) return target.startsWith(pattern);
  return target === pattern || (!isLocal(target) && target.startsWith(`${pattern}/`));
}

function mayImport(row: Row, target: string): boolean {
  if (isLocal(target) && row.from.endsWith('/') && target.startsWith(row.from)) return true;
  return (isLocal(target) ? row.may : (row.packages ?? [])).some((pattern) => matches(target, pattern));
}

const values = new Map(MODULES.map((path) => [path, importsOf(path, read(emitted(path)))]));

describe('imports', () => {
  it('sees the repository', () => {
    const count = (folder: string): number => MODULES.filter((path) => path.startsWith(folder)).length;
    expect(count('engine/')).toBeGreaterThanOrEqual(30);
    expect(count('server/')).toBeGreaterThanOrEqual(50);
    expect(count('test/')).toBeGreaterThanOrEqual(25);
    expect([...values.values()].reduce((sum, targets) => sum + targets.size, 0)).toBeGreaterThan(MODULES.length);
  });

  it('go only where the table lets them', () => {
    const refused = MODULES.flatMap((path) => {
      const row = RULES.imports.find((candidate) => path.startsWith(candidate.from));
      if (row === undefined) return [`${path} is in no row of the table`];
      const targets = [...importsOf(path, read(path))].filter((target) => {
        const asType =
          values.get(path)?.has(target) !== true && (row.types ?? []).some((pattern) => matches(target, pattern));
        return !asType && !mayImport(row, target);
      });
      return targets.map((target) => `${path} imports ${target}`);
    });
    expect(refused).toEqual([]);
  });

  it('of some files come only from where they are wired', () => {
    const refused = Object.entries(RULES.importedBy).flatMap(([target, allowed]) =>
      MODULES.filter(
        (path) => values.get(path)?.has(target) === true && !allowed.some((from) => path.startsWith(from)),
      ).map((path) => `${path} imports ${target}`),
    );
    expect(refused).toEqual([]);
  });

  it('of some files load what only part of their work needs when that begins', () => {
    const loaded = Object.entries(RULES.loadsLate).flatMap(([path, late]) => {
      const atOnce = loadedAtOnce(path);
      return late.filter((target) => atOnce.has(target)).map((target) => `${path} loads ${target}`);
    });
    expect(loaded).toEqual([]);
  });

  it('lead to files that exist, and never in a circle', () => {
    expect(
      MODULES.flatMap((path) => [...(values.get(path) ?? [])].filter((to) => isLocal(to) && !values.has(to))),
    ).toEqual([]);
    expect(cycles()).toEqual([]);
  });

  it('of types make no more circles than there are', () => {
    const imported = new Map(MODULES.map((path) => [path, importsOf(path, read(path))]));
    const reaches = (path: string, goal: string, seen = new Set<string>()): boolean =>
      [...(imported.get(path) ?? [])].some((target) => {
        if (target === goal) return true;
        if (seen.has(target)) return false;
        seen.add(target);
        return reaches(target, goal, seen);
      });
    const circular = MODULES.filter((path) => !path.startsWith('test/') && reaches(path, path));
    expect(circular.sort()).toEqual([...RULES.typeCircles].sort());
  });
});

/** All that is loaded before a file runs: what `import()` names is not. */
function loadedAtOnce(path: string, loaded = new Set<string>()): ReadonlySet<string> {
  if (loaded.has(path)) return loaded;
  loaded.add(path);
  for (const statement of ts.createSourceFile(path, read(emitted(path)), ts.ScriptTarget.Latest).statements) {
    if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) continue;
    const { moduleSpecifier: from } = statement;
    const target = from !== undefined && ts.isStringLiteral(from) ? targetOf(path, from.text) : '';
    if (isLocal(target)) loadedAtOnce(target, loaded);
  }
  return loaded;
}

/** Every cycle of value imports that a depth-first walk meets. */
function cycles(): readonly string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const walk = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start >= 0) found.push([...trail.slice(start), path].join(' -> '));
    if (start >= 0 || done.has(path)) return;
    for (const target of values.get(path) ?? []) walk(target, [...trail, path]);
    done.add(path);
  };
  for (const path of MODULES) walk(path, []);
  return found;
}

describe('sources', () => {
  it(`have at most ${MAX_LINES} lines that are neither blank nor comment`, () => {
    const long = MODULES.filter((path) => codeLines(read(path)) > MAX_LINES);
    expect(long).toEqual([]);
  });

  it('hold no `any`, and a suppression says why', () => {
    const faults = MODULES.flatMap((path) => {
      const text = read(path);
      const anys = countNodes(parse(path, text), (node) => node.kind === ts.SyntaxKind.AnyKeyword);
      const bare = text
        .split('\n')
        .filter((line) => /eslint-disable(?!.* -- \S)|@ts-(ignore|nocheck)/.test(line) && !line.includes('/@ts'));
      return [...(anys > 0 ? [`${path}: any`] : []), ...bare.map((line) => `${path}: ${line.trim()}`)];
    });
    expect(faults.filter((fault) => !fault.startsWith('test/architecture.test.ts'))).toEqual([]);
  });

  it('cast no more than they did: lower the number in architecture.json with the count', () => {
    const count = (folder: string): number =>
      MODULES.filter((path) => path.startsWith(`${folder}/`)).reduce((sum, path) => sum + casts(path), 0);
    expect({ engine: count('engine'), server: count('server') }).toEqual(RULES.casts);
  });

  it('are what dist/ was compiled from: after removing a file, `make clean`', () => {
    const compiled = ['dist/engine', 'dist/server', 'dist/test'].flatMap((folder) => filesBelow(folder));
    // What is bundled is made of the rest, and its folder is cleared by server/cli/bundle.mjs.
    const orphans = compiled
      .filter((path) => path.endsWith('.js') && !path.startsWith('dist/server/bin/'))
      .filter((path) => !existsSync(ROOT + path.slice('dist/'.length).replace(/\.js$/, '.ts')));
    expect(orphans).toEqual([]);
  });
});

function codeLines(text: string): number {
  return text.split('\n').filter((line) => !/^\s*($|\/\/|\/\*|\*)/.test(line)).length;
}

function parse(path: string, text: string): ts.SourceFile {
  return ts.createSourceFile(path, text, ts.ScriptTarget.Latest);
}

function countNodes(node: ts.Node, wanted: (node: ts.Node) => boolean): number {
  let count = wanted(node) ? 1 : 0;
  ts.forEachChild(node, (child) => {
    count += countNodes(child, wanted);
  });
  return count;
}

/** `as` and `!`, but not `as const`; a module that declares a brand is where that brand's casts belong. */
function casts(path: string): number {
  const text = read(path);
  if (/^(?:declare )?const \w+: unique symbol/m.test(text)) return 0;
  return countNodes(parse(path, text), (node) => {
    if (ts.isNonNullExpression(node)) return true;
    return (
      ts.isAsExpression(node) &&
      !(ts.isTypeReferenceNode(node.type) && node.type.getText(parse(path, text)) === 'const')
    );
  });
}

describe('the repository', () => {
  const manifest = JSON.parse(read('package.json')) as Manifest;
  const lock = JSON.parse(read('package-lock.json')) as Lockfile;

  it('names exact versions', () => {
    const versions = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
    expect(versions.length).toBeGreaterThan(10);
    expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version))).toEqual([]);
  });

  it('locks every package by its hash and none by an address', () => {
    const locked = Object.entries(lock.packages).filter(([path]) => path !== '');
    expect(locked.length).toBeGreaterThan(100);
    expect(locked.filter(([, entry]) => entry.resolved !== undefined || entry.integrity === undefined)).toEqual([]);
  });

  it.each([
    ['knex', '2.4.0'],
    ['ajv', '8.18.0'],
    ['yaml', '2.8.3'],
    ['path-to-regexp', '8.4.0'],
    ['body-parser', '2.2.1'],
    ['qs', '6.16.0'],
    ['express', '5.0.0'],
  ])('O12 serves requests with %s from %s on alone', (name, floor) => {
    const numbers = (version = '0'): number =>
      version.split('.').reduce((sum, part) => sum * 10_000 + Number.parseInt(part, 10), 0);
    const served = Object.entries(lock.packages).filter(
      ([path, { dev }]) => dev !== true && (path === `node_modules/${name}` || path.endsWith(`/node_modules/${name}`)),
    );
    expect(served).not.toEqual([]);
    expect(served.filter(([, { version }]) => numbers(version) < numbers(floor))).toEqual([]);
  });

  it('O12 runs no script of a package that is installed', () => {
    expect(read('.npmrc')).toMatch(/^ignore-scripts=true$/m);
    const served = Object.entries(lock.packages).filter(([, { dev }]) => dev !== true);
    expect(served.filter(([, { hasInstallScript }]) => hasInstallScript === true)).toEqual([]);
  });

  it('speaks of no machine but the one it runs on, and leaves nothing for later', () => {
    const machine = /(?<![\w.~-])\/(?:home|Users|work|farm|root)\/[a-z]/;
    const later = /\b(?:TO[D]O|FIX[M]E|X[X]X)\b|not implemente[d]/;
    const texts = REPOSITORY.filter((path) => /\.(?:ts|js|mjs|json|md|ya?ml)$|^Makefile$|^\.ci\//.test(path));
    expect(texts.length).toBeGreaterThan(100);
    const faults = texts.flatMap((path) =>
      read(path)
        .split('\n')
        .flatMap((line, index) =>
          machine.test(line) || later.test(line) ? [`${path}:${index + 1}: ${line.trim().slice(0, 80)}`] : [],
        ),
    );
    expect(faults).toEqual([]);
  });

  it('holds no file over 2 MiB', () => {
    expect(REPOSITORY.filter((path) => readFileSync(ROOT + path).length > MAX_BYTES)).toEqual([]);
  });
});
