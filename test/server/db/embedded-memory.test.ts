// How much memory a gateway with an embedded store takes, in each of its processes, measured from outside. The first
// start, which makes the store in a process of its own, must take no more than later ones, because a machine with 1 GB
// is enough.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { CLI } from '../../support/run-cli.js';

const MOST = 350;

interface Start {
  /** Megabytes that were ever resident in each of its processes, until it serves. The gateway is the first. */
  readonly peaks: readonly number[];
  readonly stderr: string;
}

async function start(dataDir: string): Promise<Start> {
  const args = [CLI, 'local', '--data-dir', dataDir, '--listen', '127.0.0.1:0'];
  // The variables of the suite are no settings of a gateway.
  const env = { PATH: process.env['PATH'] };
  const gateway = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
  const gone = new Promise((resolve) => gateway.once('exit', resolve));
  const peaks = new Map<number, number>();
  const look = (): void => {
    for (const pid of [Number(gateway.pid), ...childrenOf(Number(gateway.pid))]) {
      const peak = peakOf(pid);
      if (peak !== null) peaks.set(pid, peak);
    }
  };
  const watch = setInterval(look, 10);
  try {
    let [stdout, stderr] = ['', ''];
    await new Promise<void>((resolve, reject) => {
      gateway.stdout.on('data', (bytes: Buffer) => {
        stdout += bytes.toString('utf8');
        if (stdout.includes('http://127.0.0.1:')) resolve();
      });
      gateway.stderr.on('data', (bytes: Buffer) => (stderr += bytes.toString('utf8')));
      gateway.once('exit', () => {
        reject(new Error(stdout + stderr));
      });
    });
    look();
    return { peaks: [...peaks.values()], stderr };
  } finally {
    clearInterval(watch);
    gateway.kill('SIGTERM');
    await gone;
  }
}

/** Null if the process has ended. */
function peakOf(pid: number): number | null {
  try {
    const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${String(pid)}/status`, 'utf8')) ?? [];
    return kilobytes === undefined ? null : Math.round(Number(kilobytes) / 1024);
  } catch {
    return null;
  }
}

/** A process is the child of the thread that started it. */
function childrenOf(pid: number): readonly number[] {
  const tasks = `/proc/${String(pid)}/task`;
  return readdirSync(tasks).flatMap((thread) => {
    try {
      return readFileSync(join(tasks, thread, 'children'), 'utf8')
        .split(' ')
        .filter(Boolean)
        .map(Number);
    } catch {
      return []; // the thread has ended
    }
  });
}

test('a first and a second start take at most 350 MB in each process', async () => {
  if (!existsSync('/proc/self/status')) {
    process.stderr.write('this system does not say what a process takes: it is not measured\n');
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), 'bailiwick-data-'));
  try {
    const [first, second] = [await start(join(folder, 'data')), await start(join(folder, 'data'))];
    process.stderr.write(
      `resident at most: ${first.peaks.join(' and ')} MB in the first start, ${second.peaks.join(' and ')} MB in the second\n`,
    );
    expect([first.peaks.length, second.peaks.length]).toEqual([2, 1]);
    expect([...first.peaks, ...second.peaks].filter((peak) => peak <= 0 || peak > MOST)).toEqual([]);
    // However long the first takes, it waits for nobody, and does not say so.
    expect(first.stderr + second.stderr).not.toContain('waiting for');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
