// `audit query` finds the events that match all that is asked: who, where, what, how it ended, when, and on which record.
import { beforeAll, describe, expect, it, test } from '@jest/globals';
import { type Instant, parseInstant, type Reach, type ScopeName } from '../../engine/index.js';
import { ANONYMOUS, askedOf, eventActor, type EventParts, queryAsked } from '../../server/audit/event.js';
import { actorOf } from '../../server/auth/request-actor.js';
import { main } from '../../server/cli/main.js';
import { eventOf, logOf, readLines, writerOf } from '../support/audit-log.js';
import { pathOf } from '../support/gateway.js';
import { makeIo } from '../support/cli-io.js';
import { fromRoot } from '../support/root.js';
import { type CliRun, runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';

const LENS = '0190c0de-0000-7000-8000-00000000000a';
const X = pathOf('/labs/x');

const actorNamed = (id: string, subject: string, digit: string): EventParts['actor'] =>
  eventActor(
    actorOf('key', {
      id,
      identities: [{ provider: 'orcid', subject }],
      scopes: null,
      restrictions: null,
      credentialFingerprint: digit.repeat(64),
    }),
  );
const ANA = actorNamed('ana', '0000', 'a');
/** Whose id is the subject of somebody else. */
const BEN = actorNamed('0000', 'ben', 'b');

function at(text: string): Instant {
  const instant = parseInstant(text);
  if (instant === null) throw new Error(text);
  return instant;
}

const allowed = (grant: string): Partial<EventParts> => ({
  outcome: 'allowed',
  status: 200,
  decision: { decision: 'allow', grants: [{ id: grant }] },
});
const queried = (namespace: string, reach: Reach): Partial<EventParts> => ({
  kind: 'query',
  operation: 'resource.query',
  access: queryAsked({ family: 'resource', context: pathOf(namespace), reach }),
});
const one = (scope: ScopeName): Partial<EventParts> => ({
  access: askedOf({ kind: 'access', scope, context: X, target: X }),
});

/** Event 1, 2 and so on. */
const EVENTS: readonly Partial<EventParts>[] = [
  { at: at('2026-08-31T23:59:59.999Z'), actor: ANA, ...queried('/labs/x', 'lineage'), ...allowed('g1') },
  { at: at('2026-09-01T00:00:00.000Z'), actor: ANA, ...queried('/labs/x', 'lineage'), ...allowed('optics-read') },
  { at: at('2026-09-02T00:00:00Z'), actor: BEN, ...queried('/labs', 'subtree'), ...allowed('all-read') },
  { at: at('2026-09-03T00:00:00Z'), actor: BEN, ...queried('/labs/x/sub', 'lineage'), ...allowed('g2') },
  // Neither shows what is in `/labs/x`.
  { at: at('2026-09-04T00:00:00Z'), actor: BEN, ...queried('/labs', 'lineage'), ...allowed('g2') },
  { at: at('2026-09-05T00:00:00Z'), actor: BEN, ...queried('/labs/xy', 'subtree'), ...allowed('g2') },
  {
    ...{ at: at('2026-09-06T00:00:00Z'), actor: BEN, ...queried('/labs/x', 'lineage'), kind: 'refusal' },
    ...{ outcome: 'denied', status: 403, decision: { decision: 'deny', step: 'no_matching_grant' } },
  },
  {
    ...{ at: at('2026-09-07T00:00:00Z'), actor: ANA, kind: 'command', operation: 'resource.create', records: [LENS] },
    ...{ ...one('resource:write'), ...allowed('g3') },
  },
  {
    ...{ at: at('2026-09-08T00:00:00Z'), actor: ANA, kind: 'command', operation: 'resource.copy' },
    ...{ access: askedOf({ kind: 'copy', source: X, destination: pathOf('/vault') }), ...allowed('g3') },
  },
  {
    ...{ at: at('2026-09-09T00:00:00Z'), actor: ANA, kind: 'command', operation: 'namespace.create' },
    ...{ access: askedOf({ kind: 'create-namespace', namespace: X }), ...allowed('g3') },
  },
  { at: at('2026-09-30T23:59:59.999Z'), actor: ANONYMOUS },
  { at: at('2026-10-01T00:00:00.000Z'), actor: ANA, ...queried('/labs/x', 'lineage'), ...allowed('g1') },
];

let folder: string;

beforeAll(async () => {
  folder = await makeFolder();
  const writer = writerOf(folder, { fileBytes: 2_000 });
  for (const [index, parts] of EVENTS.entries()) writer.add(eventOf(index + 1, parts));
  await writer.close();
});

const query = (...asked: readonly string[]): Promise<CliRun> => runCli(['audit', 'query', ...asked, folder]);

const numbersIn = ({ stdout }: CliRun): readonly unknown[] =>
  stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => (JSON.parse(line) as { readonly seq: unknown }).seq);

