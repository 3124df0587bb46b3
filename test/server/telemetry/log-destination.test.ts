// A log that cannot be written: its lines are dropped and counted, and nothing else stops. Uses real descriptors.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { makeLogDestination } from '../../../server/telemetry/log-destination.js';
import { LOG_LIMITS } from '../../../server/limits/logs.js';
import { CLI } from '../../support/run-cli.js';
import { newDataDir } from '../../support/stores.js';
import { makeFolder } from '../../support/temp-folder.js';

/** Both ends of a named pipe; the reading one comes and goes. */
async function openPipe(): Promise<{ readonly fd: number; readonly openReader: () => number }> {
  const path = join(await makeFolder(), 'log');
  execFileSync('mkfifo', [path]);
  const openReader = (): number => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const first = openReader();
  const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  closeSync(first);
  return { fd, openReader };
}

/** What is in the pipe now. */
function readAll(fd: number): string {
  const buffer = Buffer.alloc(8 * 1024 * 1024);
  let at = 0;
  for (;;) {
    try {
      const read = readSync(fd, buffer, at, buffer.length - at, null);
      if (read === 0) return buffer.toString('utf8', 0, at);
      at += read;
    } catch {
      return buffer.toString('utf8', 0, at);
    }
  }
}

it('says how many lines were dropped once writing works again', async () => {
  const { fd, openReader } = await openPipe();
  const log = makeLogDestination(fd);
  for (let i = 0; i < 5; i += 1) {
    log.write(`{"line":${String(i)}}\n`);
    await log.flush();
  }
  const reader = openReader();
  log.write('{"line":5}\n');
  await log.flush();
  log.write('{"line":6}\n');
  await log.flush();
  const [notice, ...lines] = readAll(reader).trimEnd().split('\n');
  expect(JSON.parse(notice ?? '')).toMatchObject({ level: 'warn', dropped: 5, time: expect.stringMatching(/Z$/) });
  expect(lines).toEqual(['{"line":5}', '{"line":6}']);
  closeSync(reader);
  closeSync(fd);
});

it('keeps a bounded number of lines for a reader that is stuck, in order', async () => {
  const { fd, openReader } = await openPipe();
  const reader = openReader();
  const log = makeLogDestination(fd);
  const line = `${'x'.repeat(1023)}\n`;
  const most = LOG_LIMITS.bufferCharacters / line.length;
  for (let i = 0; i < most * 2; i += 1) log.write(line);
  let text = '';
  for (let quiet = 0; quiet < 20;) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    const more = readAll(reader);
    text += more;
    quiet = more === '' ? quiet + 1 : 0;
  }
  log.write('{"last":true}\n');
  await log.flush();
  text += readAll(reader);
  const written = text.trimEnd().split('\n');
  const { dropped } = JSON.parse(written.find((one) => one.startsWith('{"level"')) ?? '{}') as { dropped?: number };
  const through = written.filter((one) => one.startsWith('x'));
  expect(through.length + (dropped ?? 0)).toBe(most * 2);
  expect(through.length).toBeLessThanOrEqual(most + 1);
  expect(new Set(through)).toEqual(new Set([line.trimEnd()]));
  expect(written.at(-1)).toBe('{"last":true}');
  closeSync(reader);
  closeSync(fd);
});

it('a full disk under the log stops no answer and no end of the process', async () => {
  const dataDir = await newDataDir();
  const full = openSync('/dev/full', 'w');
  const args = ['local', '--data-dir', dataDir, '--listen', '127.0.0.1:0', '--format', 'json'];
  const child = spawn(process.execPath, [CLI, ...args], {
    cwd: dataDir,
    // Variables of the suite are no settings.
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'pipe', full],
  });
  closeSync(full);
  try {
    if (child.stdout === null) throw new Error('no stdout');
    const [first] = (await once(child.stdout, 'data')) as [Buffer];
    const { url } = JSON.parse(first.toString()) as { url: string };
    for (let i = 0; i < 20; i += 1) {
      const answer = await fetch(`${url}/api/v1/whoami`, { signal: AbortSignal.timeout(5_000) });
      expect(answer.status).toBe(200);
      await answer.arrayBuffer();
    }
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  } finally {
    child.kill('SIGKILL');
    rmSync(dataDir, { recursive: true, force: true });
  }
});
