// The thread that reads the logs of a folder for admins. It takes one question, sends one answer, and ends.
import { parentPort } from 'node:worker_threads';
import type { LogQuestion, NewestFound } from './read-in-thread.js';
import { searchLogs } from './search.js';
import { type VerifyReport, verifyLogs } from './verify.js';

async function answer(question: LogQuestion): Promise<NewestFound | VerifyReport> {
  if (question.kind === 'verify') return verifyLogs(question.folder, { known: question.known });
  const { folder, search, most } = question;
  let newest: NewestFound['newest'] = [];
  const report = await searchLogs(folder, search, (found) => {
    const more = found.map(({ event, fault, shown }) => ({ event, fault, ...(shown === undefined ? {} : { shown }) }));
    // Several gateways may write into one folder, each its own log.
    newest = [...newest, ...more].sort((a, b) => (a.event.time < b.event.time ? 1 : -1)).slice(0, most);
    return Promise.resolve();
  });
  return { ...report, newest };
}

parentPort?.once('message', (question: LogQuestion) => {
  // A failure ends the thread, which its owner hears of.
  void answer(question).then((answered) => parentPort?.postMessage(answered));
});
