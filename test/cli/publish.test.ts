// keygen, sign and verify as a publisher and an operator use them, and as someone would who should not pass.
import { execFileSync } from 'node:child_process';
import { createHash, createPrivateKey, createPublicKey, sign as signBytes, verify } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, copyFile, readFile, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, test } from '@jest/globals';
import { ENGINE_LIMITS } from '../../engine/compiler.js';
import { POLICY_LIMITS } from '../../server/limits/policy.js';
import { main } from '../../server/cli/main.js';
import { makeIo } from '../support/cli-io.js';
import { makeFolder } from '../support/temp-folder.js';
import { POLICY } from './policies.js';

interface Ran {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly json: () => Readonly<Record<string, unknown>>;
}

let cwd: string;
const at = (name: string): string => join(cwd, name);

async function run(...args: readonly string[]): Promise<Ran> {
  const made = makeIo();
  const status = await main(args, { ...made.io, cwd });
  const stdout = made.stdout();
  return { status, stdout, stderr: made.stderr(), json: () => JSON.parse(stdout) as Readonly<Record<string, unknown>> };
}

const FOR = ['--environment', 'production', '--generation', '7', '--expires', '2999-01-01T00:00:00Z'];
const sign = (...args: readonly string[]): Promise<Ran> => run('sign', 's.json', ...args, ...FOR);
const check = (...args: readonly string[]): Promise<Ran> => run('verify', 's.json', ...args, '--format', 'json');

async function keyring(name: string, threshold: number, keys: Readonly<Record<string, string>>): Promise<void> {
  const entries = await Promise.all(
    Object.entries(keys).map(async ([key, file]) => {
      const pem = await readFile(at(`${file}.pub`), 'utf8');
      return `  - name: ${key}\n    publicKey: ${pem.split('\n')[1] ?? ''}\n`;
    }),
  );
  await writeFile(at(name), `threshold: ${String(threshold)}\nkeys:\n${entries.join('')}`);
}

beforeAll(async () => {
  cwd = await makeFolder(Object.fromEntries(Object.entries(POLICY).map(([path, text]) => [`policy/${path}`, text])));
  expect((await run('compile', 'policy', '-o', 's.json')).status).toBe(0);
  for (const key of ['ana.key', 'ben.key']) expect((await run('keygen', '-o', key)).status).toBe(0);
  await keyring('one.yaml', 1, { ana: 'ana.key' });
  await keyring('two.yaml', 2, { ana: 'ana.key', ben: 'ben.key' });
  await sign('--key', 'ana.key', '-o', 'ana.dsse.json');
});

describe('keygen', () => {
  it('makes a private key for its owner alone, and the public one beside it', async () => {
    const made = await run('keygen', '-o', 'new.key', '--format', 'json');
    expect(made.json()).toEqual({
      keyId: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      name: 'new',
      file: 'new.key',
      publicKeyFile: 'new.key.pub',
      publicKey: (await readFile(at('new.key.pub'), 'utf8')).split('\n')[1],
    });
    expect([(await stat(at('new.key'))).mode & 0o777, (await stat(at('new.key.pub'))).mode & 0o777]).toEqual([
      0o600, 0o644,
    ]);
    expect(made.stdout).not.toContain((await readFile(at('new.key'), 'utf8')).split('\n')[1]);
  });

  test.each([
    ['Ana Ortiz.KEY', 'ana-ortiz'],
    ['ben.2027.pem', 'ben.2027'],
    ['.key', 'key'],
    ['\u{1f511}.key', 'key'],
  ])('names the key of %s in a keyring after its file', async (file, name) => {
    const { stdout } = await run('keygen', '-o', file);
    expect(stdout).toContain(`\n  - name: ${name}\n`);
    await writeFile(at('named.yaml'), stdout.slice(stdout.indexOf('threshold')));
    const ran = await check('--keyring', 'named.yaml', '--statement', 'ana.dsse.json');
    expect(ran.json()).toMatchObject({ error: { code: 'signature.threshold' } });
  });

  it('overwrites nothing, and leaves nothing half made', async () => {
    const before = await readFile(at('ana.key'), 'utf8');
    expect((await run('keygen', '-o', 'ana.key')).status).toBe(6);
    expect(await readFile(at('ana.key'), 'utf8')).toBe(before);
    await writeFile(at('half.key.pub'), 'there');
    expect((await run('keygen', '-o', 'half.key')).status).toBe(6);
    await expect(stat(at('half.key'))).rejects.toThrow('ENOENT');
    expect(await readFile(at('half.key.pub'), 'utf8')).toBe('there');
    await symlink('elsewhere', at('link.key'));
    expect((await run('keygen', '-o', 'link.key')).status).toBe(6);
    expect((await run('keygen', '-o', 'no/such/folder.key')).status).toBe(2);
  });
});

