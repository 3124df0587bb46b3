// Checkpoints and proofs as an auditor uses them: one that was kept finds every tampering, and the page's own program
// checks a proof.
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { hash } from 'node:crypto';
import { type Checkpoint, parseCheckpoint } from '../../server/audit/checkpoint.js';
import { BEGINNING } from '../../server/audit/chain.js';
import { verifyLogs } from '../../server/audit/verify.js';
import { canonicalJson } from '../../server/json/canonical-json.js';
import { makeKeyPair } from '../../server/signing/ed25519.js';
import { parseNote } from '../../server/signing/signed-note.js';
import { LOG, logOf, readLines, writeLog } from '../support/audit-log.js';
import { fromRoot } from '../support/root.js';
import { runCli, spawnCli } from '../support/run-cli.js';
import { serveHere } from '../support/serve-here.js';
import { newDataDir } from '../support/stores.js';
import { makeFolder } from '../support/temp-folder.js';
import { times } from '../support/test-runs.js';
import { startWitness } from '../support/witness.js';

const EVENTS = 30;
const KEPT = 21;
const TAMPERINGS = times({ usual: 300, deep: 2_000 });
/** Found on the path. */
const OPENSSL = 'openssl';

let keys: string;
let folder: string;
let lines: readonly string[];
const file = (name: string): string => join(keys, name);

async function makeKey(name: string): Promise<void> {
  const pair = makeKeyPair();
  writeFileSync(file(name), pair.privatePem, { mode: 0o600 });
  chmodSync(file(name), 0o600);
  writeFileSync(file(`${name}.pub`), pair.publicPem);
  await Promise.resolve();
}

beforeAll(async () => {
  keys = await makeFolder();
  await makeKey('key');
  await makeKey('other');
  folder = (await writeLog(EVENTS)).folder;
  lines = readLines(folder);
  const early = await logOf(lines.slice(0, KEPT));
  const made = await runCli(['audit', 'checkpoint', early, '--key', file('key'), '-o', file('kept')]);
  expect([made.status, made.stderr]).toEqual([0, '']);
});

const verify = (where: string, key = 'key'): ReturnType<typeof runCli> =>
  runCli(['audit', 'verify', where, '--checkpoint', file('kept'), '--public-key', file(`${key}.pub`)]);

function kept(): Checkpoint {
  const checkpoint = parseCheckpoint(parseNote(readFileSync(file('kept'), 'utf8'))?.text ?? '');
  if (checkpoint === null) throw new Error('no checkpoint');
  return checkpoint;
}

/** The events with hashes that fit. */
function chained(events: readonly Readonly<Record<string, unknown>>[]): readonly string[] {
  let head = BEGINNING;
  return events.map(({ hash: _, ...rest }) => {
    const body = { ...rest, previous: head.hash, seq: head.seq + 1 };
    head = { seq: head.seq + 1, hash: `sha256:${hash('sha256', canonicalJson(body))}` };
    return canonicalJson({ ...body, hash: head.hash });
  });
}

const parsed = (): Readonly<Record<string, unknown>>[] =>
  lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);

