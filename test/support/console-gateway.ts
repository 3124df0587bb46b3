// A gateway as its own process with the shipped policy, the console and an admin key, for tests of the console.
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCli } from './run-cli.js';
import { fromRoot } from './root.js';
import { type Served, startServing } from './serve-process.js';
import { makeFolder } from './temp-folder.js';

export interface ConsoleGateway {
  readonly served: Served;
  /** Of the admin listener. */
  readonly url: string;
  readonly dataDir: string;
  readonly adminKey: string;
  /** Of Ines, whom the shipped policy names. */
  readonly dataKey: string;
  /** Files of the policy that runs, and of one that gives and takes some. */
  readonly files: { readonly running: string; readonly changed: string };
  readonly digests: { readonly running: string; readonly changed: string };
}

/** Without flags, nothing but the admin socket is for admins. */
export async function openConsoleGateway(
  flags: readonly string[] = ['--console', '--admin-listen', '127.0.0.1:0'],
): Promise<ConsoleGateway> {
  const folder = await makeFolder();
  const dataDir = join(folder, 'data');
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
  const served = await startServing(dataDir, 'serve', ...['--policy', running, ...flags]);
  const urls = served.ready['admin'];
  const url = Array.isArray(urls) ? String(urls[0]) : '';
  const key = async (...args: readonly string[]): Promise<string> => {
    const made = await runCli(['keys', 'create', '--data-dir', dataDir, '--format', 'json', ...args]);
    if (made.status !== 0) throw new Error(made.stderr);
    return (JSON.parse(made.stdout) as { readonly key: string }).key;
  };
  const adminKey = await key('--actor', 'root', '--admin');
  const dataKey = await key(
    ...['--actor', 'ines', '--identity', 'orcid:0000-0000-1042-6318', '--identity', 'badge:b-11240'],
  );
  const [first = '', second = ''] = digests;
  return {
    ...{ served, url, dataDir, adminKey, dataKey, files: { running, changed } },
    digests: { running: first, changed: second },
  };
}

async function compiled(folder: string, file: string): Promise<string> {
  const ran = await runCli(['compile', folder, '-o', file, '--format', 'json']);
  if (ran.status !== 0) throw new Error(ran.stdout + ran.stderr);
  return (JSON.parse(ran.stdout) as { readonly snapshot: string }).snapshot;
}