describe('sign', () => {
  it('makes what another tool can verify by the text of the standard', async () => {
    const file = JSON.parse(await readFile(at('ana.dsse.json'), 'utf8')) as {
      payload: string;
      payloadType: string;
      signatures: { sig: string }[];
    };
    const payload = Buffer.from(file.payload, 'base64');
    const message = `DSSEv1 ${String(file.payloadType.length)} ${file.payloadType} ${String(payload.length)} ${payload.toString()}`;
    const key = createPublicKey(await readFile(at('ana.key.pub'), 'utf8'));
    expect(verify(null, Buffer.from(message), key, Buffer.from(file.signatures[0]?.sig ?? '', 'base64'))).toBe(true);
    const digest = createHash('sha256')
      .update(await readFile(at('s.json')))
      .digest('hex');
    expect(JSON.parse(payload.toString())).toMatchObject({
      subject: [{ digest: { sha256: digest } }],
      predicate: { policy: 'facility', environment: 'production', generation: 7, expires: '2999-01-01T00:00:00.000Z' },
    });
  });

  it('adds the signature of another key to the same statement, once', async () => {
    expect((await sign('--key', 'ana.key', '--format', 'json')).json()).toMatchObject({
      file: 's.json.dsse.json',
      change: 'created',
    });
    expect((await sign('--key', 'ben.key', '--format', 'json')).json()).toMatchObject({ change: 'added' });
    expect((await sign('--key', 'ben.key', '--format', 'json')).json()).toMatchObject({ change: 'unchanged' });
    const verified = (await check('--keyring', 'two.yaml')).json();
    expect(verified).toMatchObject({
      ok: true,
      signatures: [
        { name: 'ana', ok: true },
        { name: 'ben', ok: true },
      ],
    });
  });

  test.each([
    ['a snapshot that is damaged', 8, ['damaged.json', '--key', 'ana.key', ...FOR]],
    ['a folder', 2, ['policy', '--key', 'ana.key', ...FOR]],
    ['with a key that others can read', 6, ['s.json', '--key', 'open.key', ...FOR]],
    ['with a public key', 2, ['s.json', '--key', 'ana.key.pub', ...FOR]],
    ['with a public key under another name', 2, ['s.json', '--key', 'public.key', ...FOR]],
    ['with a file that others can read and that is no key', 2, ['s.json', '--key', 's.json', ...FOR]],
    ['with a key of another kind', 2, ['s.json', '--key', 'rsa.key', ...FOR]],
    ['with a key that is not there', 2, ['s.json', '--key', 'none.key', ...FOR]],
    ['with a pipe as the key', 2, ['s.json', '--key', 'pipe.key', ...FOR]],
    ['over the snapshot', 2, ['s.json', '--key', 'ana.key', ...FOR, '-o', 's.json']],
    ['over the key', 2, ['s.json', '--key', 'ana.key', ...FOR, '-o', 'ana.key']],
    ['what has expired', 2, ['s.json', '--key', 'ana.key', ...FOR.slice(0, -1), '2020-01-01T00:00:00Z']],
    ['generation 0', 2, ['s.json', '--key', 'ana.key', ...FOR, '--generation', '0']],
    ['generation 2^53 - 1', 2, ['s.json', '--key', 'ana.key', ...FOR, '--generation', '9007199254740991']],
    ['an environment that is no name', 2, ['s.json', '--key', 'ana.key', ...FOR, '--environment', 'Production!']],
    ['stdin without a place for the statement', 2, ['-', '--key', 'ana.key', ...FOR]],
  ])('refuses %s', async (_name, status, args) => {
    const whole = await readFile(at('s.json'), 'utf8');
    await writeFile(at('damaged.json'), whole.replace('facility', 'facilitY'));
    await copyFile(at('ana.key'), at('open.key'));
    await chmod(at('open.key'), 0o640);
    await copyFile(at('ana.key.pub'), at('public.key'));
    await chmod(at('public.key'), 0o600);
    await writeFile(at('rsa.key'), '-----BEGIN PRIVATE KEY-----\nMAAA\n-----END PRIVATE KEY-----\n', { mode: 0o600 });
    if (!existsSync(at('pipe.key'))) execFileSync('mkfifo', ['-m', '600', at('pipe.key')]);
    const ran = await run('sign', ...args);
    expect([ran.status, ran.stdout]).toEqual([status, '']);
    expect(ran.stderr).toMatch(/^error: /m);
    // Who gives a public key is told that, and not to hide it.
    if (args.includes('ana.key.pub')) expect(ran.stderr).toMatch(/`ana\.key\.pub` is a public key.*\n.*`ana\.key`\n$/);
    expect(ran.stderr.includes('chmod')).toBe(args.includes('open.key'));
    expect(ran.stderr).not.toContain((await readFile(at('ana.key'), 'utf8')).split('\n')[1]);
    expect(await readFile(at('s.json'), 'utf8')).toBe(whole);
  });
});

