// The thread of prover.ts: it loads one snapshot, then answers questions about it until it is ended.
import { parentPort } from 'node:worker_threads';
import { loadSnapshot, type Policy } from '../../../engine/index.js';
import { sha256Of } from './snapshot-bytes.js';
import { prove } from './prove.js';
import type { ToProver } from './prover.js';

let policy: Policy | null = null;

function answer(message: ToProver): unknown {
  if ('parts' in message) {
    const bytes = Buffer.concat(message.parts);
    const loaded = sha256Of(bytes) === message.snapshot ? loadSnapshot(bytes) : null;
    policy = loaded?.ok === true ? loaded.policy : null;
    return policy !== null;
  }
  if (policy === null) throw new Error('a question before its snapshot');
  const { question, stopped } = message;
  return prove(policy, question, () => Atomics.load(stopped, 0) === 1);
}

parentPort?.on('message', (message: ToProver) => {
  parentPort?.postMessage(answer(message));
});
