// Attestations and evidence as an auditor gets them: two policies were served, one after the other; what is gathered of the second
// is checked by the program in the file, and anything that is false stops it.
import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { hash } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { unzipSync } from 'fflate';
import { fromRoot } from '../support/root.js';
import { type CliRun, runCli } from '../support/run-cli.js';
import { serveHere } from '../support/serve-here.js';
import { newDataDir } from '../support/stores.js';
import { makeFolder } from '../support/temp-folder.js';
import { FAILING, PASSING, POLICY } from './policies.js';

const GUARDRAIL = 'guardrails:\n  - { id: stays-in-labs, never: { scopes: ["*:write"], under: /archive } }\n';
const MORE = 'grants:\n  - { id: more, role: staff, namespace: /labs/lasers, scopes: [resource:read] }\n';
const UNTIL = ['--environment', 'production', '--expires', '2999-01-01T00:00:00Z', '--generation'];

let cwd: string;
let audit: string;
const run = (...args: readonly string[]): Promise<CliRun> => runCli(args, { cwd });
const file = (name: string): string => join(cwd, name);

async function ok(...args: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await run(...args);
  expect([args[0], status, stderr]).toEqual([args[0], 0, '']);
  return stdout;
}

function put(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(file(`${folder}/${name}`)), { recursive: true });
    writeFileSync(file(`${folder}/${name}`), text);
  }
}

async function ring(name: string): Promise<void> {
  await ok('keygen', '-o', `${name}.key`);
  const middle = readFileSync(file(`${name}.key.pub`), 'utf8').split('\n')[1] ?? '';
  writeFileSync(file(`${name}.yaml`), `threshold: 1\nkeys:\n  - { name: ${name}, publicKey: ${middle} }\n`);
}

async function serveOnce(dataDir: string, snapshot: string): Promise<void> {
  const gateway = await serveHere(dataDir, 'serve', '--policy', file(snapshot));
  expect(await gateway.stop()).toBe(0);
}

const sha256 = (name: string): string => hash('sha256', readFileSync(file(name)), 'hex');

beforeAll(async () => {
  cwd = await makeFolder();
  put('old', { ...POLICY, 'tests.yaml': PASSING, 'guardrails.yaml': GUARDRAIL });
  put('new', { ...POLICY, 'tests.yaml': PASSING, 'guardrails.yaml': GUARDRAIL, 'more.yaml': MORE });
  for (const name of ['release', 'ci', 'log', 'other']) await ring(name);
  for (const [name, generation] of [
    ['old', '1'],
    ['new', '2'],
  ] as const) {
    await ok('compile', name, '-o', `${name}.json`);
    await ok('sign', `${name}.json`, '--key', 'release.key', ...UNTIL, generation);
  }
  const signed = ['--statement', 'new.json.dsse.json', '--keyring', 'release.yaml'];
  await ok('attest', 'new', '--base', 'old', '--key', 'ci.key', ...signed, '-o', 'new.svr.json');
  const dataDir = await newDataDir();
  await serveOnce(dataDir, 'old.json');
  await serveOnce(dataDir, 'new.json');
  audit = join(dataDir, 'audit');
});

