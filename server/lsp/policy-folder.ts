// A policy folder as an editor has it: what is on disk, and over it what is open and perhaps not saved.
import { dirname, join, relative, sep } from 'node:path';
import { stat } from 'node:fs/promises';
import {
  checkedDraft,
  checkGuardrails,
  costOfTests,
  type Diagnostic,
  lintPolicy,
  draftPolicy,
  ENGINE_LIMITS,
  type KnownSizes,
  type NamePlace,
  type PolicyReading,
  type PolicySet,
  readPolicy,
  rememberingReader,
  runPolicyTests,
  sortDiagnostics,
} from '../../engine/compiler.js';
import { type Instant, type Policy } from '../../engine/index.js';
import { partOf } from '../authoring/part-of-policy.js';
import { rememberingDisk } from '../policy/open/folder-files.js';
import { type FolderResult, readFolder } from '../policy/open/read-folder.js';

/** What is known of the files so far. */
export interface CheckedFolder {
  readonly diagnostics: readonly Diagnostic[];
  /** What the files say; null if a mistake is an error. */
  readonly set: PolicySet | null;
  /** By file. */
  readonly names: ReadonlyMap<string, readonly NamePlace[]>;
  readonly problems: readonly Problem[];
  /** How many expectations of tests a grant carries, by its id; null before any test ran. */
  readonly covered: ReadonlyMap<string, number> | null;
}

/** What is no mistake of the files, and still fails `check`: a test, or a guardrail. */
interface Problem {
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
/** Milliseconds for which the disk is taken to be what it was, unless an editor says otherwise. */
const DISK_FOR = 2000;

export interface FolderChecker {
  /**
   * Checks in steps, each of which knows more than the one before: what the files say, then tests, guardrails, lint, and the limits of a
   * compiled policy. What a later step found the last time stands until it is done again. `open` has the texts of open files by their path
   * in the folder.
   */
  readonly check: (open: ReadonlyMap<string, string>, at: Instant) => AsyncGenerator<CheckedFolder, void>;
  /** The disk has changed. */
  readonly forget: () => void;
}

export function makeFolderChecker(folder: string): FolderChecker {
  // A file that has not changed is not read again.
  const reader = rememberingReader();
  let files = rememberingDisk();
  /** The last version without mistakes, and its sizes. */
  let good: PolicySet | null = null;
  let sizes: KnownSizes | null = null;
  let disk: { readonly read: Promise<FolderResult>; readonly at: number } | null = null;
  let last = NOTHING;
  const readFiles = async (open: ReadonlyMap<string, string>, at: Instant): Promise<PolicyReading> => {
    if (disk === null || Math.abs(at - disk.at) > DISK_FOR) disk = { read: readFolder(folder, files), at };
    const onDisk = await disk.read;
    const { files: found, diagnostics, unread } = onDisk.kind === 'read' ? onDisk : NO_FILES;
    const known = new Map(found.map((file) => [file.path, file]));
    for (const [path, text] of open) known.set(path, { path, bytes: Buffer.from(text) });
    const missing = unread.filter((path) => !known.has(path)).map((path) => ({ path, bytes: null }));
    const read = readPolicy([...known.values(), ...missing], ENGINE_LIMITS, reader);
    // What the disk had is not what is open.
    const refused = diagnostics.filter(({ file }) => !open.has(file));
    return { ...read, diagnostics: [...refused, ...read.diagnostics] };
  };
  return {
    forget: () => {
      disk = null;
      files = rememberingDisk();
    },
    check: async function* (open, at) {
      const read = await readFiles(open, at);
      const names = read.names();
      const set = read.policy;
      if (set === null) {
        last = NOTHING;
        yield { ...foundBy(last), set, names, diagnostics: sortDiagnostics(read.diagnostics) };
        return;
      }
      const known = (found: Partial<Found>): CheckedFolder => {
        last = { ...last, ...found };
        const { unsettled, linted, past } = last;
        const diagnostics = sortDiagnostics([...read.diagnostics, ...unsettled, ...linted, ...past]);
        return { ...foundBy(last), set, names, diagnostics };
      };
      yield known({});
      const policy = draftPolicy(set, ENGINE_LIMITS, good);
      good = set;
      const tooLong = policy === null ? null : costOfTests(set, policy);
      const unsettled = tooLong === null ? [] : [tooLong];
      yield known({ ...(policy === null || tooLong !== null ? UNTESTED : tested(set, policy)), unsettled });
      yield known({ violations: policy === null || tooLong !== null ? [] : violated(set, policy) });
      yield known({ linted: lintPolicy({ ...read, policy: set }, { at, soonMilliseconds: SOON, levels: new Map() }) });
      const draft = checkedDraft(set, ENGINE_LIMITS, { before: sizes, policy });
      sizes = draft.ok ? draft.sizes : null;
      yield known({ past: draft.ok ? [] : draft.diagnostics });
    },
  };
}

const NO_FILES = { files: [], diagnostics: [], unread: [] } as const;

/** What the steps after the first have found. */
interface Found {
  readonly failures: readonly Problem[];
  readonly covered: CheckedFolder['covered'];
  readonly unsettled: readonly Diagnostic[];
  readonly violations: readonly Problem[];
  readonly linted: readonly Diagnostic[];
  readonly past: readonly Diagnostic[];
}

const UNTESTED: Pick<Found, 'failures' | 'covered'> = { failures: [], covered: null };
const NOTHING: Found = { ...UNTESTED, unsettled: [], violations: [], linted: [], past: [] };

function foundBy({ failures, violations, covered }: Found): Pick<CheckedFolder, 'problems' | 'covered'> {
  return { problems: [...failures, ...violations], covered };
}

/**
 * A policy that decides about the identities of its tests as the whole does. The decision table of a large one takes longer than all of its
 * tests, and nothing else here decides.
 */
function toTest(set: PolicySet, whole: Policy): Policy {
  const part = partOf(
    set,
    set.tests.flatMap(({ identities }) => identities),
  );
  return (part.grants.length * 2 > set.grants.length ? null : draftPolicy(part)) ?? whole;
}

function tested(set: PolicySet, whole: Policy): typeof UNTESTED {
  const shown = (answer: string | readonly string[]): string =>
    typeof answer === 'string' ? answer : answer.length === 0 ? 'nothing' : answer.join(', ');
  const report = runPolicyTests(set, toTest(set, whole));
  const covered = new Map<string, number>();
  for (const { id } of report.carriers.flat()) covered.set(id, (covered.get(id) ?? 0) + 1);
  const failures = report.failures.map(({ test, file, line, request, expected, actual }): Problem => ({
    ...{ file: file ?? 'policy.yaml', line: line ?? 1 },
    message: `the test "${test}" fails: ${request} is expected to be ${shown(expected)}, and is ${shown(actual)}`,
  }));
  return { failures, covered };
}

function violated(set: PolicySet, policy: Policy): readonly Problem[] {
  return checkGuardrails(set, policy).violations.map(
    ({ guardrail, requires, file, line, witnesses: [first] }): Problem => ({
      ...{ file: file ?? 'policy.yaml', line: line ?? 1 },
      message: `the guardrail ${guardrail} does not hold: ${requires}${first === undefined ? '' : `; ${first.identities.join(', ')} at ${first.namespace}`}`,
    }),
  );
}