const LISTS =
  'not recorded: which records 7 answers showed; this one may be among them\n  help: to see them, search with `--namespace` and where the record was\n';
const SEPTEMBER = ['--since', '2026-09-01T00:00:00Z', '--until', '2026-10-01T00:00:00Z'];
const READ = ['--kind', 'query', '--outcome', 'allowed', '--namespace', '/labs/x'];

describe('audit query', () => {
  test.each<readonly [string, readonly string[], readonly number[]]>([
    ['everything', [], EVENTS.map((_, index) => index + 1)],
    ['an actor, who is no identity of that name', ['--actor', 'ana'], [1, 2, 8, 9, 10, 12]],
    ['an actor, whose id is a subject of another', ['--actor', '0000'], [3, 4, 5, 6, 7]],
    ['an identity', ['--actor', 'orcid:0000'], [1, 2, 8, 9, 10, 12]],
    ['a fingerprint', ['--actor', 'b'.repeat(64)], [3, 4, 5, 6, 7]],
    ['one of two', ['--actor', 'anonymous', '--actor', 'orcid:ben'], [3, 4, 5, 6, 7, 11]],
    ['nobody', ['--actor', 'eve'], []],
    ['what may have touched a namespace', ['--namespace', '/labs/x'], [1, 2, 3, 4, 7, 8, 9, 10, 12]],
    ['what may have touched one below', ['--namespace', '/labs/x/sub'], [3, 4]],
    ['both sides of a copy', ['--namespace', '/vault'], [9]],
    ['an outcome', ['--outcome', 'denied'], [7]],
    ['one of two outcomes', ['--outcome', 'denied', '--outcome', 'failed'], [7, 11]],
    ['a kind', ['--kind', 'command'], [8, 9, 10]],
    ['a record, in either case', ['--record', LENS.toUpperCase()], [8]],
    ['from an instant on', ['--since', '2026-09-30T23:59:59.999Z'], [11, 12]],
    ['before an instant', ['--until', '2026-09-01T00:00:00Z'], [1]],
    ['who read a namespace in September', [...READ, ...SEPTEMBER], [2, 3, 4]],
  ])('finds %s', async (_, asked, found) => {
    const run = await query('--format', 'json', ...asked);
    const none = `0 of ${String(EVENTS.length)} events\n`;
    const lists = asked.includes('--record') ? LISTS : '';
    expect([run.status, run.stderr]).toEqual([0, found.length === 0 ? none : lists]);
    expect(numbersIn(run)).toEqual(found);
  });

  it('says in text who read it, when and by what grant', async () => {
    const { stdout, stderr } = await query(...READ, ...SEPTEMBER);
    expect(stderr).toBe(`3 of ${String(EVENTS.length)} events\n`);
    expect(stdout.split('\n').slice(0, -1)).toEqual([
      '2026-09-01T00:00:00.000Z  allowed  ana  resource.query  /labs/x (lineage)  by optics-read  [testlog 2]',
      '2026-09-02T00:00:00.000Z  allowed  0000  resource.query  /labs (subtree)  by all-read  [testlog 3]',
      '2026-09-03T00:00:00.000Z  allowed  0000  resource.query  /labs/x/sub (lineage)  by g2  [testlog 4]',
    ]);
  });
});