describe('attest', () => {
  const check = (...args: readonly string[]): Promise<CliRun> =>
    run('check-attestation', 'new.svr.json', '--keyring', 'ci.yaml', ...args);

  it('states what was found, and nothing that was not', async () => {
    const { status, stdout } = await check('--snapshot', 'new.json', '--format', 'json');
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: true,
      subjects: [`sha256:${sha256('new.json')}`],
      verifier: 'urn:bailiwick:verifier:v1',
      properties: [
        ...['BAILIWICK_POLICY_VALID', 'BAILIWICK_TESTS_PASSED', 'BAILIWICK_GUARDRAILS_HELD'],
        ...['BAILIWICK_COMPARED', 'BAILIWICK_NO_WEAKER_CHECKS', 'BAILIWICK_SIGNED'],
      ],
    });
  });

  it('is an in-toto statement in DSSE, with the difference by the digest of what `diff` prints', async () => {
    const envelope = JSON.parse(readFileSync(file('new.svr.json'), 'utf8')) as { payload: string; payloadType: string };
    expect(envelope.payloadType).toBe('application/vnd.in-toto+json');
    const statement = JSON.parse(Buffer.from(envelope.payload, 'base64').toString()) as {
      readonly predicate: { readonly bailiwick: Readonly<Record<string, unknown>> };
    };
    expect(statement).toMatchObject({
      _type: 'https://in-toto.io/Statement/v1',
      subject: [{ name: 'facility', digest: { sha256: sha256('new.json') } }],
      predicateType: 'https://in-toto.io/attestation/svr/v0.1',
    });
    const diff = await ok('diff', 'old.json', 'new.json', '--format', 'json');
    expect(statement.predicate.bailiwick).toMatchObject({
      guardrails: { count: 1, names: ['stays-in-labs'] },
      tests: { count: 1, names: ['staff'] },
      compared: { snapshot: `sha256:${sha256('old.json')}`, rows: { gained: 1, lost: 0 }, diff: hash('sha256', diff) },
      signers: [{ name: 'release' }],
    });
  });

  it('says that the same decisions give nobody new access', async () => {
    await ok('attest', 'old', '--base', 'old.json', '--key', 'ci.key', '-o', 'same.svr.json');
    const required = ['BAILIWICK_SAME_DECISIONS', 'BAILIWICK_NO_NEW_ACCESS'].flatMap((one) => ['--require', one]);
    await ok('check-attestation', 'same.svr.json', '--keyring', 'ci.yaml', '--snapshot', 'old.json', ...required);
  });

  it.each([
    ['signed by nobody who is trusted', ['--keyring', 'other.yaml'], 8, 'signature.threshold'],
    ['about another snapshot', ['--snapshot', 'old.json'], 8, 'attestation.subject'],
    ['about another digest', ['--snapshot', `sha256:${'0'.repeat(64)}`], 8, 'attestation.subject'],
    ['without what is required', ['--require', 'BAILIWICK_NO_NEW_ACCESS'], 6, 'attestation.property'],
  ])('does not count if it is %s', async (_what, args, status, code) => {
    const found = await check(...args, '--format', 'json');
    expect([found.status, JSON.parse(found.stdout)]).toMatchObject([status, { error: { code } }]);
  });

  it('is not made of a policy that fails, of a snapshot, or with a statement that does not count', async () => {
    put('bad', { ...POLICY, 'tests.yaml': FAILING });
    const attempts = [
      [4, ['bad']],
      [2, ['new.json']],
      [8, ['new', '--statement', 'old.json.dsse.json', '--keyring', 'release.yaml']],
      [8, ['new', '--statement', 'new.json.dsse.json', '--keyring', 'other.yaml']],
      [2, ['new', '--statement', 'new.json.dsse.json']],
    ] as const;
    for (const [status, args] of attempts) {
      const made = await run('attest', ...args, '--key', 'ci.key', '-o', 'none.svr.json');
      expect([args, made.status]).toEqual([args, status]);
    }
    expect(readdirSync(cwd)).not.toContain('none.svr.json');
  });

  it('is read from other verifiers, too, and refused if it is something else that is signed', async () => {
    const found = await run('check-attestation', 'new.json.dsse.json', '--keyring', 'release.yaml');
    expect([found.status, found.stderr]).toEqual([8, expect.stringContaining('is signed, and is not an attestation')]);
  });
});

