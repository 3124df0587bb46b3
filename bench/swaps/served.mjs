// Servers in processes of their own: a gateway, and a bare Express application to compare it with.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const CLI = fileURLToPath(new URL('../../dist/server/bin/bailiwick.js', import.meta.url));
const HOOK = fileURLToPath(new URL('hook.mjs', import.meta.url));
const BARE = fileURLToPath(new URL('bare.mjs', import.meta.url));

/** Runs a verb to its end and returns what it prints. */
export async function run(args, input = '') {
  const child = spawn(process.execPath, [CLI, ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
  const [out, errors] = [[], []];
  child.stdout.on('data', (chunk) => out.push(chunk));
  child.stderr.on('data', (chunk) => errors.push(chunk));
  child.stdin.end(input);
  const [status] = await once(child, 'close');
  if (status !== 0) throw new Error(`${args.join(' ')}: ${Buffer.concat(errors)}`);
  return Buffer.concat(out).toString();
}

export async function startGateway({ dataDir, policy, workers = 1 }) {
  const own = ['--listen', '127.0.0.1:0', '--admin-listen', 'none', '--admin-socket', 'none', '--format', 'json'];
  const args = ['serve', '--policy', policy, '--data-dir', dataDir, '--workers', String(workers), ...own];
  return start(['--expose-gc', '--import', HOOK, CLI, ...args], (line) => Number(new URL(JSON.parse(line).url).port));
}

export function startBare(processes) {
  return start([BARE, String(processes)], Number);
}

async function start(args, portOf) {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore', 'ipc'] });
  const ended = once(child, 'exit');
  const failed = ended.then(() => Promise.reject(new Error(`${args.join(' ')} has ended`)));
  failed.catch(() => undefined);
  const [line] = await Promise.race([once(child.stdout, 'data'), failed]);
  return {
    port: portOf(String(line)),
    /** Makes the gateway look at its policy now. */
    hurry: () => child.kill('SIGHUP'),
    /** Asks hook.mjs for `pauses`, or for the MiB of `memory` that the process holds. */
    ask: async (what) => {
      child.send(what);
      const [told] = await Promise.race([once(child, 'message'), failed]);
      return told;
    },
    /** MiB of the process and its children, as Linux counts them, with shared memory counted once. NaN on other systems. */
    resident: () => residentOf(child.pid),
    /** The most that any of them has had so far, by itself. */
    peak: () => peakOf(child.pid),
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

async function residentOf(pid) {
  const all = await sizesOf(pid, 'smaps_rollup', /^Pss:\s+(\d+)/m);
  return all.reduce((sum, one) => sum + one, 0);
}

async function peakOf(pid) {
  return Math.max(...(await sizesOf(pid, 'status', /^VmHWM:\s+(\d+)/m)));
}

async function sizesOf(pid, file, size) {
  const own = async (one) => {
    const text = await readFile(`/proc/${one}/${file}`, 'utf8').catch(() => '');
    return Number(size.exec(text)?.[1] ?? NaN) / 1024;
  };
  const tasks = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = await Promise.all(
    tasks.map((task) => readFile(`/proc/${pid}/task/${task}/children`, 'utf8').catch(() => '')),
  );
  const children = lists.flatMap((list) => list.split(' ')).filter((text) => text.trim() !== '');
  return Promise.all([pid, ...children].map(own));
}
