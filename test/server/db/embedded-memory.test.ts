// How much memory a gateway with an embedded store takes, measured from outside. The first start, which makes the
// store, must take no more than later ones, because a machine with 1 GB is enough.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { CLI } from '../../support/run-cli.js';

const MOST = 350;

interface Start {
  /** Megabytes that were ever resident, once it serves. */
  readonly peak: number;
  readonly stderr: string;
}

async function start(dataDir: string): Promise<Start> {
  const args = [CLI, 'local', '--data-dir', dataDir, '--listen', '127.0.0.1:0'];
  // The variables of the suite are no settings of a gateway.
  const env = { PATH: process.env['PATH'] };
  const gateway = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
  const gone = new Promise((resolve) => gateway.once('exit', resolve));
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
    const status = readFileSync(`/proc/${String(gateway.pid)}/status`, 'utf8');
    return { peak: Math.round(Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024), stderr };
  } finally {
    gateway.kill('SIGTERM');
    await gone;
  }
}

test('a first and a second start take less than 350 MB', async () => {
  if (!existsSync('/proc/self/status')) {
    process.stderr.write('this system does not say what a process takes: it is not measured\n');
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), 'bailiwick-data-'));
  try {
    const [first, second] = [await start(join(folder, 'data')), await start(join(folder, 'data'))];
    process.stderr.write(
      `resident at most: ${String(first.peak)} MB in the first start, ${String(second.peak)} MB in the second\n`,
    );
    expect([first, second].map(({ peak }) => peak > 0 && peak < MOST)).toEqual([true, true]);
    // However long the first takes, it waits for nobody, and does not say so.
    expect(first.stderr + second.stderr).not.toContain('waiting for');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