describe('evidence', () => {
  const all = (): readonly string[] => [
    ...['--log', audit, '--key', 'log.key', '--statement', 'new.json.dsse.json', '--statement-keyring', 'release.yaml'],
    ...['--attestation', 'new.svr.json', '--attestation-keyring', 'ci.yaml'],
  ];
  const digest = (): string => `sha256:${sha256('new.json')}`;

  async function unpacked(name: string): Promise<string> {
    const folder = await makeFolder();
    for (const [path, bytes] of Object.entries(unzipSync(readFileSync(file(name))))) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), bytes);
    }
    return folder;
  }
  const python = (folder: string, flags: readonly string[] = [], env = process.env): readonly unknown[] => {
    const options = { encoding: 'utf8', env } as const;
    const { status, stdout, stderr } = spawnSync('python3', [...flags, join(folder, 'check.py')], options);
    return [status, stdout + stderr];
  };

  it('holds everything, and the program in it finds it true', async () => {
    const { stdout } = await run('evidence', digest(), ...all(), '-o', 'all.zip', '--format', 'json');
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, missing: [], activations: 1 });
    const folder = await unpacked('all.zip');
    expect(readFileSync(join(folder, 'snapshot.json'))).toEqual(readFileSync(file('new.json')));
    expect(readFileSync(join(folder, 'before.json'))).toEqual(readFileSync(file('old.json')));
    const readme = readFileSync(join(folder, 'README.md'), 'utf8');
    expect(readme).toContain('## What is missing\n\nNothing.\n');
    expect(readme).toMatch(/event \d+ of the log [0-9a-z]+: gateway\.start by /);
    const [status, said] = python(folder);
    expect([status, said]).toEqual([
      0,
      expect.stringMatching(/: in force \(gateway\.start, event \d+\)\neverything is true; .*\n$/),
    ]);
    expect(said).toContain('diff.json is the difference that was attested\n');
  });

  it('is the same file if it is made again from the same parts', async () => {
    await ok('audit', 'checkpoint', audit, '--key', 'log.key', '-o', 'kept.checkpoint');
    const kept = ['--checkpoint', 'kept.checkpoint', '--public-key', 'log.key.pub'];
    for (const name of ['one.zip', 'two.zip']) await ok('evidence', digest(), ...all(), ...kept, '-o', name);
    expect(readFileSync(file('one.zip'))).toEqual(readFileSync(file('two.zip')));
  });

  it('lists what is missing, ends with 6, and holds the rest', async () => {
    const made = await run('evidence', digest(), '--log', audit, '-o', 'some.zip');
    expect([made.status, made.stderr]).toEqual([6, '']);
    for (const what of ['the publication statement', 'the attestation', 'a checkpoint of the log'])
      expect(made.stdout).toContain(`missing: ${what}`);
    expect(readFileSync(join(await unpacked('some.zip'), 'README.md'), 'utf8')).toContain(
      '- the publication statement',
    );
    const never = await run('evidence', 'new.json', ...all(), '--log', await makeLogless(), '-o', 'never.zip');
    expect([never.status, never.stdout]).toEqual([6, expect.stringContaining('missing: when it was in force')]);
  });

  it('says that nobody signed the difference if the attestation compares with another policy, or with none', async () => {
    for (const [name, base] of [
      ['other', ['--base', 'new']],
      ['none', []],
    ] as const) {
      await ok('attest', 'new', ...base, '--key', 'ci.key', '-o', `${name}.svr.json`);
      const made = await run('evidence', digest(), ...all(), '--attestation', `${name}.svr.json`, '-o', `${name}.zip`);
      expect([made.status, made.stdout]).toEqual([6, expect.stringContaining('missing: who signed what it changed')]);
      const [status, said] = python(await unpacked(`${name}.zip`));
      expect([status, said]).toEqual([6, expect.stringContaining('missing: who signed diff.json')]);
    }
  });

  it('of which a part was taken away is not complete, and the program says what is missing', async () => {
    await run('evidence', digest(), ...all(), '-o', 'parts.zip');
    const parts = [
      ['statement.dsse.json', 'who released it'],
      ['attestation.dsse.json', 'whether it passed its tests and guardrails'],
      ['diff.json', 'what it changed'],
      ['log/activations.jsonl', 'when it was in force'],
    ] as const;
    for (const [name, what] of parts) {
      const folder = await unpacked('parts.zip');
      rmSync(join(folder, name));
      expect([name, ...python(folder)]).toEqual([name, 6, expect.stringContaining(`missing: ${what}`)]);
    }
    for (const names of [['diff.json', 'before.json'], ['before.json']]) {
      const folder = await unpacked('parts.zip');
      for (const name of names) rmSync(join(folder, name));
      const said = `missing: what it changed: ${names.join(' and ')}\n`;
      expect([names, ...python(folder)]).toEqual([names, 6, expect.stringContaining(said)]);
    }
    const folder = await unpacked('parts.zip');
    const [proof = ''] = readdirSync(join(folder, 'log')).filter((name) => name.endsWith('.tlog-proof'));
    rmSync(join(folder, 'log', proof));
    expect(python(folder)).toEqual([6, expect.stringContaining('missing: proofs of 1 of 1 events')]);
  });

  it('of which a part was taken away is not called true where the rest of it is false, or led to that part', async () => {
    await run('evidence', digest(), ...all(), '-o', 'rest.zip');
    const folder = await unpacked('rest.zip');
    const inLog = (end: string): string => {
      const name = readdirSync(join(folder, 'log')).find((one) => one.endsWith(end)) ?? '';
      return join(folder, 'log', name);
    };
    const [checkpoint, proof] = [inLog('.checkpoint'), inLog('.tlog-proof')];
    const head = readFileSync(checkpoint);
    rmSync(checkpoint);
    expect(python(folder)).toEqual([
      6,
      expect.stringContaining(`missing: the head that log/${basename(proof)} leads to`),
    ]);
    rmSync(join(folder, 'log', 'activations.jsonl'));
    writeFileSync(checkpoint, head.toString().replace(/\n\n/, '\nanother\n\n'));
    expect(python(folder)).toEqual([1, expect.stringContaining('is not signed')]);
    writeFileSync(checkpoint, head);
    expect(python(folder)).toEqual([6, expect.stringContaining('missing: when it was in force')]);
  });

  it('of the first policy has no difference, and the program says so', async () => {
    const first = ['--statement', 'old.json.dsse.json', '--attestation', 'first.svr.json'];
    await ok('attest', 'old', '--key', 'ci.key', '-o', 'first.svr.json');
    await ok('evidence', `sha256:${sha256('old.json')}`, ...all(), ...first, '-o', 'first.zip');
    const said =
      'missing: what it changed: diff.json and before.json (there are none if nothing was in force before)\n';
    expect(python(await unpacked('first.zip'))).toEqual([6, expect.stringContaining(said)]);
  });

  it('says in a sentence that a file is nested too deep for its form', async () => {
    await run('evidence', digest(), ...all(), '-o', 'deep.zip');
    const folder = await unpacked('deep.zip');
    writeFileSync(join(folder, 'diff.json'), '['.repeat(100_000));
    const [status, said] = python(folder);
    expect([status, said]).toEqual([1, expect.stringContaining('FALSE: a file is not in its form')]);
    expect(said).not.toContain('Traceback');
  });

  it('is checked without assertions, and a key has no other name than its own', async () => {
    await run('evidence', digest(), ...all(), '-o', 'names.zip');
    const folder = await unpacked('names.zip');
    const [own = ''] = readdirSync(join(folder, 'statement-keys')).filter((name) => name.endsWith('.pem'));
    const trusted = `${'a'.repeat(64)}.pem`;
    renameSync(join(folder, 'statement-keys', own), join(folder, 'statement-keys', trusted));
    for (const flags of [[], ['-O'], ['-OO']])
      expect(python(folder, flags)).toEqual([1, expect.stringContaining('has the name of another key')]);
  });

  it('is not called false by a machine that cannot check it', async () => {
    await run('evidence', digest(), ...all(), '-o', 'bare.zip');
    const folder = await unpacked('bare.zip');
    const { stdout } = spawnSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' });
    symlinkSync(stdout.trim(), join(folder, 'python3'));
    expect(python(folder, [], { PATH: folder })).toEqual([2, expect.stringContaining('nothing was checked')]);
  });

  it('has no other counts of checks than the snapshot', async () => {
    await run('evidence', digest(), ...all(), '-o', 'counts.zip');
    const folder = await unpacked('counts.zip');
    const path = join(folder, 'checks.json');
    writeFileSync(path, readFileSync(path, 'utf8').replace('"count": 1', '"count": 2'));
    expect(python(folder)).toEqual([1, expect.stringContaining('checks.json is not of this snapshot')]);
  });

  /** A folder with the snapshots and no log. */
  async function makeLogless(): Promise<string> {
    const folder = await makeFolder();
    cpSync(join(audit, 'snapshots'), join(folder, 'snapshots'), { recursive: true });
    return folder;
  }

  it.each([
    ['a statement about another snapshot', ['--statement', 'old.json.dsse.json'], 8],
    ['a statement of somebody else', ['--statement-keyring', 'other.yaml'], 8],
    ['an attestation of somebody else', ['--attestation-keyring', 'other.yaml'], 8],
    ['a snapshot that the log does not keep', ['--log', '.'], 2],
  ])('is not made of %s', async (_what, args, status) => {
    const made = await run('evidence', digest(), ...all(), ...args, '-o', 'false.zip');
    expect(made.status).toBe(status);
    expect(readdirSync(cwd)).not.toContain('false.zip');
  });

  it('that was changed is found by the program in it, whichever file it is', async () => {
    await run('evidence', digest(), ...all(), '-o', 'tampered.zip');
    const names = readdirSync(await unpacked('tampered.zip'), { recursive: true, encoding: 'utf8' });
    const told = names.filter((name) => /\.(?:json|jsonl|checkpoint|tlog-proof|pem)$/.test(name));
    expect(told.length).toBeGreaterThan(9);
    expect(python(await unpacked('tampered.zip'))[0]).toBe(0);
    for (const name of told) {
      const folder = await unpacked('tampered.zip');
      const path = join(folder, name);
      const text = readFileSync(path, 'utf8');
      // In the middle, so that no end of a file hides it; keys and signatures are base64.
      const at = Math.floor(text.length / 2);
      writeFileSync(path, `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`);
      expect([name, python(folder)[0]]).toEqual([name, 1]);
    }
    const folder = await unpacked('tampered.zip');
    appendFileSync(join(folder, 'snapshot.json'), '\n');
    expect(python(folder)[0]).toBe(1);
  });
});

