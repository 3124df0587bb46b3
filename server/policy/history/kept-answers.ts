// Answers about trees of git, kept in files: a tree never changes, so neither does what was computed of it. An answer that
// is damaged, cut off, or stands under another name is as good as none, and is computed again.
import { createHash, randomBytes } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolder } from '../../lib/whole-file.js';
import { HISTORY_LIMITS } from '../../limits/policy.js';
import { codeOf } from '../policy-fault.js';
import type { Changes, CommitOutcome, People } from './outcome.js';
import { trimKept } from './trim-kept.js';

interface Kept<T> {
  /** Names are of digits, letters and dashes. Null if nothing intact is kept under this one. */
  readonly get: (name: string) => Promise<T | null>;
  readonly put: (name: string, answer: T) => Promise<void>;
}

export interface KeptAnswers {
  readonly trees: Kept<CommitOutcome>;
  readonly changes: Kept<Changes>;
  readonly people: Kept<People>;
  /** Removes what is too much. */
  readonly close: () => Promise<void>;
}

/** Changes with every change of what is kept. */
const FORMAT = 1;

export interface KeepIn {
  /** An absolute path. */
  readonly folder: string;
  /** Of this program: another version may compile a tree to something else. */
  readonly version: string;
  /** Of all answers together, of all versions. */
  readonly maxBytes?: number;
  /** Called once if nothing can be kept; answers are then only computed. */
  readonly onFailure: (code: string) => void;
}

export function keepIn({ folder, version, maxBytes = HISTORY_LIMITS.allKeptBytes, onFailure }: KeepIn): KeptAnswers {
  const all = join(folder, 'history');
  const root = join(all, `${String(FORMAT)}-${version}`);
  let [isFailing, hasWritten] = [false, false];
  const answers = answersOf({
    read: (key) => readFile(placeOf(root, key), 'utf8').catch(() => null),
    write: async (key, text) => {
      if (isFailing || text.length > HISTORY_LIMITS.keptBytes) return;
      const place = placeOf(root, key);
      const draft = `${place}.${randomBytes(6).toString('hex')}`;
      try {
        await makeFolder(dirname(place), 0o700);
        // Without a sync: after a crash, what is not intact is computed again.
        await writeFile(draft, text, { mode: 0o600, flag: 'wx' });
        await rename(draft, place);
        hasWritten = true;
      } catch (error) {
        isFailing = true;
        await rm(draft, { force: true }).catch(() => undefined);
        onFailure(codeOf(error));
      }
    },
  });
  return { ...answers, close: async () => (hasWritten ? trimKept(all, maxBytes) : undefined) };
}

/** Many files of one folder are slow in some file systems. */
function placeOf(root: string, key: string): string {
  return join(root, key.slice(-2), `${key}.json`);
}

/** Keeps answers about trees for this run, and no changes: those are computed once in any case. */
export function keepNothing(): KeptAnswers {
  const texts = new Map<string, string>();
  const answers = answersOf({
    read: (key) => Promise.resolve(texts.get(key) ?? null),
    write: (key, text) => {
      if (!key.startsWith('changes-')) texts.set(key, text);
      return Promise.resolve();
    },
  });
  return { ...answers, close: () => Promise.resolve() };
}

interface Texts {
  readonly read: (key: string) => Promise<string | null>;
  readonly write: (key: string, text: string) => Promise<void>;
}

function answersOf({ read, write }: Texts): Omit<KeptAnswers, 'close'> {
  const answers = <T extends object>(kind: string, members: readonly (string & keyof T)[]): Kept<T> => ({
    get: async (name) => {
      const key = `${kind}-${name}`;
      const text = await read(key);
      const answer = text === null ? null : answerIn(text, key);
      return hasMembers<T>(answer, members) ? answer : null;
    },
    put: (name, answer) => write(`${kind}-${name}`, keptText(`${kind}-${name}`, answer)),
  });
  return {
    trees: answers<CommitOutcome>('tree', ['kind']),
    changes: answers<Changes>('changes', ['gained', 'lost', 'exclusive']),
    people: answers<People>('people', []),
  };
}

function keptText(key: string, answer: object): string {
  const json = JSON.stringify(answer);
  return `${digestOf(key, json)}\n${json}\n`;
}

function digestOf(key: string, json: string): string {
  return createHash('sha256').update(`${key}\n${json}\n`).digest('hex');
}

/** Null unless the text is exactly what was written under this key. */
function answerIn(text: string, key: string): unknown {
  const end = text.indexOf('\n');
  const json = text.slice(end + 1, -1);
  if (end < 0 || !text.endsWith('\n') || text.slice(0, end) !== digestOf(key, json)) return null;
  return JSON.parse(json);
}

/** The digest says that this program wrote the answer, so this need not look at all of it. */
function hasMembers<T extends object>(value: unknown, members: readonly (string & keyof T)[]): value is T {
  return typeof value === 'object' && value !== null && members.every((name) => name in value);
}