describe('a checkpoint that was kept', () => {
  it('shows that the log only grew', async () => {
    expect(await verify(folder)).toMatchObject({ status: 0 });
    expect(await verify(await logOf(lines.slice(0, KEPT)))).toMatchObject({ status: 0 });
  });

  it('is not taken from another key, and not changed', async () => {
    expect(await verify(folder, 'other')).toMatchObject({ status: 8, stderr: expect.stringContaining('by this key') });
    writeFileSync(file('changed'), readFileSync(file('kept'), 'utf8').replace(`\n${String(KEPT)}\n`, '\n20\n'));
    const asked = ['audit', 'verify', folder, '--checkpoint', file('changed'), '--public-key', file('key.pub')];
    expect(await runCli(asked)).toMatchObject({ status: 8, stderr: expect.stringContaining('was changed') });
  });

  it('finds a log that was written anew, cut, or taken away, whatever its hashes say', async () => {
    const anew = await logOf(chained(parsed().map((one, at) => (at === 4 ? { ...one, status: 200 } : one))));
    expect((await runCli(['audit', 'verify', anew])).status).toBe(0);
    const found = await verify(anew);
    expect([found.status, found.stdout]).toEqual([8, expect.stringContaining(`${LOG}: 21: checkpoint: `)]);
    expect(found.stdout).toContain('rewritten');
    expect((await verify(await logOf(lines.slice(0, KEPT - 1)))).stdout).toContain('its end was cut off');
    expect((await verify(await makeFolder())).stdout).toContain('the log of the checkpoint is missing');
  });

  it('finds random tamperings with all files in hand, hashes that fit included', async () => {
    const checkpoints = [kept()];
    let seed = 7;
    const random = (below: number): number => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % below;
    };
    const where = await logOf(lines);
    for (let n = 0; n < TAMPERINGS; n += 1) {
      const events = parsed();
      const at = random(KEPT);
      const act = random(4);
      if (act === 0) events[at] = { ...events[at], status: 200 + random(300) + 201 };
      else if (act === 1) events.splice(at, 1);
      else if (act === 2) events.splice(at, 0, { ...events[at], id: `forged${String(n)}` });
      else events.splice(at, 2, events[at + 1] ?? {}, events[at] ?? {});
      const tampered = chained(events);
      writeFileSync(join(where, `${LOG}.000000000000001.jsonl`), tampered.map((line) => `${line}\n`).join(''));
      const { faults } = await verifyLogs(where, { checkpoints });
      expect([n, faults.map(({ kind }) => kind)]).toEqual([n, ['checkpoint']]);
    }
  });

  it('is not signed about a log with a fault', async () => {
    const broken = await logOf(lines.map((line, at) => (at === 3 ? line.replace('400', '200') : line)));
    const run = await runCli(['audit', 'checkpoint', broken, '--key', file('key')]);
    expect([run.status, run.stdout, run.stderr]).toEqual([8, '', expect.stringContaining('nothing is signed')]);
  });
});

describe('a gateway with a key for checkpoints', () => {
  it('signs one at its end, which verifies and carries proofs, and has a witness sign it', async () => {
    const witness = await startWitness('witness.example/w1');
    const dataDir = await newDataDir();
    const cwd = await makeFolder({
      'policy/policy.yaml': 'bailiwick: 1\nname: checked\nproviders:\n  orcid: {}\n',
      'gateway.yaml': [
        'audit:',
        `  signingKey: ${file('key')}`,
        '  witnesses:',
        `    - { url: '${witness.url}', key: '${witness.verifierKey}' }`,
        '',
      ].join('\n'),
    });
    const settings = ['--config', join(cwd, 'gateway.yaml'), '--policy', join(cwd, 'policy')];
    const gateway = await serveHere(dataDir, 'serve', ...settings);
    expect(await gateway.stop()).toBe(0);
    await witness.stop();
    const audit = join(dataDir, 'audit');
    const [log = ''] = readLines(audit).map((line) => (JSON.parse(line) as { readonly log: string }).log);
    const note = join(audit, `${log}.checkpoint`);
    const { text = '' } = parseNote(readFileSync(note, 'utf8')) ?? {};
    expect(parseCheckpoint(text)?.size).toBe(readLines(audit).length);
    expect(readFileSync(note, 'utf8')).toContain('\n\u2014 witness.example/w1 ');
    expect(gateway.stderr()).toContain('a checkpoint of the audit log was signed');
    const checked = ['--checkpoint', note, '--public-key', file('key.pub')];
    expect(await runCli(['audit', 'verify', audit, ...checked])).toMatchObject({ status: 0 });
    const proof = join(cwd, 'proof');
    expect(await runCli(['audit', 'prove', '1', audit, '--checkpoint', note, '-o', proof])).toMatchObject({
      status: 0,
    });
    expect(await runCli(['audit', 'check-proof', proof, '--public-key', file('key.pub')])).toMatchObject({ status: 0 });
  });

  it.each([
    [
      'is no key',
      (): readonly string[] => [`  signingKey: ${file('key.pub')}`],
      2,
      'is a public key, and nobody can sign with one',
    ],
    [
      'of a witness was mistyped',
      (): readonly string[] => [
        `  signingKey: ${file('key')}`,
        `  witnesses: [{ url: 'https://w.example', key: 'w.example+00000000+${'A'.repeat(44)}' }]`,
      ],
      2,
      'is not the verifier key of a witness',
    ],
    [
      'is missing beside witnesses',
      (): readonly string[] => [
        `  witnesses: [{ url: 'https://w.example', key: 'w.example+00000000+${'A'.repeat(44)}' }]`,
      ],
      2,
      '`audit.witnesses` needs `audit.signingKey`',
    ],
  ])('does not start where the key %s', async (_, audit, status, message) => {
    const cwd = await makeFolder({
      'policy/policy.yaml': 'bailiwick: 1\nname: checked\nproviders:\n  orcid: {}\n',
      'bailiwick.yaml': ['audit:', ...audit(), ''].join('\n'),
    });
    const settings = ['--policy', 'policy', '--data-dir', await newDataDir(), '--listen', '127.0.0.1:0'];
    const ran = await spawnCli(['serve', ...settings, '--admin-listen', 'none'], { cwd });
    expect(ran).toMatchObject({ status, stderr: expect.stringContaining(message) });
  });
});