describe('verify', () => {
  const signed = ['--keyring', 'one.yaml', '--statement', 'ana.dsse.json'];

  it('tells whether a snapshot is whole, and nothing more without a keyring', async () => {
    expect((await check()).json()).toEqual({
      ok: true,
      policy: 'facility',
      snapshot: expect.stringMatching(/^sha256:/),
      decisions: expect.stringMatching(/^sha256:/),
      signatures: [],
    });
    expect((await run('verify', 's.json')).stdout).toMatch(/^intact; publisher not verified/m);
    expect((await run('verify', 's.json', '--environment', 'production')).status).toBe(2);
  });

  it('tells who published it, for what and until when', async () => {
    const ran = await check(...signed, '--environment', 'production', '--minimum-generation', '7');
    expect([ran.status, ran.json()]).toEqual([
      0,
      expect.objectContaining({
        ok: true,
        signatures: [{ keyId: expect.stringMatching(/^sha256:[0-9a-f]{64}$/), name: 'ana', ok: true }],
        statement: expect.objectContaining({
          environment: 'production',
          generation: 7,
          expires: '2999-01-01T00:00:00.000Z',
        }),
      }),
    ]);
    expect((await run('verify', 's.json', ...signed)).stdout).toMatch(
      /^ {2}ok {2}ana sha256:[0-9a-f]{64}\n(.*\n)*intact and published$/m,
    );
  });

  it('tells whether a folder compiles to what was signed', async () => {
    expect((await run('verify', 'policy', ...signed)).status).toBe(0);
    // As its help says.
    for (const args of [[], ['--keyring', 'one.yaml']]) {
      const ran = await run('verify', 'policy', ...args);
      expect([ran.status, ran.stderr]).toEqual([2, expect.stringContaining('give `--keyring` and `--statement`')]);
    }
    expect((await run('help', 'verify')).stdout).toMatch(/with --keyring\s+and --statement also a policy folder/);
  });

  test.each([
    [
      'without its statement',
      8,
      'signature.missing',
      ['--keyring', 'one.yaml', '--environment', 'production'],
      'other.json',
    ],
    [
      'with too few signatures',
      8,
      'signature.threshold',
      ['--keyring', 'two.yaml', '--statement', 'ana.dsse.json'],
      's.json',
    ],
    ['with the statement of another snapshot', 8, 'statement.subject', signed, 'other.json'],
    [
      'with the snapshot as its statement',
      8,
      'statement.invalid',
      ['--keyring', 'one.yaml', '--statement', 's.json'],
      's.json',
    ],
    ['for another environment', 6, 'statement.environment', [...signed, '--environment', 'staging'], 's.json'],
    ['of an older generation', 6, 'statement.generation', [...signed, '--minimum-generation', '8'], 's.json'],
    ['before it is issued', 6, 'statement.not_yet_issued', [...signed, '--at', '2020-01-01T00:00:00Z'], 's.json'],
    ['after it has expired', 9, 'statement.expired', [...signed, '--at', '2999-01-01T00:00:00Z'], 's.json'],
  ])('refuses a snapshot %s', async (_name, status, code, args, snapshot) => {
    const files = { 'other/policy.yaml': POLICY['policy.yaml'], 'other/roles.yaml': POLICY['roles.yaml'] };
    const other = await makeFolder(files);
    await run('compile', join(other, 'other'), '-o', 'other.json');
    const ran = await run('verify', snapshot, ...args, '--format', 'json');
    expect([ran.status, ran.json()]).toEqual([
      status,
      expect.objectContaining({ ok: false, error: expect.objectContaining({ code }) }),
    ]);
    const text = await run('verify', snapshot, ...args);
    expect([text.status, text.stdout]).toEqual([status, expect.not.stringContaining('whole and published')]);
    expect(text.stdout).toMatch(/^refused: /m);
    expect(/^refused: too few/m.test(text.stdout)).toBe(code === 'signature.threshold');
  });

  it('refuses a snapshot that is not whole with 8, and one too large without reading it', async () => {
    const bytes = await readFile(at('s.json'));
    bytes[bytes.length - 20] = (bytes[bytes.length - 20] ?? 0) ^ 1;
    await writeFile(at('flipped.json'), bytes);
    const flipped = await run('verify', 'flipped.json', ...signed, '--format', 'json');
    expect([flipped.status, flipped.json()]).toEqual([8, expect.objectContaining({ ok: false, signatures: [] })]);
    await writeFile(at('huge.json'), '');
    await truncate(at('huge.json'), 5 * 1024 ** 3);
    expect((await run('verify', 'huge.json')).status).toBe(8);
    expect(POLICY_LIMITS.snapshotBytes).toBe(ENGINE_LIMITS.snapshotBytes);
  });

  test.each([
    ['a statement that is not there', [...signed.slice(0, 3), 'none.json']],
    ['a keyring that is not there', ['--keyring', 'none.yaml']],
    ['a threshold of 0', ['--keyring', 'bad-0.yaml']],
    ['a key twice', ['--keyring', 'bad-1.yaml']],
    ['a key of small order', ['--keyring', 'bad-2.yaml']],
    ['an alias in the keyring', ['--keyring', 'bad-3.yaml']],
  ])('cannot judge with %s: exit 2', async (_name, args) => {
    const small = `MCowBQYDK2VwAyEAAQ${'A'.repeat(41)}=`;
    await keyring('bad-0.yaml', 0, { ana: 'ana.key' });
    await keyring('bad-1.yaml', 2, { ana: 'ana.key', twin: 'ana.key' });
    await writeFile(at('bad-2.yaml'), `threshold: 1\nkeys: [{ name: x, publicKey: ${small} }]\n`);
    await writeFile(at('bad-3.yaml'), 'threshold: &t 1\nkeys: [{ name: x, publicKey: *t }]\n');
    const ran = await run('verify', 's.json', ...args);
    expect([ran.status, ran.stdout]).toEqual([2, '']);
    const {
      ok,
      signatures,
      snapshot,
      decisions,
      error,
      faults = [],
    } = (await run('verify', 's.json', ...args, '--format', 'json')).json();
    // The snapshot is whole all the same.
    const digest = expect.stringMatching(/^sha256:/);
    expect([ok, signatures, snapshot, decisions]).toEqual([false, [], digest, digest]);
    const code = expect.stringMatching(/^(?:file\.not_found|keyring\.invalid)$/);
    const fault = { code, message: expect.any(String) };
    expect(error).toEqual(fault);
    for (const one of faults as readonly unknown[]) expect(one).toEqual(fault);
  });

  it('names every fault of its flags and of a keyring with a code', async () => {
    await writeFile(at('two-faults.yaml'), 'threshold: 0\nkeys: [{ name: x, publicKey: short }]\n');
    const ring = (await check('--keyring', 'two-faults.yaml')).json();
    expect(ring).toMatchObject({
      ok: false,
      error: { code: 'keyring.invalid', message: 'the keyring `two-faults.yaml` cannot be used' },
    });
    expect(ring['faults']).toEqual([
      { code: 'keyring.invalid', message: expect.stringMatching(/^two-faults\.yaml:1:12: `threshold`/) },
      { code: 'keyring.invalid', message: expect.stringMatching(/^two-faults\.yaml:2:\d+: `publicKey`/) },
    ]);
    const flags = (await check('--keyring', 'one.yaml', '--minimum-generation', '0', '--at', 'soon')).json();
    expect(flags).toMatchObject({ ok: false, faults: [{ code: 'cli.usage' }, { code: 'cli.usage' }] });
    expect((await run('verify', 'none.json', '--format', 'json')).json()).toMatchObject({ ok: false, signatures: [] });
  });

  it('believes what another tool has signed without ids, in either alphabet', async () => {
    const ours = JSON.parse(await readFile(at('ana.dsse.json'), 'utf8')) as Readonly<Record<string, unknown>>;
    const { payloadType, payload } = ours as { payloadType: string; payload: string };
    const body = Buffer.from(payload, 'base64');
    const message = Buffer.concat([
      Buffer.from(`DSSEv1 ${String(payloadType.length)} ${payloadType} ${String(body.length)} `),
      body,
    ]);
    const signed = async (key: string): Promise<Buffer> =>
      signBytes(null, message, createPrivateKey(await readFile(at(key), 'utf8')));
    const [ana, ben] = await Promise.all([signed('ana.key'), signed('ben.key')]);
    const foreign = {
      payloadType,
      payload: body.toString('base64url'),
      signatures: [{ sig: ana.toString('base64url') }, { keyid: '', sig: ben.toString('base64') }],
    };
    await writeFile(at('foreign.dsse.json'), JSON.stringify(foreign));
    const args = ['--keyring', 'two.yaml', '--statement', 'foreign.dsse.json'];
    expect((await check(...args)).json()).toMatchObject({
      ok: true,
      signatures: [
        { keyId: expect.stringMatching(/^sha256:/), name: 'ana', ok: true },
        { keyId: expect.stringMatching(/^sha256:/), name: 'ben', ok: true },
      ],
    });
    // Once more by a key that has signed: the statement has two signatures still.
    const again = await sign('--key', 'ana.key', '-o', 'foreign.dsse.json', '--format', 'json');
    expect(again.json()).toMatchObject({
      change: 'unchanged',
      signatures: [null, expect.stringMatching(/^sha256:/)],
    });
    expect((await check(...args)).json()).toMatchObject({ ok: true, signatures: [{ name: 'ben' }, { name: 'ana' }] });

    const twice = [{ sig: ana.toString('base64') }, { sig: ana.toString('base64url') }];
    await writeFile(at('foreign.dsse.json'), JSON.stringify({ ...foreign, signatures: twice }));
    const refused = await run('verify', 's.json', ...args);
    expect(refused.status).toBe(8);
    expect(refused.stdout).toMatch(/^signed by 1 of 2 keys: too few, 2 are needed$/m);
    expect(refused.stdout).toMatch(
      /ok {2}ana sha256:\w+\n {2}no {2}ana sha256:\w+: by the same key again\nrefused: too few signatures: only 1 key of the keyring has signed, 2 are needed\n/,
    );
    await writeFile(
      at('foreign.dsse.json'),
      JSON.stringify({ ...foreign, signatures: [{ keyid: 'x', sig: 'A'.repeat(86) }] }),
    );
    expect((await run('verify', 's.json', ...args)).stdout).toContain('no  x: matches no key of the keyring\n');
  });

  it('shows the places in a keyring, and takes one in JSON', async () => {
    await keyring('bad-0.yaml', 0, { ana: 'ana.key' });
    const ran = await run('verify', 's.json', '--keyring', 'bad-0.yaml');
    expect(ran.stderr).toContain('bad-0.yaml:1:12: `threshold` must be a whole number from 1');
    const pem = await readFile(at('ana.key.pub'), 'utf8');
    await writeFile(
      at('ring.json'),
      JSON.stringify({ threshold: 1, keys: [{ name: 'ana', publicKey: pem.split('\n')[1] }] }),
    );
    expect((await run('verify', 's.json', '--keyring', 'ring.json', '--statement', 'ana.dsse.json')).status).toBe(0);
  });
});
