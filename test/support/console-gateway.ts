// A gateway as its own process with the console and an admin key, for tests of the console.
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCli } from './run-cli.js';
import { fromRoot } from './root.js';
import { type Served, startServing } from './serve-process.js';
import { newDataDir } from './stores.js';
import { makeFolder } from './temp-folder.js';

export interface ServedConsole {
  readonly served: Served;
  /** Of the admin listener. */
  readonly url: string;
  readonly dataDir: string;
  readonly adminKey: string;
}

export interface ConsoleGateway extends ServedConsole {
  /** Of Ines, whom the shipped policy names. */
  readonly dataKey: string;
  /** Files of the policy that runs, and of one that gives and takes some. */
  readonly files: { readonly running: string; readonly changed: string };
  readonly digests: { readonly running: string; readonly changed: string };
}

const CONSOLE = ['--console', '--admin-listen', '127.0.0.1:0'];

/** With the shipped policy. Without flags, nothing but the admin socket is for admins. */
export async function openConsoleGateway(flags: readonly string[] = CONSOLE): Promise<ConsoleGateway> {
  const folder = await makeFolder();
  await cp(fromRoot('policies'), join(folder, 'after'), { recursive: true });
  const labs = join(folder, 'after/grants/labs.yaml');
  const text = await readFile(labs, 'utf8');
  await writeFile(
    labs,
    `${text.replace('scopes: [resource-template:read, resource:read]', 'scopes: [resource:read]')}
  - id: visiting-badge
    identity: badge:b-10210
    scopes: [resource:read]
    namespace: /labs/detector
`,
  );
  const [running, changed] = [join(folder, 'running.json'), join(folder, 'changed.json')];
  const digests = [await compiled(fromRoot('policies'), running), await compiled(join(folder, 'after'), changed)];
  const gateway = await serveConsole(running, flags);
  const ines = ['--actor', 'ines', '--identity', 'orcid:0000-0000-1042-6318', '--identity', 'badge:b-11240'];
  const dataKey = await newKey(gateway.dataDir, ines);
  const [first = '', second = ''] = digests;
  return { ...gateway, dataKey, files: { running, changed }, digests: { running: first, changed: second } };
}

/** With the policy of a snapshot. */
export async function serveConsole(snapshot: string, flags: readonly string[] = CONSOLE): Promise<ServedConsole> {
  const dataDir = await newDataDir();
  const served = await startServing(dataDir, 'serve', ...['--policy', snapshot, ...flags]);
  const urls = served.ready['admin'];
  const url = Array.isArray(urls) ? String(urls[0]) : '';
  return { served, url, dataDir, adminKey: await newKey(dataDir, ['--actor', 'root', '--admin']) };
}

async function newKey(dataDir: string, args: readonly string[]): Promise<string> {
  const made = await runCli(['keys', 'create', '--data-dir', dataDir, '--format', 'json', ...args]);
  if (made.status !== 0) throw new Error(made.stderr);
  return (JSON.parse(made.stdout) as { readonly key: string }).key;
}

async function compiled(folder: string, file: string): Promise<string> {
  const ran = await runCli(['compile', folder, '-o', file, '--format', 'json']);
  if (ran.status !== 0) throw new Error(ran.stdout + ran.stderr);
  return (JSON.parse(ran.stdout) as { readonly snapshot: string }).snapshot;
}
