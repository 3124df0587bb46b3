// The thread that reads the logs of a folder for admins. It takes one question, sends one answer, and ends.
import { parentPort } from 'node:worker_threads';
import type { LogQuestion, NewestFound } from './read-in-thread.js';
import { AUDIT_LIMITS } from '../limits/logs.js';
import { type FoundLine, searchLogs } from './search.js';
import { type VerifyReport, verifyLogs } from './verify.js';

async function answer(question: LogQuestion): Promise<NewestFound | VerifyReport> {
  if (question.kind === 'verify') return verifyLogs(question.folder, { known: question.known });
  const { folder, search, most } = question;
  let newest: readonly Shown[] = [];
  /** The time of the newest event that did not fit. None before it is shown, so that no gap is. */
  let after = '';
  const report = await searchLogs(folder, search, (found) => {
    const more = found.map(shownOf);
    // Several gateways may write into one folder, each its own log.
    const all = [...newest, ...more].filter(({ time }) => time > after).sort((a, b) => (a.time < b.time ? 1 : -1));
    const fits = countThatFits(all);
    after = all[fits]?.time ?? after;
    newest = all.slice(0, Math.min(fits, most));
    return Promise.resolve();
  });
  return { ...report, newest: `[${newest.map(({ text }) => text).join()}]` };
}

interface Shown {
  readonly time: string;
  /** JSON, which takes much less memory than the event. */
  readonly text: string;
}

function shownOf({ event, fault, shown }: FoundLine): Shown {
  const more = { ...(shown === undefined ? {} : { shown }), ...(fault === null ? {} : { fault }) };
  return { time: event.time, text: JSON.stringify({ ...event, ...more }) };
}

/** One fits always: no line is longer than all may be. */
function countThatFits(newestFirst: readonly Shown[]): number {
  let left = AUDIT_LIMITS.shownCharacters;
  const last = newestFirst.findIndex(({ text }) => (left -= text.length) < 0);
  return last < 0 ? newestFirst.length : last;
}

parentPort?.once('message', (question: LogQuestion) => {
  // A failure ends the thread, which its owner hears of.
  void answer(question).then((answered) => parentPort?.postMessage(answered));
});
