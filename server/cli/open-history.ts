// The history that `<revision range>:<folder>` names, in the git checkout that the user stands in: for verbs that go
// through commits. Progress shows on a terminal; Ctrl-C leaves what was computed for the next run.
import { homedir } from 'node:os';
import { isAbsolute, join, relative } from 'node:path';
import { formatInstant, groupDigits } from '../../engine/index.js';
import { HISTORY_LIMITS } from '../limits/policy.js';
import { type History, type HistoryProgress, openHistory, type HistoryRequest } from '../policy/history/history.js';
import { keepIn, keepNothing, type KeptAnswers } from '../policy/history/kept-answers.js';
import { type CommitLine, commitLine } from '../policy/sources/git-log.js';
import { openObjects } from '../policy/sources/git-objects.js';
import { commitNamed, type InCheckout, inCheckout, noRevision, revisionPathOf } from '../policy/sources/revision.js';
import { programVersion } from '../lib/version.js';
import { CliFailure, EXIT, usage } from './exit.js';
import { type CliIo, pathOf, write } from './io.js';
import { escapeText } from './render/escape.js';
import { type Progress, startProgress } from './render/terminal.js';
import { onInterrupt } from './signals.js';

export interface HistoryFlags {
  /** A folder; false for `--no-cache`. */
  readonly cache?: string | boolean;
}

export interface OpenedHistory extends History {
  readonly line: CommitLine;
  /** To be ended before anything is written. */
  readonly progress: Progress;
  /** Whether the user has interrupted it, so that it ends before its end. */
  readonly isCut: () => boolean;
}

interface Range {
  readonly after: string | null;
  readonly newest: string;
  readonly path: string;
}

/** `main:policies`, `v1..main:policies`, or `policies`, which is that folder at `HEAD`. Throws `CliFailure`. */
function readRange(text: string, cwd: string): Range {
  const named = revisionPathOf(text);
  if (named === null)
    return { after: null, newest: 'HEAD', path: `./${isAbsolute(text) ? relative(cwd, text) : text}` };
  const [first = '', second, ...others] = named.revision.split('..');
  const help = 'write `<after>..<newest>:<folder>`, as in `v1..main:policies`, or `<newest>:<folder>`';
  if (others.length > 0 || second?.startsWith('.') === true)
    throw usage(`\`${named.revision}\` is not a range of revisions`, help);
  if (second === undefined) return { after: null, newest: first, path: named.path };
  if (first === '') throw usage(`\`${named.revision}\` does not say after which revision the history begins`, help);
  return { after: first, newest: second === '' ? 'HEAD' : second, path: named.path };
}

export interface UseHistory {
  /** As the user wrote it. */
  readonly range: string;
  readonly flags: HistoryFlags;
}

/** Uses the history, then removes what it took. Throws `CliFailure`. */
export async function withHistory(
  io: CliIo,
  { range: shown, flags }: UseHistory,
  use: (history: OpenedHistory) => Promise<void>,
): Promise<void> {
  const range = readRange(shown, io.cwd);
  const kept = keptFor(io, flags);
  const interrupt = onInterrupt();
  const progress = startProgress(io);
  try {
    const done = await inCheckout(range.path, { cwd: io.cwd, programs: io.env['PATH'] ?? '' }, (checkout) =>
      throughCommits({ checkout, range, kept, progress, signal: interrupt.signal }, use),
    );
    if (done !== 'done') {
      const { code, message } = done;
      const help =
        'name `<revision range>:<folder>` of the git checkout that you are in, as in `main:policies` or `v1..main:policies`';
      const status = code === 'source.forged' ? EXIT.integrity : EXIT.usage;
      throw new CliFailure(status, code, `\`${shown}\` cannot be used: ${message}`, { help });
    }
    if (interrupt.signal.aborted) await write(io.stderr, INTERRUPTED);
  } finally {
    progress.done();
    await kept.close();
    interrupt.end();
  }
}

const INTERRUPTED = 'interrupted: the list above is not complete; the next run continues from what was computed\n';

interface Through extends Pick<HistoryRequest, 'kept' | 'signal'> {
  readonly checkout: InCheckout;
  readonly range: Range;
  readonly progress: Progress;
}

async function throughCommits(
  { checkout: { run, top, inside }, range, kept, progress, signal }: Through,
  use: (history: OpenedHistory) => Promise<void>,
): Promise<'done' | ReturnType<typeof noRevision>> {
  const newest = await commitNamed(run, range.newest);
  if (newest === null) return noRevision(top, range.newest);
  const after = range.after === null ? null : await commitNamed(run, range.after);
  if (range.after !== null && after === null) return noRevision(top, range.after);
  const objects = openObjects(run, newest, HISTORY_LIMITS.time);
  try {
    const onCommit = (read: number): void => {
      progress.update(`reading commits: ${groupDigits(read)}`);
    };
    const line = await commitLine(objects, { newest, after, onCommit });
    const onProgress = (at: HistoryProgress): void => {
      progress.update(progressText(at, line.commits.length));
    };
    const history = openHistory({ objects, line, inside, kept, signal, onProgress });
    await use({ ...history, line, progress, isCut: () => signal.aborted });
    return 'done';
  } finally {
    objects.close();
  }
}

function progressText({ commits, compiled, commit }: HistoryProgress, all: number): string {
  const of = `${groupDigits(commits)} of ${groupDigits(all)}`;
  if (commit === null) return `finding the folder: commit ${of}`;
  return `commit ${of}, of ${formatInstant(commit.time)}, ${groupDigits(compiled)} compiled`;
}

/** Below the folder that the user or the system names for caches. */
function keptFor(io: CliIo, { cache }: HistoryFlags): KeptAnswers {
  if (cache === false) return keepNothing();
  const { XDG_CACHE_HOME: caches = '', HOME: home = homedir() } = io.env;
  const usual = join(caches.startsWith('/') ? caches : join(home, '.cache'), 'bailiwick');
  const folder = typeof cache === 'string' ? pathOf(io, cache) : usual;
  return keepIn({
    folder,
    version: programVersion(),
    onFailure: (code) => {
      const help = 'name another folder with --cache, or --no-cache';
      io.stderr.write(
        `warning: nothing can be kept in ${escapeText(folder)} (${code}), so the next run computes all of it again\n  help: ${help}\n`,
      );
    },
  });
}
