// Processes of the scenarios. Each writes to a log of its own in the scenario's folder, none outlives the run, and everything listens on
// loopback only.
import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const STOP_MS = 20_000;
const LOG_LINES = 20;

/** Something on the machine or in the product is not as a scenario needs it. The message is all that the reader gets. */
export class ScenarioError extends Error {}

/** @param folder where the logs go */
export function makeProcesses(folder) {
  const running = new Set();

  function start(name, program, args, { env = {}, cwd = folder, account = null } = {}) {
    const log = join(folder, `${name}.log`);
    const file = openSync(log, 'a', 0o600);
    const out = openSync(join(folder, `${name}.out`), 'a', 0o600);
    const as = account === null ? {} : { uid: account.uid, gid: account.gid };
    const options = { cwd, env: { ...process.env, ...env }, stdio: ['ignore', out, file], detached: true, ...as };
    const child = spawn(program, args, options);
    closeSync(file);
    closeSync(out);
    const ended = new Promise((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('exit', (status, signal) => resolve(status ?? signal));
    });
    const one = {
      name,
      log,
      out: join(folder, `${name}.out`),
      pid: child.pid,
      ended,
      isOver: false,
      kill: (signal) => child.kill(signal),
      stop,
    };
    running.add(one);
    void ended.then(() => {
      one.isOver = true;
      running.delete(one);
    });
    return one;

    /** Ends it in order; by force if it takes too long. Gives its exit status. */
    async function stop(signal = 'SIGTERM') {
      child.kill(signal);
      const force = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      const status = await ended;
      clearTimeout(force);
      return status;
    }
  }

  return {
    start,
    /** Runs a program to its end. Gives what it printed. Fails, with the end of what it said, unless it ends with status 0. */
    async run(name, program, args, options) {
      const one = start(name, program, args, options);
      const status = await one.ended;
      if (status !== 0) throw new ScenarioError(`${name} ended with ${status}: ${lastLines(one)}`);
      return readFileSync(join(folder, `${name}.out`), 'utf8');
    },
    /** Waits until `check` gives something other than false, while the process lives. */
    async until(one, what, check, milliseconds = 60_000) {
      const end = Date.now() + milliseconds;
      for (;;) {
        if (one?.isOver) throw new ScenarioError(`${one.name} ended before ${what}: ${lastLines(one)}`);
        const found = await check();
        if (found !== false) return found;
        if (Date.now() > end) {
          throw new ScenarioError(`${what}: not within ${milliseconds / 1000} s${one ? `: ${lastLines(one)}` : ''}`);
        }
        await sleep(50);
      }
    },
    async stopAll() {
      await Promise.all([...running].reverse().map((one) => one.stop()));
    },
    /** For the way out of a run that was interrupted. */
    endAll: () => running.forEach((one) => one.kill('SIGTERM')),
  };
}

/** A port of 127.0.0.1 that nobody has at this moment. */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The status and text of an answer, or false where nobody answers yet. */
export async function ask(url, options = {}) {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5_000), ...options });
    return { status: response.status, text: await response.text() };
  } catch {
    return false;
  }
}

/** Of its log, and of what it printed. */
function lastLines({ log, out }) {
  const ends = [log, out].map((file) => readFileSync(file, 'utf8').trimEnd().split('\n').slice(-LOG_LINES).join('\n'));
  return ends.filter((text) => text !== '').join('\n');
}
