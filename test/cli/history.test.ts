// `history` and `find` as somebody uses them: what they print, whom they credit, and what they are asked wrongly.
// test/cli/history-cells.test.ts compares what they say of rights with brute force.
import { join } from 'node:path';
import { beforeAll, describe, expect, it, test } from '@jest/globals';
import { type MadeHistory, makeHistory } from '../support/git-history.js';
import { commit, HEADER, lines, people, policy, run, short, time } from '../support/policy-commits.js';
import { runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';

describe('a line of commits', () => {
  let made: MadeHistory;
  beforeAll(async () => {
    made = await makeHistory([
      commit({ README: 'before there is a policy' }, []),
      commit(policy({ crew: ['ann'] }), [0], { author: 'Ann', message: 'begin\n\nmore of it' }),
      commit({ ...policy({ crew: ['ann'] }), README: 'no policy' }, [1], { message: 'about something else' }),
      commit(policy({ crew: ['ann', 'bob'] }), [2], { author: 'Bob', message: 'Bob joins' }),
      commit(policy({ crew: [], scope: 'nonsense' }), [3], { author: 'Eve', message: 'oops' }),
      commit(policy({ crew: [], scope: 'nonsense' }), [4], { author: 'Eve', message: 'still' }),
      commit(policy({ crew: ['bob'], scope: 'resource:write' }), [5], { author: 'Cy', message: 'Ann leaves' }),
    ]);
  });

  it('is told from its beginning: when, which commit, who, what for, what and why', async () => {
    const { stdout, stderr, status } = await run(made, 'history', 'main:policies');
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toBe(`${time(1)}  ${short(made, 1)}  Ann <ann@example.org>
  begin
  + orcid:ann
      resource:read at and below /amx
      because grant \`read\` to role crew was added (grants.yaml:2): "PASS-314"
      because role crew was added (roles.yaml:2)
${time(3)}  ${short(made, 3)}  Bob <bob@example.org>
  Bob joins
  + orcid:bob
      resource:read at and below /amx
      because orcid:bob was added to role crew (roles.yaml:5)
${time(4)}  ${short(made, 4)}  Eve <eve@example.org>
  oops
  no policy: grants.yaml:2:55 SCOPE_UNKNOWN \`nonsense\` is not a scope, and 1 more mistake
${time(6)}  ${short(made, 6)}  Cy <cy@example.org>
  Ann leaves
  + orcid:bob
      resource:write at and below /amx
      because grant \`read\` to role crew was changed: scopes (grants.yaml:2): "PASS-314"
  - orcid:ann, orcid:bob
      resource:read at and below /amx
      because grant \`read\` to role crew was changed: scopes (grants.yaml:2): "PASS-314"
      because orcid:ann was removed from role crew (roles.yaml:4)
7 commits, ${time(0)} to ${time(6)}: 3 changed these rights, in 4 rows; 2 commits without a policy that compiles
`);
  });

  it('has as JSON a line for each row, with the commit that it is compared with, and for each mistake', async () => {
    const all = await lines(made, 'history', 'main:policies');
    expect(all.map((one) => [one['commit'], one['compared'], one['change'] ?? 'fault'])).toEqual([
      [made.names[1], null, 'gained'],
      [made.names[3], made.names[2], 'gained'],
      [made.names[4], made.names[3], 'fault'],
      [made.names[6], made.names[3], 'gained'],
      [made.names[6], made.names[3], 'lost'],
    ]);
    expect(all[0]).toEqual({
      ...{ commit: made.names[1], author: 'Ann <ann@example.org>', time: time(1), subject: 'begin', compared: null },
      ...{ change: 'gained', reason: 'PASS-314' },
      row: expect.objectContaining({ identities: ['orcid:ann'], from: null, until: null, namespace: '/amx' }),
    });
    expect(all[2]?.['fault']).toEqual(
      expect.objectContaining({ code: 'SCOPE_UNKNOWN', file: 'grants.yaml', line: 2, column: 55, more: 1 }),
    );
  });

  test.each([
    ['of an identity', ['--identity', 'orcid:bob'], [3, 6, 6]],
    ['of several', ['--identity', 'orcid:ann', '--identity', 'orcid:bob'], [1, 3, 6, 6]],
    ['of a scope', ['--scope', 'resource:write'], [6]],
    ['below a namespace', ['--namespace', '/amx/7'], [1, 3, 6, 6]],
    ['above it', ['--namespace', '/'], [1, 3, 6, 6]],
    ['beside it', ['--namespace', '/amx2'], []],
  ])('shows what is asked about: %s', async (_, asked, expected) => {
    const rows = (await lines(made, 'history', 'main:policies', ...asked)).filter((one) => 'row' in one);
    expect(rows.map((one) => one['commit'])).toEqual(expected.map((index) => made.names[index]));
  });

  test.each([
    ['after a commit', [1, '..main'], [3, 6, 6]],
    ['up to one', ['', 3], [1, 3]],
    ['between two', [3, '..', 6], [6, 6]],
    ['from one that does not compile, compared with the last one that does', [5, '..main'], [6, 6]],
    ['nothing', ['main..main'], []],
  ])('is cut: %s', async (_, parts, expected) => {
    const range = parts.map((part) => (typeof part === 'number' ? made.names[part] : part)).join('');
    const rows = (await lines(made, 'history', `${range}:policies`)).filter((one) => 'row' in one);
    expect(rows.map((one) => one['commit'])).toEqual(expected.map((index) => made.names[index]));
  });

  it('is that of HEAD for a folder', async () => {
    made.run('checkout', '-q', '-f', 'main');
    const all = await run(made, 'history', 'main:policies');
    expect(await run(made, 'history', 'policies')).toEqual(all);
    expect(await run({ path: join(made.path, 'policies') }, 'history', '.')).toEqual(all);
    expect(await run({ path: await makeFolder() }, 'history', join(made.path, 'policies'))).toMatchObject({
      status: 2,
    });
    expect(await run(made, 'history', join(made.path, 'policies'))).toEqual(all);
  });

  test.each([
    ['none:policies', 'has no revision `none`'],
    ['main:elsewhere', 'has no folder `elsewhere` in any of these commits'],
    ['main:../elsewhere', 'leads out of the git checkout'],
    ['main...main:policies', '`main...main` is not a range of revisions'],
    ['main..main..main:policies', '`main..main..main` is not a range of revisions'],
    ['..main:policies', 'does not say after which revision the history begins'],
    ['--upload-pack=x:policies', 'there is no option'],
  ])('needs a range of revisions with the folder: %s', async (range, message) => {
    for (const verb of [['history'], ['find', 'sha256:00000000']]) {
      const { status, stdout, stderr } = await run(made, ...verb, range);
      expect([status, stdout]).toEqual([2, '']);
      expect(stderr).toContain(message);
    }
  });

  it('is searched for a digest, of which some digits are enough', async () => {
    const { stdout } = await run(made, 'history', 'main:policies', '--format', 'json');
    expect(stdout).not.toBe('');
    const compiled = await runCli(['compile', `${made.names[1] ?? ''}:policies`, '-o', 'x.json', '--format', 'json'], {
      cwd: made.path,
    });
    const { snapshot, decisions } = JSON.parse(compiled.stdout) as { snapshot: string; decisions: string };
    for (const digest of [snapshot, snapshot.slice(0, 20), snapshot.slice(7)]) {
      const found = await run(made, 'find', digest, 'main:policies');
      expect([found.status, found.stderr]).toEqual([0, '2 of 7 commits compile to it\n']);
      expect(found.stdout).toBe(`${time(1)}  ${short(made, 1)}  Ann <ann@example.org>
  begin
  has the snapshot ${snapshot}
${time(2)}  ${short(made, 2)}  Ann <ann@example.org>
  about something else
  has the snapshot ${snapshot}
`);
    }
    expect((await run(made, 'find', decisions, 'main:policies')).stdout).toContain(`has the decisions ${decisions}`);
    const absent = await run(made, 'find', `sha256:${'0'.repeat(64)}`, 'main:policies');
    expect([absent.status, absent.stdout]).toEqual([7, '']);
    expect(absent.stderr).toMatch(/^none of 7 commits compile to it\n {2}help: .* the digest of the decisions\n$/);
    for (const bad of ['sha256:1234567', 'sha256:12345678g', `${snapshot}0`, 'main'])
      expect(await run(made, 'find', bad, 'main:policies')).toMatchObject({ status: 2, stdout: '' });
  });
});

describe('merges', () => {
  const base = policy({ crew: ['ann'] });
  const bob = policy({ crew: ['ann', 'bob'] });

  it('credit the merged commits that gave or took the rights, and nobody for what only the merge does', async () => {
    const made = await makeHistory([
      commit(base, []),
      commit(bob, [0], { author: 'Bob', message: 'Bob joins' }),
      commit({ ...bob, README: 'x' }, [1], { author: 'Eve', message: 'words' }),
      // The merge has what the branch does, and opens more by itself.
      commit(policy({ crew: ['ann', 'bob', 'eve'] }), [0, 2], { author: 'bot', message: 'Merge pull request #7' }),
    ]);
    const { stdout } = await run(made, 'history', `${made.names[0] ?? ''}..main:policies`);
    expect(stdout).toContain(`Merge pull request #7
  by ${short(made, 1)}  Bob <bob@example.org>: Bob joins
  + orcid:bob
      resource:read at and below /amx
      because orcid:bob was added to role crew (roles.yaml:5)
  by the merge itself: none of the merged commits changed this
  + orcid:eve
      resource:read at and below /amx
      because orcid:eve was added to role crew (roles.yaml:6)
1 commit, ${time(3)} to ${time(3)}: 1 changed these rights, in 2 rows
`);
    const all = await lines(made, 'history', `${made.names[0] ?? ''}..main:policies`);
    expect(all.map(({ by }) => by)).toEqual([
      [{ commit: made.names[1], author: 'Bob <bob@example.org>', time: time(1), subject: 'Bob joins' }],
      [],
    ]);
  });

  it('are followed into the branches that a branch merged, and each commit is credited at its first merge', async () => {
    const made = await makeHistory([
      commit(base, []),
      commit(bob, [0], { author: 'Bob' }),
      commit({ ...bob, README: 'x' }, [0, 1], { author: 'bot' }),
      commit({ ...bob, README: 'y' }, [0, 2], { author: 'bot' }),
      commit(policy({ crew: ['ann'] }), [2], { author: 'Cy' }),
      commit(policy({ crew: ['ann'] }), [3, 4], { author: 'bot' }),
    ]);
    const all = await lines(made, 'history', `${made.names[0] ?? ''}..main:policies`);
    expect(all.map(({ commit: name, change, by }) => [name, change, (by as { commit: string }[])[0]?.commit])).toEqual([
      [made.names[3], 'gained', made.names[1]],
      [made.names[5], 'lost', made.names[4]],
    ]);
  });

  it('leave out what the beginning of the range has already, and are searched by `find`', async () => {
    const made = await makeHistory([
      commit(base, []),
      commit(bob, [0], { author: 'Bob' }),
      commit(base, [0, 1], { author: 'bot' }),
      commit(bob, [2, 1], { author: 'Ann' }),
    ]);
    const all = await lines(made, 'history', `${made.names[1] ?? ''}..main:policies`);
    expect(all.map(({ commit: name, by }) => [name, by])).toEqual([[made.names[3], undefined]]);
    made.run('checkout', '-q', '-f', 'main');
    const compiled = JSON.parse(
      (await runCli(['compile', 'policies', '-o', 'x', '--format', 'json'], { cwd: made.path })).stdout,
    ) as { snapshot: string };
    const found = await lines(made, 'find', compiled.snapshot, 'main:policies');
    expect(found.map((one) => one['commit'])).toEqual([made.names[1], made.names[3]]);
  });
});

describe('a folder that was moved', () => {
  const before = { ...policy({ crew: ['ann'] }, 'old/place'), 'x/policy.yaml': HEADER.replace('facility', 'other') };

  it('is followed, also if some of it is changed on the way', async () => {
    const made = await makeHistory([
      commit(before, []),
      commit({ ...policy({ crew: ['ann', 'bob'] }), 'x/policy.yaml': before['x/policy.yaml'] }, [0], {
        message: 'move',
      }),
      commit(policy({ crew: ['bob'] }), [1]),
    ]);
    const all = await lines(made, 'history', 'main:policies');
    expect(
      all.map(({ commit: name, moved, change, row }) => [
        name,
        moved ?? change,
        (row as { identities: string[] } | undefined)?.identities,
      ]),
    ).toEqual([
      [made.names[0], 'gained', ['orcid:ann']],
      [made.names[1], { from: 'old/place', to: 'policies' }, undefined],
      [made.names[1], 'gained', ['orcid:bob']],
      [made.names[2], 'lost', ['orcid:ann']],
    ]);
    const { stdout } = await run(made, 'history', 'main:policies');
    expect(stdout).toContain('  move\n  the folder was moved from old/place to policies\n  + orcid:bob\n');
    const ranged = await lines(made, 'history', `${made.names[0] ?? ''}..main:policies`);
    expect(ranged.filter((one) => 'row' in one).map((one) => one['compared'])).toEqual([made.names[0], made.names[1]]);
  });

  it('is followed to the top of a repository and from there', async () => {
    const top = Object.fromEntries(
      Object.entries(policy({ crew: ['ann'] })).map(([path, text]) => [path.slice('policies/'.length), text]),
    );
    const made = await makeHistory([
      commit(policy({ crew: ['ann'] }), []),
      commit(top, [0]),
      commit(policy({ crew: ['ann'] }), [1]),
    ]);
    const all = await lines(made, 'history', 'main:policies');
    expect(all.flatMap(({ moved }) => moved ?? [])).toEqual([
      { from: 'policies', to: '' },
      { from: '', to: 'policies' },
    ]);
    expect(all.filter((one) => 'row' in one).map((one) => one['commit'])).toEqual([made.names[0]]);
  });

  it('is followed where another folder has more files than any policy', async () => {
    const many = Object.fromEntries(Array.from({ length: 40_001 }, (_, i) => [`data/f${String(i)}`, '']));
    const commits = [commit({ ...before, ...many }, []), commit({ ...policy({ crew: ['ann'] }), ...many }, [0])];
    const all = await lines(await makeHistory(commits, 'sha256'), 'history', 'main:policies');
    expect(all.flatMap(({ moved }) => moved ?? [])).toEqual([{ from: 'old/place', to: 'policies' }]);
  });

  it('is no folder that is still there, and none that has little of it', async () => {
    const copy = { ...before, ...policy({ crew: ['ann'] }) };
    const other = policy({
      crew: ['cy'],
      scope: 'resource:write',
      others: { 'policy.yaml': HEADER.replace('facility', 'new') },
    });
    for (const files of [copy, other]) {
      const made = await makeHistory([commit(before, []), commit(files, [0])]);
      const all = await lines(made, 'history', 'main:policies');
      expect(all.map(({ commit: name, moved }) => [name, moved])).toEqual([[made.names[1], undefined]]);
    }
  });

  it('leaves a policy in force while it is gone', async () => {
    const made = await makeHistory([
      commit(policy({ crew: ['ann'] }), []),
      commit({ README: 'gone' }, [0]),
      commit(policy({ crew: ['bob'] }), [1]),
    ]);
    const all = await lines(made, 'history', 'main:policies');
    expect(all.map(({ fault, change, compared }) => [fault ?? change, compared])).toEqual([
      ['gained', null],
      [{ code: 'policy.absent', message: 'there is no such folder at this commit' }, made.names[0]],
      ['gained', made.names[0]],
      ['lost', made.names[0]],
    ]);
  });
});

it('knows a person by every identity that any policy of the range names, and no other person', async () => {
  const made = await makeHistory([
    commit(policy({ crew: ['ann', 'bob'], others: { 'people.yaml': people('orcid:ann') } }), []),
    commit(policy({ crew: ['bob', 'ito'], others: { 'people.yaml': people('orcid:ito') } }), [0]),
  ]);
  const all = await lines(made, 'history', 'main:policies', '--person', 'ana-ito');
  expect(all.map(({ change, row }) => [change, (row as { identities: string[] }).identities])).toEqual([
    ['gained', ['orcid:ann']],
    ['gained', ['orcid:ito']],
    ['lost', ['orcid:ann']],
  ]);
  const { status, stderr } = await run(made, 'history', 'main:policies', '--person', 'ana-itto');
  expect([status, stderr]).toEqual([2, expect.stringContaining('ana-ito')]);
});

it('says so if no right in the range has a scope that only a policy could declare', async () => {
  const made = await makeHistory([commit(policy({ crew: ['ann'] }), [])]);
  const mistyped = await run(made, 'history', 'main:policies', '--scope', 'resorce:write', '--scope', 'resource:write');
  expect([mistyped.status, mistyped.stderr]).toEqual([
    0,
    'note: nobody gained or lost `resorce:write` in these commits; check its name, since only a policy can declare it\n',
  ]);
  expect((await run(made, 'history', 'main:policies', '--scope', 'resource:write')).stderr).toBe('');
});
