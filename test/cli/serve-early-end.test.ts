// A gateway that is told to end while it still looks for its first policy: it ends at once and in order, and serves nothing.
// The first process of a container would not be ended by a signal that nobody handles.
import { afterAll, expect, it } from '@jest/globals';
import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startPolicyServer } from '../support/policy-server.js';
import { CLI } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';
import { until } from '../support/until.js';

const running: ChildProcessWithoutNullStreams[] = [];
afterAll(() => {
  for (const child of running) if (child.exitCode === null) child.kill('SIGKILL');
});

interface Start {
  readonly child: ChildProcessWithoutNullStreams;
  readonly dataDir: string;
  readonly ended: Promise<unknown>;
  readonly said: () => readonly [stdout: string, stderr: string];
}

async function startFrom(source: readonly string[], programs = process.env['PATH']): Promise<Start> {
  const dataDir = join(await makeFolder(), 'data');
  const quiet = ['--listen', '127.0.0.1:0', '--admin-listen', 'none', '--format', 'json'];
  const args = [CLI, 'serve', ...source, '--data-dir', dataDir, ...quiet];
  const child = spawn(process.execPath, args, { env: { PATH: programs } });
  running.push(child);
  const said: [string, string] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (said[0] += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (said[1] += chunk.toString()));
  return { child, dataDir, ended: once(child, 'close'), said: () => said };
}

async function expectEnd({ child, dataDir, ended, said }: Start, signal: 'SIGINT' | 'SIGTERM'): Promise<void> {
  child.kill(signal);
  expect(await ended).toEqual([0, null]);
  const [stdout, stderr] = said();
  expect([stdout, JSON.parse(stderr)]).toEqual(['', expect.objectContaining({ signal, msg: 'shutting down' })]);
  expect(existsSync(dataDir)).toBe(false);
}

it('ends while an address does not answer', async () => {
  const server = await startPolicyServer();
  let isAsked = false;
  server.misbehave(() => {
    isAsked = true;
  });
  const start = await startFrom(['--policy-url', `http://127.0.0.1:${String(server.port)}/s.json`]);
  await until(() => isAsked);
  await expectEnd(start, 'SIGTERM');
  await server.stop();
});

it('ends while git goes on and on, and ends that, too', async () => {
  const folder = await makeFolder();
  const note = join(folder, 'pid');
  const programs = await makeFolder({ git: `#!/bin/sh\necho $$ > ${note}\nexec sleep 600\n` });
  await chmod(join(programs, 'git'), 0o755);
  const start = await startFrom(['--policy-git', folder], `${programs}:${process.env['PATH'] ?? ''}`);
  const noted = async (): Promise<string> => (existsSync(note) ? await readFile(note, 'utf8') : '');
  await until(async () => (await noted()).endsWith('\n'));
  await expectEnd(start, 'SIGINT');
  // Empty of one that has ended, and that nobody has asked for its status.
  const commandLine = `/proc/${(await noted()).trim()}/cmdline`;
  await until(async () => (await readFile(commandLine, 'utf8').catch(() => '')) === '');
});

it('ends while its input is open', async () => {
  const start = await startFrom(['--policy', '-']);
  // More than a pipe holds.
  await new Promise((resolve) => start.child.stdin.write(Buffer.alloc(2 ** 20, ' '), resolve));
  await expectEnd(start, 'SIGTERM');
});

it('ends at once on a second signal, also where it cannot exit, because it waits for a file', async () => {
  const pipe = join(await makeFolder(), 'pipe');
  execFileSync('mkfifo', [pipe]);
  const { child, ended, said } = await startFrom(['--policy', pipe]);
  const writer = await open(pipe, 'w');
  child.kill('SIGTERM');
  await until(() => said()[1].includes('shutting down'));
  child.kill('SIGINT');
  expect(await ended).toEqual([null, 'SIGKILL']);
  await writer.close();
});