describe('the page for auditors in docs/audit.md', () => {
  const page = readFileSync(fromRoot('docs/audit.md'), 'utf8');
  const shell = (begin: string): string => {
    const at = page.indexOf(`$ ${begin}`);
    return page.slice(at + 2, page.indexOf('\n```', at));
  };
  const bash = (text: string): readonly unknown[] => {
    const { status, stdout, stderr } = spawnSync('bash', ['-c', text], { cwd, encoding: 'utf8' });
    return [status, stdout + stderr];
  };

  it('checks the lines that `audit query` printed with jq and sha256sum, and finds one that was changed', async () => {
    const lines = (await ok('audit', 'query', audit, '--format', 'json')).trimEnd().split('\n');
    expect(lines.length).toBeGreaterThan(1);
    const [first = '', ...others] = lines;
    // What `--record` adds to a line is no part of its hash.
    const marked = `${first.slice(0, -1)},"shown":"maybe"}`;
    writeFileSync(file('readers.jsonl'), `${[marked, ...others].join('\n')}\n`);
    expect(bash(shell('while read'))).toEqual([0, 'true\n'.repeat(lines.length)]);
    writeFileSync(file('readers.jsonl'), `${first.replace('"allowed"', '"failed"')}\n`);
    expect(bash(shell('while read'))).toEqual([0, 'false\n']);
  });

  it('shows what a signed file is about', () => {
    const [status, said] = bash(shell('jq -r .payload').replace('q4.dsse.json', 'new.json.dsse.json'));
    expect([status, said]).toEqual([0, expect.stringContaining(sha256('new.json'))]);
  });

  it('names verbs and options that there are', async () => {
    const section = page.slice(page.indexOf('## For an auditor'), page.indexOf('## Settings'));
    const commands = [...section.matchAll(/`bailiwick ([^`]+)`/g)].map(([, text = '']) => text.split(' '));
    expect(commands.length).toBeGreaterThan(9);
    for (const words of commands) {
      const depth = ['audit', 'review'].includes(words[0] ?? '') ? 2 : 1;
      const { status, stdout } = await run(...words.slice(0, depth), '--help');
      expect([words, status]).toEqual([words, 0]);
      for (const flag of words.filter((word) => word.startsWith('-'))) expect(stdout).toContain(flag);
    }
  });
});

it('overwrites nothing that a command reads', async () => {
  const log = ['--log', audit];
  const settings = ['--config', 'log.gateway.yaml'];
  writeFileSync(file('log.gateway.yaml'), `audit:\n  signingKey: ${file('log.key')}\n`);
  await ok('audit', 'checkpoint', audit, '--key', 'log.key', '-o', 'first.checkpoint');
  const kept = (snapshot: string): string => join(audit, 'snapshots', `${sha256(snapshot)}.json`);
  writeFileSync(join(audit, 'archived.sha256'), '');
  const commands: readonly (readonly string[])[] = [
    ['evidence', 'new.json', ...log, '-o', 'new.json'],
    ['evidence', 'new.json', ...log, '-o', 'new.json.dsse.json'],
    ['evidence', 'new.json', '--base', 'old.json', ...log, '-o', 'old.json'],
    ['evidence', 'new.json', '--statement-keyring', 'release.yaml', ...log, '-o', 'release.yaml'],
    ['attest', 'new', '--key', 'ci.key', '-o', 'ci.key'],
    ['attest', 'new', '--key', 'ci.key', '-o', 'new/more.yaml'],
    [
      ...['prove', 'new.json', '--identity', 'orcid:0000-0002-1825-0097', '--scope', 'resource:read'],
      ...['--namespace', '/labs', '-o', 'new.json'],
    ],
    ['playground', 'new', '-o', 'new/more.yaml'],
    ['compile', 'new', '-o', 'new/more.yaml'],
    // What the audit folder keeps beside the log, which other verbs read there, too.
    ['evidence', `sha256:${sha256('new.json')}`, ...log, '-o', kept('new.json')],
    ['evidence', 'new.json', ...log, '-o', kept('old.json')],
    ['audit', 'checkpoint', audit, '--key', 'log.key', '-o', kept('old.json')],
    ['audit', 'checkpoint', audit, '--key', 'log.key', '-o', join(audit, 'archived.sha256')],
    // The key and the checkpoint that no option names, or that only signs.
    ['evidence', 'new.json', ...log, ...settings, '-o', 'log.key'],
    ['audit', 'checkpoint', audit, ...settings, '-o', 'log.key'],
    ['audit', 'prove', '1', audit, '--checkpoint', 'first.checkpoint', '-o', 'first.checkpoint'],
  ];
  for (const command of commands) {
    const path = resolve(cwd, command.at(-1) ?? '');
    const before = readFileSync(path);
    const { status, stderr } = await run(...command);
    expect([command.join(' '), status, stderr]).toEqual([
      command.join(' '),
      2,
      expect.stringContaining('is read by this command and would be overwritten'),
    ]);
    expect(readFileSync(path).equals(before)).toBe(true);
  }
});

it('says that a digest of --base is none, in place of blaming the log', async () => {
  const { status, stderr } = await run('evidence', 'new.json', '--base', 'sha256:typo', '--log', audit, '-o', 'x.zip');
  expect([status, stderr]).toEqual([2, expect.stringContaining('`sha256:typo` is not a digest')]);
});
