// Answers about trees of git, kept in files: a tree never changes, so neither does what was computed of it. An answer that
// is damaged, cut off, or stands under another name is as good as none, and is computed again.
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { HISTORY_LIMITS } from '../../limits/policy.js';
import { codeOf } from '../policy-fault.js';

export interface KeptAnswers {
  /** The answer that was kept under the key, or null. */
  readonly get: <T extends object>(key: string) => Promise<T | null>;
  readonly put: (key: string, answer: object) => Promise<void>;
}

/** Changes with every change of what is kept. */
const FORMAT = 1;

export interface KeepIn {
  /** An absolute path. */
  readonly folder: string;
  /** Of this program: another version may compile a tree to something else. */
  readonly version: string;
  /** Called once if nothing can be kept; answers are then only computed. */
  readonly onFailure: (code: string) => void;
}

/** `Key` is part of a file's name: letters, digits and dashes. */
export function keepIn({ folder, version, onFailure }: KeepIn): KeptAnswers {
  const root = join(folder, 'history', `${String(FORMAT)}-${version}`);
  const placeOf = (key: string): string => join(root, key.slice(-2), `${key}.json`);
  let isFailing = false;
  return {
    get: async <T extends object>(key: string) => {
      const text = await readFile(placeOf(key), 'utf8').catch(() => null);
      return text === null ? null : answerIn<T>(text, key);
    },
    put: async (key, answer) => {
      if (isFailing) return;
      const text = keptText(key, answer);
      if (text.length > HISTORY_LIMITS.keptBytes) return;
      const place = placeOf(key);
      const draft = `${place}.${randomBytes(6).toString('hex')}`;
      try {
        await mkdir(dirname(place), { recursive: true, mode: 0o700 });
        // Without a sync: after a crash, what is not intact is computed again.
        await writeFile(draft, text, { mode: 0o600, flag: 'wx' });
        await rename(draft, place);
      } catch (error) {
        isFailing = true;
        await rm(draft, { force: true }).catch(() => undefined);
        onFailure(codeOf(error));
      }
    },
  };
}

/** Keeps answers for this run only. Changes are computed once in any case. */
export function keepNothing(): KeptAnswers {
  const answers = new Map<string, string>();
  return {
    get: <T extends object>(key: string) => {
      const text = answers.get(key);
      return Promise.resolve(text === undefined ? null : answerIn<T>(text, key));
    },
    put: (key, answer) => {
      if (!key.startsWith('pair-')) answers.set(key, keptText(key, answer));
      return Promise.resolve();
    },
  };
}

function keptText(key: string, answer: object): string {
  const json = JSON.stringify(answer);
  return `${digestOf(key, json)}\n${json}\n`;
}

function digestOf(key: string, json: string): string {
  return createHash('sha256').update(`${key}\n${json}\n`).digest('hex');
}

function answerIn<T extends object>(text: string, key: string): T | null {
  const end = text.indexOf('\n');
  const json = text.slice(end + 1, -1);
  if (end < 0 || !text.endsWith('\n') || text.slice(0, end) !== digestOf(key, json)) return null;
  const answer: unknown = JSON.parse(json);
  return isAnswer<T>(answer) ? answer : null;
}

/** The digest says that this version of the program wrote it under this key, so it has the type that belongs to the key. */
function isAnswer<T extends object>(answer: unknown): answer is T {
  return typeof answer === 'object' && answer !== null;
}
