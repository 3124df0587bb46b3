// `make run` as a newcomer meets it: the driver is started with a folder of its own, the commands that it prints are pasted
// into a shell, and their answers must differ the way it says. A second start keeps everything and is quick.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fromRoot } from '../support/root.js';
import { makeFolder } from '../support/temp-folder.js';

const ROOT = fromRoot('');
const LAST_LINE = 'Ctrl-C stops the gateway';
const QUICK_MS = 30_000;
const hasCurl = spawnSync('curl', ['--version']).status === 0;

/** Without settings of whoever runs the tests. */
const ENVIRONMENT = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^BAILIWICK_|^DATABASE_URL$/.test(name)),
);

interface Demo {
  readonly process: ChildProcess;
  readonly text: string;
  readonly milliseconds: number;
}

interface Answer {
  readonly items: readonly { readonly namespace: string; readonly name: string }[];
  readonly snapshot: string;
}

interface Shown {
  readonly person: string;
  readonly count: number;
  readonly command: string;
}

async function startDemo(dataDir: string): Promise<Demo> {
  const args = ['fixtures/demo/run.mjs', '--data-dir', dataDir, '--listen', '127.0.0.1:0'];
  const begun = performance.now();
  const child = spawn(process.execPath, args, { cwd: ROOT, env: ENVIRONMENT, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (errors += chunk));
  await new Promise<void>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      if (text.includes(LAST_LINE)) resolve();
    });
    child.once('close', (status) => {
      reject(new Error(`the demo ended with ${String(status)}\n${text}\n${errors}`));
    });
  });
  return { process: child, text, milliseconds: performance.now() - begun };
}

/** As Ctrl-C does it; gives the exit status. */
async function stopDemo(demo: Demo): Promise<number | null> {
  const ended = new Promise<number | null>((resolve) => demo.process.once('close', resolve));
  demo.process.kill('SIGINT');
  return ended;
}

/** The commented commands: `# Who: what (N crystals)`, then the command. */
function shownIn(text: string): readonly Shown[] {
  return [...text.matchAll(/^# ([^,]+),.*\((\d+) crystals\)\n(curl .*)$/gm)].map(
    ([, person = '', count, command = '']) => ({
      person,
      count: Number(count),
      command,
    }),
  );
}

/** Pastes a command into a shell; where there is no curl, the same request is made without it. */
async function paste(command: string): Promise<unknown> {
  if (hasCurl) {
    const { status, stdout } = spawnSync('sh', ['-c', command], { cwd: ROOT, encoding: 'utf8' });
    expect(status).toBe(0);
    return JSON.parse(stdout);
  }
  const echo = spawnSync('sh', ['-c', command.replace(/^curl/, 'printf "%s\\n"')], { cwd: ROOT, encoding: 'utf8' });
  const [, url = '', , authorization = '', , , , body = ''] = echo.stdout.split('\n');
  const headers = { Authorization: authorization.replace('Authorization: ', ''), 'Content-Type': 'application/json' };
  return (await fetch(url, { method: 'POST', headers, body })).json();
}

describe('make run', () => {
  let dataDir: string;
  let demo: Demo;

  beforeAll(async () => {
    dataDir = await makeFolder();
    demo = await startDemo(dataDir);
  });

  afterAll(async () => {
    if (demo.process.exitCode === null) await stopDemo(demo);
  });

  it('prints a question that three people answer differently', async () => {
    const shown = shownIn(demo.text);
    expect(shown.map(({ person }) => person)).toEqual(['Mireille Okafor', 'Ines Marchetti', 'Ben Achterberg']);
    const counts = shown.map(({ count }) => count);
    expect(counts).toEqual([...counts].sort((a, b) => b - a));
    expect(new Set(counts).size).toBe(3);

    const [curator, lead, user] = (await Promise.all(shown.map(({ command }) => paste(command)))) as readonly Answer[];
    const places = (answer: Answer | undefined): readonly string[] => answer?.items.map((item) => item.namespace) ?? [];
    expect(places(curator)).toHaveLength(3);
    expect(places(curator).every((path) => path.startsWith('/beamlines/amx'))).toBe(false);
    expect(places(lead).every((path) => path.startsWith('/beamlines/amx'))).toBe(true);
    expect(new Set(places(user))).toEqual(new Set(['/beamlines/amx/pass-314512']));
    expect(new Set([curator, lead, user].map((answer) => JSON.stringify(answer?.items))).size).toBe(3);
    expect(demo.text).toContain(curator?.snapshot);
  });

  it('suggests what to try next, and it is as it says', async () => {
    const commands = [...demo.text.matchAll(/^ {2}(curl .*)$/gm)].map(([, command = '']) => command);
    expect(commands).toHaveLength(2);
    const [measured, refused] = await Promise.all(commands.map((command) => paste(command)));
    expect((measured as Answer).items.length).toBeGreaterThan(5);
    expect(refused).toMatchObject({ status: 403, code: 'authz.denied', step: 'no_matching_grant' });
  });

  it('keeps its keys to the user that started it', () => {
    const folder = join(dataDir, 'demo', 'keys');
    const modes = readdirSync(folder).map((file) => statSync(join(folder, file)).mode & 0o777);
    expect(modes).toEqual([0o600, 0o600, 0o600]);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  it('says how to go on where the address is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const args = ['fixtures/demo/run.mjs', '--data-dir', dataDir, '--listen', `127.0.0.1:${String(port)}`];
    const { status, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, env: ENVIRONMENT, encoding: 'utf8' });
    taken.close();
    expect(stderr).toMatch(/another process uses the port\n.*--listen 127\.0\.0\.1:0/);
    expect(status).toBe(1);
  });

  it('stops on Ctrl-C, and a second start is quick and keeps keys and data', async () => {
    const before = shownIn(demo.text).map(({ count }) => count);
    const items = async (): Promise<readonly unknown[]> =>
      Promise.all(shownIn(demo.text).map(async ({ command }) => ((await paste(command)) as Answer).items));
    const answers = await items();
    expect(await stopDemo(demo)).toBe(0);

    demo = await startDemo(dataDir);
    expect(demo.milliseconds).toBeLessThan(QUICK_MS);
    expect(shownIn(demo.text).map(({ count }) => count)).toEqual(before);
    expect(await items()).toEqual(answers);
    expect(readdirSync(join(dataDir, 'demo', 'keys'))).toHaveLength(3);
  });
});
