// Checks of a folder, in steps: its names, its tests, and all else. A step that takes long waits until nobody types, since nothing
// else is answered meanwhile. What the steps find is shown in the editor.
import type { Connection } from 'vscode-languageserver/node';
import type { PolicySet } from '../../engine/compiler.js';
import { instantOf, InvariantError } from '../../engine/index.js';
import type { CheckedFolder, FolderChecker } from './policy-folder.js';
import { publish, type ShownFolder } from './show.js';

/** A policy folder of which a file is open. */
export interface Folder extends ShownFolder {
  readonly checker: FolderChecker;
  run: Run | null;
  /** Milliseconds that the longest step of a check took. */
  slowest: number;
  /** The last change of a text, or the last request. */
  active: number;
  /** As it was when it had no mistakes: what is being typed often is one. */
  good: PolicySet | null;
  timer: NodeJS.Timeout | null;
}

/** A check of the texts as they are. */
export interface Run {
  /** Once the names are known. */
  readonly read: Promise<CheckedFolder>;
  /** Once their tests have run. */
  readonly tested: Promise<CheckedFolder>;
  /** What its steps have found so far. Called once the names are known. */
  readonly known: () => CheckedFolder;
}

/** A step that takes more milliseconds is long. */
const LONG = 100;
/** Milliseconds without a change after which a long step begins. */
const PAUSE = 600;

interface Checking {
  readonly connection: Connection;
  readonly folder: Folder;
  readonly open: ReadonlyMap<string, string>;
  readonly now: () => number;
  /** What was shown about grants has changed. */
  readonly refresh: () => void;
}

/** Whether a check has a long step. */
export function isSlow({ slowest }: Folder): boolean {
  return slowest > LONG;
}

/** A later change of the texts ends it after the step that it is in. */
export function startRun({ connection, folder, open, now, refresh }: Checking): Run {
  const steps = folder.checker.check(open, instantOf(now()));
  const isCurrent = (): boolean => folder.run === run;
  let last: CheckedFolder | null = null;
  let slowest = 0;
  /** False at the end, and once something newer is checked. */
  const step = async (): Promise<boolean> => {
    if (last !== null) {
      await quiet(folder, isCurrent);
      if (!isCurrent()) return false;
    }
    const began = performance.now();
    const { done, value } = await steps.next();
    slowest = Math.max(slowest, performance.now() - began);
    folder.slowest = Math.max(folder.slowest, slowest);
    if (done === true) return false;
    last = value;
    folder.good = value.set ?? folder.good;
    // Where all steps are short, what they found is shown at once.
    if (isCurrent() && isSlow(folder)) await publish(connection, folder, value);
    return true;
  };
  const known = (): CheckedFolder => {
    if (last === null) throw new InvariantError('the first step always answers');
    return last;
  };
  const read = step().then(known);
  const tested = read.then(async ({ covered }) => {
    await step();
    if (isSlow(folder) && known().covered !== covered) refresh();
    return known();
  });
  const rest = async (): Promise<void> => {
    await tested;
    while (await step());
    if (!isCurrent()) return;
    folder.slowest = slowest;
    if (slowest <= LONG) await publish(connection, folder, known());
  };
  rest().catch((error: unknown) => {
    connection.console.error(`the policy could not be checked: ${String(error)}`);
  });
  const run: Run = { read, tested, known };
  return run;
}

/** Lets waiting requests be answered. A long step begins only after a while without typing or requests. */
async function quiet(folder: Folder, isCurrent: () => boolean): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  while (isCurrent() && isSlow(folder)) {
    const wait = folder.active + PAUSE - performance.now();
    if (wait <= 0) return;
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}
