// Commits of a small policy for tests of histories, and what `history` and `find` print for them.
import { expect } from '@jest/globals';
import type { MadeCommit, MadeHistory } from './git-history.js';
import { type CliRun, runCli } from './run-cli.js';

export const HEADER = 'bailiwick: 1\nname: facility\nproviders:\n  orcid: {}\n';
export const people = (names: string): string => `people:\n  ana-ito: { identities: [${names}] }\n`;

interface Roles {
  readonly crew: readonly string[];
  readonly scope?: string;
  readonly others?: Readonly<Record<string, string>>;
}

export function policy(
  { crew, scope = 'resource:read', others = {} }: Roles,
  folder = 'policies',
): Readonly<Record<string, string>> {
  const members = crew.map((one) => `      - orcid:${one}\n`).join('');
  const all = {
    'policy.yaml': HEADER,
    'roles.yaml': `roles:\n  crew:\n    members:\n${members}`,
    'grants.yaml': `grants:\n  - { id: read, role: crew, namespace: /amx, scopes: ["${scope}"], reason: PASS-314 }\n`,
    ...others,
  };
  return Object.fromEntries(Object.entries(all).map(([path, text]) => [`${folder}/${path}`, text]));
}

export const commit = (
  files: MadeCommit['files'],
  parents: readonly number[],
  more: Partial<MadeCommit> = {},
): MadeCommit => ({ files, parents, ...more });

export const run = (made: { readonly path: string }, ...args: readonly string[]): Promise<CliRun> =>
  runCli([...args, ...(args.some((one) => one.startsWith('--cache')) ? [] : ['--no-cache'])], { cwd: made.path });

export async function lines(
  made: MadeHistory,
  ...args: readonly string[]
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { stdout, status } = await run(made, ...args, '--format', 'json');
  expect(status).toBe(0);
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

export const short = (made: MadeHistory, index: number): string => made.names[index]?.slice(0, 12) ?? '';
export const time = (index: number): string => `2026-01-01T0${String(index)}:00:00.000Z`;
