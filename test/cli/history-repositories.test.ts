// `history` and `find` on repositories that are odd, cut off, or forged, and with what earlier runs have kept.
import { execFileSync } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from '@jest/globals';
import { FORGERIES } from '../support/git-forgeries.js';
import { makeHistory } from '../support/git-history.js';
import { PROGRAMS } from '../support/git-repository.js';
import { commit, lines, policy, run } from '../support/policy-commits.js';
import { CLI, runCli, spawnCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';

describe('a repository that is odd', () => {
  it('is shallow: what its oldest commit changed is not known, and that is said', async () => {
    const whole = await makeHistory([
      commit(policy({ crew: ['ann'] }), []),
      commit(policy({ crew: ['ann', 'bob'] }), [0]),
      commit(policy({ crew: ['bob'] }), [1]),
    ]);
    const path = await makeFolder();
    execFileSync('git', ['clone', '-q', '--depth', '2', `file://${whole.path}`, path], { env: { PATH: PROGRAMS } });
    const { status, stdout, stderr } = await run({ path }, 'history', 'main:policies', '--format', 'json');
    expect(status).toBe(0);
    expect(
      stdout
        .split('\n')
        .filter(Boolean)
        .map((line) => (JSON.parse(line) as { commit: string }).commit),
    ).toEqual([whole.names[2]]);
    expect(stderr).toContain(
      `it does not have the commit ${whole.names[0] ?? ''}, so what the oldest commit here changed is not known`,
    );
    expect((await run({ path }, 'find', 'sha256:00000000', 'main:policies')).stderr).toContain(
      'what it does not have was not searched',
    );
  });

  it('has what no policy folder contains: that commit has no policy, and the others have theirs', async () => {
    const base = await makeHistory([commit(policy({ crew: ['ann'] }), [])]);
    base.run('checkout', '-q', '-f', 'main');
    execFileSync('ln', ['-s', '/etc/passwd', join(base.path, 'policies', 'link.yaml')]);
    base.run('add', '-A');
    base.run('commit', '-q', '-m', 'link', '--no-gpg-sign');
    const linked = base.run('rev-parse', 'HEAD');
    base.commit(policy({ crew: ['bob'] }));
    const all = await lines(base, 'history', 'main:policies');
    expect(all.map(({ fault, change }) => (fault as { code: string } | undefined)?.code ?? change)).toEqual([
      'gained',
      'revision.unreadable',
      'gained',
      'lost',
    ]);
    expect(all[1]).toMatchObject({ commit: linked, fault: { message: expect.stringContaining('symbolic link') } });
  });

  it('says what a terminal would obey: names, subjects and mistakes are escaped', async () => {
    const evil = '\u001b[2J\u009b0m\u202e';
    const made = await makeHistory([
      commit(policy({ crew: ['ann'] }), [], { author: `Eve${evil}`, message: `wipe ${evil}` }),
      commit(policy({ crew: ['ann'], scope: evil }), [0], { author: 'Eve', message: 'x' }),
      commit(policy({ crew: ['bob'] }), [0, 1], { author: 'Eve', message: evil }),
    ]);
    const { stdout } = await run(made, 'history', 'main:policies');
    expect(stdout).toContain('wipe \\x1b[2J\\x9b0m\\u{202e}');
    // eslint-disable-next-line no-control-regex -- which must not occur
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  });

  test.each(FORGERIES)('holds something else under a name, by %s: nothing is computed of it', async (_, forge) => {
    for (const kind of ['blob', 'commit'] as const) {
      const made = await makeHistory([commit(policy({ crew: ['ann'] }), []), commit(policy({ crew: ['bob'] }), [0])]);
      const cache = await makeFolder();
      const name =
        kind === 'commit' ? (made.names[0] ?? '') : made.run('rev-parse', `${made.names[0] ?? ''}:policies/roles.yaml`);
      await forge(made, name, { kind, bytes: Buffer.from(`${made.run('cat-file', kind, name)}\nmore\n`) });
      for (const verb of [['history'], ['find', 'sha256:00000000']]) {
        const { status, stdout, stderr } = await run(
          made,
          ...verb,
          'main:policies',
          '--cache',
          cache,
          '--format',
          'json',
        );
        expect([status, JSON.parse(stdout)]).toEqual([
          8,
          { error: expect.objectContaining({ code: 'source.forged' }) },
        ]);
        expect(stdout + stderr).toContain(name);
      }
    }
  });

  test.each([
    ['lies', 'echo x missing; cat >/dev/null; exit 0'],
    ['says nothing', 'exit 0'],
    ['fails', 'exit 3'],
    ['is endless', 'yes "$(printf %01000d 0)"'],
  ])('is read by a git that %s', async (_, script) => {
    const made = await makeHistory([commit(policy({ crew: ['ann'] }), [])]);
    const folder = await makeFolder({
      git: `#!/bin/sh\ncase "$*" in *cat-file*) ${script};; esac\nPATH='${PROGRAMS}' exec git "$@"\n`,
    });
    chmodSync(join(folder, 'git'), 0o755);
    const { status, stdout, stderr } = await runCli(['history', 'main:policies', '--no-cache'], {
      cwd: made.path,
      env: { PATH: `${folder}:${PROGRAMS}` },
    });
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(
      /^error: `main:policies` cannot be used: the git checkout `[^`]+` (?:has|cannot be read|lacks)/,
    );
  });
});

describe('what is kept', () => {
  const commits = Array.from({ length: 4 }, (_, i) =>
    commit(policy({ crew: ['ann', `x${String(i)}`] }), i === 0 ? [] : [i - 1]),
  );
  const filesIn = (folder: string): readonly string[] =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((one) => one.isFile())
      .map((one) => join(one.parentPath, one.name))
      .sort();

  it('is used by the next run, and what is damaged, cut off or misplaced is computed again', async () => {
    const made = await makeHistory(commits);
    const cache = await makeFolder();
    const first = await run(made, 'history', 'main:policies', '--cache', cache);
    const files = filesIn(cache);
    expect(files).toHaveLength(8);
    expect(statSync(files[0] ?? '').mode & 0o077).toBe(0);
    const times = files.map((file) => statSync(file).mtimeMs);
    expect(await run(made, 'history', 'main:policies', '--cache', cache)).toEqual(first);
    expect(files.map((file) => statSync(file).mtimeMs)).toEqual(times);
    const texts = files.map((file) => readFileSync(file, 'utf8'));
    const [one = '', another = ''] = texts;
    const damages = [
      ...['', 'x', one.slice(0, -1), `${one}\n`, one.replace(/\n/, ' '), `${'0'.repeat(64)}\n{}\n`],
      ...[one.replace('ann', 'eve'), one.replace('policy', 'fault'), another].filter((text) => text !== one),
    ];
    for (const damage of damages) {
      for (const file of files) writeFileSync(file, damage);
      expect(await run(made, 'history', 'main:policies', '--cache', cache)).toEqual(first);
      expect(files.map((file) => readFileSync(file, 'utf8'))).toEqual(texts);
    }
  });

  it('cannot be kept: that is said once, and everything is computed', async () => {
    const made = await makeHistory(commits);
    const folder = await makeFolder({ file: 'no folder' });
    const { status, stdout, stderr } = await run(made, 'history', 'main:policies', '--cache', join(folder, 'file'));
    expect([status, stdout]).toEqual([0, (await run(made, 'history', 'main:policies')).stdout]);
    expect(stderr).toMatch(
      /^warning: nothing can be kept in .*file \(ENOTDIR\), so the next run computes all of it again\n {2}help: .*\n$/,
    );
  });

  it('is what an interrupted run leaves: the next one goes on from there', async () => {
    const many = Array.from({ length: 400 }, (_, i) =>
      commit(policy({ crew: ['ann', `x${String(i)}`] }), i === 0 ? [] : [i - 1]),
    );
    const made = await makeHistory(many);
    const cache = await makeFolder();
    const args = ['history', 'main:policies', '--cache', cache];
    // Its parent sends the signal when there is something on its standard output.
    const script = `const { spawn } = require('node:child_process');
      const [program, ...args] = process.argv.slice(1);
      const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
      child.stdout.once('data', () => child.kill('SIGINT')).resume();
      child.on('close', (code, signal) => console.log(code, signal));`;
    const ended = execFileSync(process.execPath, ['-e', script, CLI, ...args], {
      cwd: made.path,
      encoding: 'utf8',
      stdio: 'pipe',
    });
    expect(ended.trim()).toBe('null SIGINT');
    const kept = filesIn(cache);
    expect(kept.length).toBeGreaterThan(1);
    expect(kept.length).toBeLessThan(800);
    const times = kept.map((file) => statSync(file).mtimeMs);
    const next = await spawnCli(args, { cwd: made.path });
    expect(next.stdout).toBe((await run(made, 'history', 'main:policies')).stdout);
    expect(kept.map((file) => statSync(file).mtimeMs)).toEqual(times);
    expect(filesIn(cache)).toHaveLength(800);
  }, 120_000);
});