it('goes on behind a line that is no event, and ends with 8', async () => {
  const [first = '', ...others] = readLines(folder);
  const run = await runCli(['audit', 'query', '--format', 'json', await logOf([first, '{"seq":1}', ...others])]);
  expect(run.status).toBe(8);
  expect(run.stdout).toContain('"seq":12');
  expect(run.stderr + run.stdout).toContain('1 line of the log is not an event');
});

it('marks a line that was edited, and one that does not follow the line before it, and ends with 8', async () => {
  const lines = readLines(folder);
  const changed = lines.map((line, at) => (at === 3 ? line.replace('"g2"', '"g1"') : line)).filter((_, at) => at !== 7);
  const tampered = await logOf(changed);
  const run = await runCli(['audit', 'query', tampered]);
  const marked = run.stdout.split('\n').filter((line) => line.includes('DOES NOT VERIFY'));
  expect(marked.map((line) => /\[testlog (\d+)\]/.exec(line)?.[1])).toEqual(['4', '9']);
  expect([run.status, run.stderr]).toEqual([8, expect.stringContaining('2 events that are shown do not verify')]);
  const json = await runCli(['audit', 'query', '--format', 'json', tampered]);
  expect(json.stdout.split('\n')[3]).toBe(changed[3]);
  expect(json.stderr.split('\n').filter((line) => line.startsWith('warning: '))).toEqual([
    'warning: [testlog 4] DOES NOT VERIFY: it was changed after it was written',
    'warning: [testlog 9] DOES NOT VERIFY: it does not follow the event before it',
  ]);
});

test('ends where nobody reads any more', async () => {
  const { io, stderr } = makeIo();
  io.stdout.destroy();
  expect([await main(['audit', 'query', folder], io), stderr()]).toEqual([0, '']);
});

test('a folder in place of a file of the log is named by every verb that reads it', async () => {
  const log = await makeFolder({ 'a1.000000000000001.jsonl/x': '' });
  for (const argv of [
    ['audit', 'query', log],
    ['audit', 'verify', log],
    ['replay', log],
    ['policy-at', '2027-01-01T00:00:00Z', '--log', log],
    ['unused', fromRoot('policies'), '--log', log],
  ]) {
    const { status, stderr } = await runCli(argv);
    expect([argv, status, stderr]).toEqual([
      argv,
      6,
      `error: \`${log}/a1.000000000000001.jsonl\` cannot be read (EISDIR)\n` +
        '  help: let this user read the file, or put a copy of it in its place\n',
    ]);
  }
});

test('a folder without a log is none for the verbs that search one: nothing found there is no answer', async () => {
  const [folder, policy] = [await makeFolder({ 'notes.txt': '' }), fromRoot('policies')];
  for (const argv of [
    ['audit', 'query', folder],
    ['replay', folder, '--against', policy, '--exit-code'],
    ['unused', policy, '--log', folder],
  ]) {
    const { status, stdout, stderr } = await runCli(argv);
    expect([argv, status, stdout, stderr]).toEqual([
      argv,
      2,
      '',
      `error: there is no audit log in \`${folder}\`\n  help: check the path\n`,
    ]);
  }
});

test('a file in place of the folder is no log, for every verb that reads one', async () => {
  const cwd = await makeFolder({ 'a.jsonl': '' });
  const policy = fromRoot('policies');
  const verbs: readonly (readonly [status: number, ...argv: string[]])[] = [
    [2, 'audit', 'query', 'a.jsonl'],
    [8, 'audit', 'verify', 'a.jsonl'],
    [2, 'replay', 'a.jsonl'],
    [2, 'unused', policy, '--log', 'a.jsonl'],
    [2, 'review', 'start', policy, '--log', 'a.jsonl', '-o', 'review.json'],
  ];
  for (const [expected, ...argv] of verbs) {
    const { status, stderr } = await runCli(argv, { cwd });
    expect([argv, status, stderr]).toEqual([argv, expected, expect.stringContaining('there is no audit log in')]);
  }
});
