// `diff --reviewed`: what only the merge of reviewed changes opens or weakens ends with 7; everything else passes.
import { describe, expect, it, test } from '@jest/globals';
import { join } from 'node:path';
import type { DiffRow } from '../../engine/compiler.js';
import { OTHER_PARENTS } from '../support/git-forgeries.js';
import { type MadeCommit, type MadeHistory, makeHistory } from '../support/git-history.js';
import { commit } from '../support/policy-commits.js';
import { runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';

const HEADER = 'bailiwick: 1\nname: labs\nproviders: { ad: {} }\n';
const CLOSED = 'guardrails: [{ id: closed, never: { scopes: ["*:write"], under: /secret EXCEPT } }]\n';

interface Parts {
  readonly members?: string;
  readonly scopes?: string;
  readonly except?: string;
  readonly more?: string;
}

const filesOf = ({
  members = 'ad:ben',
  scopes = 'resource:read',
  except = '',
  more = '',
}: Parts): Record<string, string> => ({
  'policy.yaml': HEADER,
  'all.yaml': `roles: { crew: { members: [${members}] } }\ngrants: [{ id: crew, role: crew, scopes: [${scopes}], namespace: /labs }]\n`,
  'closed.yaml': CLOSED.replace(' EXCEPT', except),
  'more.yaml': `tests: [{ name: ben, actor: { identities: [ad:ben] }, allow: ["resource:read /labs"] }]\n${more}`,
});

const JOINED = { members: 'ad:ben, ad:ann' };
const WIDER = { scopes: 'resource:read, resource:write' };
const EXEMPT = { except: ', except: { roles: [crew] }' };

async function ran(
  merged: Parts,
  reviewed: readonly Parts[],
  format = 'json',
): Promise<{ status: number; stdout: string }> {
  const [base, ...folders] = await Promise.all([{}, merged, ...reviewed].map((parts) => makeFolder(filesOf(parts))));
  const [last = '', ...named] = folders;
  const flags = named.flatMap((folder) => ['--reviewed', folder]);
  const { status, stdout } = await runCli(['diff', base ?? '', last, ...flags, '--format', format]);
  return { status: status ?? -1, stdout };
}

describe('the merge of reviewed changes', () => {
  test.each<[string, Parts, readonly Parts[], number, number, readonly string[]]>([
    ['opens what one of them opens', JOINED, [JOINED, WIDER], 0, 0, []],
    ['opens what they open only together', { ...JOINED, ...WIDER }, [JOINED, WIDER], 7, 2, []],
    ['opens what nobody reviewed', WIDER, [JOINED], 7, 2, []],
    ['weakens what one of them weakens', EXEMPT, [EXEMPT], 0, 0, []],
    ['exempts somebody only together', { ...JOINED, ...EXEMPT }, [JOINED, EXEMPT], 7, 0, ['guardrails closed']],
    [
      'accepts a finding that nobody accepted',
      { more: '# bailiwick-ignore LINT_TEST: why\n' },
      [JOINED],
      7,
      0,
      ['accepted LINT_TEST'],
    ],
  ])('%s', async (_name, merged, reviewed, status, cells, checks) => {
    const { status: exit, stdout } = await ran(merged, reviewed);
    const report = JSON.parse(stdout) as {
      reviewed: readonly string[];
      emergentCells: number;
      emergent: readonly object[];
      emergentChecks: readonly { kind: string; name: string }[];
    };
    const named = report.emergentChecks.map(({ kind, name }) => `${kind} ${name}`);
    expect([exit, report.emergentCells, named, report.reviewed.length]).toEqual([
      status,
      cells,
      checks,
      reviewed.length,
    ]);
    expect(report.emergent.length > 0).toBe(cells > 0);
  });

  it('says in text and in markdown what only it opens', async () => {
    const text = await ran({ ...JOINED, ...WIDER, ...EXEMPT }, [JOINED, { ...WIDER, ...EXEMPT }], 'text');
    const lines = text.stdout.split('\n');
    const title = lines.findIndex((line) => line.startsWith('the merge opens'));
    expect(lines.slice(title, title + 6)).toEqual([
      'the merge opens 2 cells that no reviewed change opened by itself, and weakens checks that no reviewed change weakened in this way',
      '! ad:ann',
      '    resource:write at and below /labs',
      '    because grant `crew` to role crew was changed: scopes (all.yaml:2)',
      '    because ad:ann was added to role crew (all.yaml:1)',
      '! guardrail `closed` is weaker: `except` gained ad:ann',
    ]);
    const markdown = await ran({ ...JOINED, ...WIDER }, [JOINED, WIDER], 'markdown');
    expect(markdown.stdout).toContain('| ! | `ad:ann` | `resource:write` | at and below `/labs` | always |');
    const nothing = await ran(JOINED, [JOINED], 'markdown');
    expect(nothing.stdout).toContain('the merge opens nothing that a reviewed change did not open by itself.\n');
  });

  it('is compared by digests of checks where one of the policies is a snapshot', async () => {
    const [base, changed] = [await makeFolder(filesOf({})), await makeFolder(filesOf(EXEMPT))];
    const snapshot = join(base, 'snapshot.json');
    expect((await runCli(['compile', base, '-o', snapshot])).status).toBe(0);
    const { status, stdout } = await runCli(['diff', snapshot, changed, '--reviewed', base]);
    expect([
      status,
      stdout.includes('! guardrails differ from those of the base and of each reviewed snapshot'),
    ]).toEqual([7, true]);
    expect((await runCli(['diff', snapshot, changed, '--reviewed', changed])).status).toBe(0);
  });

  it('is refused if two of the policies are to come from stdin, or one is missing', async () => {
    const folder = await makeFolder(filesOf({}));
    const twice = await runCli(['diff', '-', folder, '--reviewed', '-'], { stdin: '' });
    expect([twice.status, twice.stderr.split('\n')[0]]).toEqual([
      2,
      'error: only one of the policies can come from stdin',
    ]);
    expect((await runCli(['diff', folder, folder, '--reviewed', join(folder, 'none')])).status).toBe(2);
  });
});

describe('a reviewed change that was made before the base moved on', () => {
  const OPEN: Parts = { scopes: 'resource:read, resource:write' };
  const from = (parts: Parts, parents: readonly number[]): MadeCommit =>
    commit(
      Object.fromEntries(Object.entries(filesOf(parts)).map(([name, text]) => [`policies/${name}`, text])),
      parents,
    );

  // Writing was taken away on the main line, Ann joins in a branch that is older, and the merge gives writing back.
  const made = (): Promise<MadeHistory> =>
    makeHistory([
      from(OPEN, []),
      from(OPEN, [0]),
      from({ ...OPEN, ...JOINED }, [1]),
      from({}, [0]),
      from({ ...OPEN, ...JOINED }, [3, 2]),
    ]);
  const emergentIn = async ({ path: cwd, names: [, , old = '', base = ''] }: MadeHistory): Promise<unknown> => {
    const args = ['diff', `${base}:policies`, 'main:policies', '--reviewed', `${old}:policies`, '--format', 'json'];
    const { status, stdout } = await runCli(args, { cwd });
    const { emergent } = JSON.parse(stdout) as { emergent: readonly DiffRow[] };
    return [status, emergent.map(({ identities, scopes }) => [identities, scopes])];
  };
  const GIVEN_BACK = [7, [[['ad:ben'], ['resource:write']]]];

  it('has not opened what it held only because it is old', async () => {
    expect(await emergentIn(await made())).toEqual(GIVEN_BACK);
  });

  it.each(OTHER_PARENTS)('is not made younger by %s', async (_, forge) => {
    const history = await made();
    const [, first = '', old = '', base = ''] = history.names;
    forge(history, first, base);
    expect(history.run('merge-base', base, old)).toBe(base);
    expect(await emergentIn(history)).toEqual(GIVEN_BACK);
  });

  it('has to have a commit in common with the base', async () => {
    const history = await makeHistory([from({}, []), from(OPEN, []), from(OPEN, [0])]);
    const [one = '', other = '', later = ''] = history.names;
    const ran = async (base: string): Promise<string> => {
      const args = ['diff', `${base}:policies`, 'main:policies', '--reviewed', `${later}:policies`];
      const { status, stderr } = await runCli(args, { cwd: history.path });
      return `${String(status)} ${stderr.split('\n')[0] ?? ''}`;
    };
    const UNRELATED = `2 error: \`${other}:policies\` and \`${later}:policies\` have no commit in common here`;
    expect(await ran(other)).toBe(UNRELATED);
    expect(await ran(one)).toMatch(/^[07] $/);
  });
});
