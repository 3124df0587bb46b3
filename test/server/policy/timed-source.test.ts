// A source whose disk hangs: a pipe that nobody writes to, which holds a thread of this process as such a disk does.
import { expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { faultOfRefusal } from '../../../server/policy/policy-fault.js';
import { makePathSource } from '../../../server/policy/sources/path-source.js';
import type { Source, Why } from '../../../server/policy/sources/source.js';
import { sourceState } from '../../../server/policy/sources/source-state.js';
import { timedSource } from '../../../server/policy/sources/timed-source.js';
import { A, B, follow } from '../../support/followed-policy.js';
import { makeFolder } from '../../support/temp-folder.js';
import { until } from '../../support/until.js';

const LATE = { code: 'source.unreadable', message: 'its disk does not answer (no answer within 0.2 seconds)' };

interface Hung {
  readonly folder: string;
  /** Like the file, but the first look hangs. */
  readonly source: Source;
  readonly looks: () => number;
  readonly free: () => void;
}

async function hung(): Promise<Hung> {
  const folder = await makeFolder();
  const [path, pipe] = [join(folder, 'snapshot.json'), join(folder, 'pipe')];
  execFileSync('mkfifo', [pipe]);
  writeFileSync(path, A.bytes);
  const { facts, look } = await makePathSource(path);
  let looks = 0;
  const source: Source = {
    facts,
    look: async (...asked) => {
      looks += 1;
      if (looks === 1) await readFile(pipe);
      return look(...asked);
    },
  };
  const free = (): void => {
    writeFileSync(pipe, '');
  };
  return { folder, source, looks: () => looks, free };
}

it('is away for as long as it hangs, is not asked again meanwhile, and goes on by itself', async () => {
  const { folder, source, looks, free } = await hung();
  const { policies, put, watch, lines } = await follow({ folder, source: timedSource(source, 200), interval: 20 });
  put(B.bytes);
  await until(() => policies.state().refusal !== null);
  expect(policies.state().refusal).toMatchObject(LATE);
  // Far more looks than there are threads.
  await sleep(400);
  expect([looks(), lines.map(({ fields }) => fields['code'])]).toEqual([1, ['source.unreadable']]);
  await watch.pollNow();
  expect([looks(), lines.length]).toEqual([1, 2]);
  free();
  await until(() => policies.current().policy.digest === B.policy.digest);
  expect(policies.state().refusal).toBeNull();
  expect(lines.slice(2).map(({ message }) => message)).toEqual([
    'the source of the policy can be read again',
    'the policy was replaced',
  ]);
});

it('keeps an offer that came too late for whoever looks next', async () => {
  const { source, looks, free } = await hung();
  const timed = timedSource(source, 200);
  const look = (why: Why): Promise<string> =>
    timed.look(why, new AbortController().signal).then(
      ({ kind }) => kind,
      (error: unknown) => faultOfRefusal(error).code,
    );
  expect(await look('now')).toBe(LATE.code);
  free();
  await until(async () => (await look('poll')) === 'offer');
  expect([looks(), await look('poll'), looks()]).toEqual([1, 'same', 2]);
});

it('may take as long as its disk goes on answering', async () => {
  const { facts, look } = await makePathSource(await makeFolder());
  const slow: Source = {
    facts,
    look: async (why, signal, heard) => {
      for (let i = 0; i < 8; i += 1) {
        await sleep(100);
        heard?.();
      }
      return look(why, signal, heard);
    },
  };
  expect(await timedSource(slow, 500).look('poll', new AbortController().signal)).toEqual({ kind: 'same' });
});

it('is told by its files in any folder below it, and in those that links lead to', async () => {
  const folder = await makeFolder({ 'policy/a/b/c.yaml': 'a', 'elsewhere/d.yaml': 'a' });
  const policy = join(folder, 'policy');
  symlinkSync('../elsewhere', join(policy, 'link'));
  let before = await sourceState([policy]);
  const steps: readonly (() => void)[] = [
    () => {
      writeFileSync(join(policy, 'a/b/c.yaml'), 'aa');
    },
    () => {
      writeFileSync(join(folder, 'elsewhere/d.yaml'), 'aa');
    },
    () => {
      mkdirSync(join(policy, 'a/b/new'));
    },
  ];
  for (const step of steps) {
    expect(await sourceState([policy])).toBe(before);
    step();
    const after = await sourceState([policy]);
    expect(after).not.toBe(before);
    before = after;
  }
});

it('is not told by files that no policy has, however they are written', async () => {
  const names = [
    '.sync-state',
    '.policy.yaml.swp',
    'README.md',
    '.git/index',
    '..data/policy.yaml',
    '.tool/state.json',
  ];
  const counted = ['.team.yaml', '.team.yml', '.old/team.yaml', 'team.yml', 'notes.txt', 'deep/a.yaml'];
  const path = join(await makeFolder({ 'policy/policy.yaml': 'a', 'policy/deep/.keep': '' }), 'policy');
  const write = (name: string, text: string): void => {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, `${name}.new`), text);
    renameSync(join(path, `${name}.new`), join(path, name));
  };
  mkdirSync(join(path, '.tool'));
  const before = await sourceState([path]);
  for (const text of ['a', 'bb']) {
    for (const name of names) {
      write(name, text);
      expect([name, await sourceState([path])]).toEqual([name, before]);
    }
  }
  for (const name of counted) {
    let last = await sourceState([path]);
    for (const text of ['a', 'bb', null]) {
      if (text === null) rmSync(join(path, name));
      else write(name, text);
      const now = await sourceState([path]);
      expect([name, now === last]).toEqual([name, false]);
      last = now;
    }
  }
});