describe('a proof of one event', () => {
  const prove = (seq: number, name: string, ...more: readonly string[]): ReturnType<typeof runCli> =>
    runCli(['audit', 'prove', String(seq), folder, '-o', file(name), '--key', file('key'), ...more]);
  const check = (name: string, key = 'key.pub'): ReturnType<typeof runCli> =>
    runCli(['audit', 'check-proof', file(name), '--public-key', file(key)]);

  it.each([1, 2, 17, KEPT])('shows event %i in a checkpoint that was kept, and in one of now', async (seq) => {
    for (const more of [['--checkpoint', file('kept')], []]) {
      expect((await prove(seq, 'proof', ...more)).status).toBe(0);
      const checked = await check('proof');
      const size = more.length === 0 ? EVENTS : KEPT;
      expect(checked).toMatchObject({ status: 0, stdout: `${lines[seq - 1] ?? ''}\n` });
      expect(checked.stderr).toBe(`event ${String(seq)} of ${String(size)} in the log ${LOG}\n`);
    }
    expect(readFileSync(file('proof'), 'utf8').split('\n')[0]).toBe('c2sp.org/tlog-proof@v1');
  });

  it('is refused for an event that the checkpoint does not have', async () => {
    const late = await prove(KEPT + 1, 'late', '--checkpoint', file('kept'));
    expect([late.status, late.stderr]).toEqual([2, expect.stringContaining('event 22 is not among them')]);
  });

  it('proves nothing about another event, another place, or by another key', async () => {
    await prove(5, 'proof');
    expect((await check('proof', 'other.pub')).status).toBe(8);
    const text = readFileSync(file('proof'), 'utf8');
    const extra = `extra ${Buffer.from(lines[5] ?? '').toString('base64')}`;
    for (const forged of [text.replace(/^extra .*$/m, extra), text.replace('index 4', 'index 5'), 'anything']) {
      writeFileSync(file('forged'), forged);
      expect((await check('forged')).status).toBe(8);
    }
  });

  it('is checked by the program of the page', async () => {
    const python = spawnSync('python3', ['--version']).status === 0;
    const openssl = /^OpenSSL 3/.test(String(spawnSync(OPENSSL, ['version']).stdout));
    if (!python || !openssl) {
      process.stderr.write('python3 or OpenSSL 3 is not on this machine: the program of docs/proofs.md is not run\n');
      return;
    }
    const [, program = ''] = /```python\n([^]*?)```/.exec(readFileSync(fromRoot('docs/proofs.md'), 'utf8')) ?? [];
    writeFileSync(file('check.py'), program);
    await prove(17, 'proof', '--checkpoint', file('kept'));
    const run = (name: string): string =>
      execFileSync('python3', [file('check.py'), file(name), file('key.pub')], { encoding: 'utf8', stdio: 'pipe' });
    expect(run('proof')).toBe(`${lines[16] ?? ''}\n`);
    const text = readFileSync(file('proof'), 'utf8');
    const extra = `extra ${Buffer.from(lines[5] ?? '').toString('base64')}`;
    for (const forged of [
      text.replace(/^extra .*$/m, extra),
      text.replace('index 16', 'index 15'),
      text.replace(`\n${String(KEPT)}\n`, '\n22\n'),
    ]) {
      writeFileSync(file('forged'), forged);
      expect(() => run('forged')).toThrow();
    }
  });
});
