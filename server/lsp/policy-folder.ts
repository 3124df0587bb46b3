// A policy folder as an editor has it: what is on disk, and over it what is open and perhaps not saved.
import { dirname, join, relative, sep } from 'node:path';
import { stat } from 'node:fs/promises';
import {
  checkGuardrails,
  compilePolicy,
  costOfTests,
  type Diagnostic,
  lintPolicy,
  type NamePlace,
  namesInFile,
  openCompiled,
  type PolicySet,
  readPolicy,
  runPolicyTests,
  sortDiagnostics,
  type SourceFile,
} from '../../engine/compiler.js';
import { type Instant, type Policy } from '../../engine/index.js';
import { readFolder } from '../policy/open/read-folder.js';

/** The files that were checked, and what was found. */
export interface CheckedFolder {
  readonly files: readonly SourceFile[];
  readonly diagnostics: readonly Diagnostic[];
  /** Null if a mistake is an error. */
  readonly opened: { readonly set: PolicySet; readonly policy: Policy } | null;
  /** By file. */
  readonly names: ReadonlyMap<string, readonly NamePlace[]>;
  readonly problems: readonly Problem[];
  /** How many expectations of tests a grant carries, by its id. */
  readonly covered: ReadonlyMap<string, number>;
}

/** What is no mistake of the files, and still fails `check`: a test, or a guardrail. */
export interface Problem {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

/** The folder of the policy that a file belongs to; null if there is none. */
export async function folderOfFile(path: string): Promise<string | null> {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    const head = await stat(join(folder, 'policy.yaml')).catch(() => null);
    if (head?.isFile() === true) return folder;
    if (dirname(folder) === folder) return null;
  }
}

export function pathIn(folder: string, path: string): string {
  return relative(folder, path).split(sep).join('/');
}

const SOON = 30 * 24 * 60 * 60 * 1000;

export interface FolderChecker {
  /** `open` has the texts of open files by their path in the folder. */
  readonly check: (open: ReadonlyMap<string, string>, at: Instant) => Promise<CheckedFolder>;
}

export function makeFolderChecker(folder: string): FolderChecker {
  const known = new Map<string, { readonly bytes: Uint8Array; readonly names: readonly NamePlace[] }>();
  const namesFor = (file: SourceFile): readonly NamePlace[] => {
    const before = known.get(file.path);
    if (before !== undefined && Buffer.compare(before.bytes, file.bytes) === 0) return before.names;
    const names = namesInFile(file);
    known.set(file.path, { bytes: file.bytes, names });
    return names;
  };
  return {
    check: async (open, at) => {
      const onDisk = await readFolder(folder);
      const disk = onDisk.kind === 'read' ? onDisk : { files: [], diagnostics: [], unread: [] };
      const texts = new Map(disk.files.map((file) => [file.path, file]));
      for (const [path, text] of open) texts.set(path, { path, bytes: Buffer.from(text) });
      const files = [...texts.values()];
      const read = readPolicy([
        ...files,
        ...disk.unread.filter((path) => !texts.has(path)).map((path) => ({ path, bytes: null })),
      ]);
      // What the disk had is not what is open.
      const unread = disk.diagnostics.filter(({ file }) => !open.has(file));
      const names = new Map(files.map((file) => [file.path, namesFor(file)]));
      const found = [...unread, ...read.diagnostics];
      if (read.policy === null) return { files, diagnostics: sortDiagnostics(found), opened: null, names, ...UNTESTED };
      const set = read.policy;
      const linted = lintPolicy({ ...read, policy: set }, { at, soonMilliseconds: SOON, levels: new Map() });
      const compiled = compilePolicy(set);
      if (!compiled.ok)
        return {
          files,
          diagnostics: sortDiagnostics([...found, ...linted, ...compiled.diagnostics]),
          opened: null,
          names,
          ...UNTESTED,
        };
      const loaded = openCompiled(compiled.snapshot);
      const policy = loaded.ok ? loaded.policy : null;
      const tooLong = policy === null ? null : costOfTests(set, policy);
      return {
        files,
        diagnostics: sortDiagnostics([...found, ...linted, ...(tooLong === null ? [] : [tooLong])]),
        opened: policy === null ? null : { set, policy },
        names,
        ...(policy === null || tooLong !== null ? UNTESTED : tested(set, policy)),
      };
    },
  };
}

const UNTESTED: Pick<CheckedFolder, 'problems' | 'covered'> = { problems: [], covered: new Map() };

function tested(set: PolicySet, policy: Policy): typeof UNTESTED {
  const shown = (answer: string | readonly string[]): string =>
    typeof answer === 'string' ? answer : answer.length === 0 ? 'nothing' : answer.join(', ');
  const report = runPolicyTests(set, policy, { tests: set.tests });
  const covered = new Map<string, number>();
  for (const { id } of report.carriers.flat()) covered.set(id, (covered.get(id) ?? 0) + 1);
  const failures = report.failures.map(({ test, file, line, request, expected, actual }): Problem => ({
    ...{ file: file ?? 'policy.yaml', line: line ?? 1 },
    message: `the test "${test}" fails: ${request} is expected to be ${shown(expected)}, and is ${shown(actual)}`,
  }));
  const violations = checkGuardrails(set, policy).violations.map(
    ({ guardrail, requires, file, line, witnesses: [first] }): Problem => ({
      ...{ file: file ?? 'policy.yaml', line: line ?? 1 },
      message: `the guardrail ${guardrail} does not hold: ${requires}${first === undefined ? '' : `; ${first.identities.join(', ')} at ${first.namespace}`}`,
    }),
  );
  return { problems: [...failures, ...violations], covered };
}
