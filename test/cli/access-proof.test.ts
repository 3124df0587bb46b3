// Proofs of access on the command line: from a signed snapshot to somebody who has the root alone, with our program and with that of
// the page.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import {
  decodeStatement,
  encodeEnvelope,
  encodeStatement,
  formatInstant,
  instantOf,
  loadSnapshot,
} from '../../engine/index.js';
import { fromRoot } from '../support/root.js';
import { readSigningKey } from '../../server/signing/key-file.js';
import { signOnce } from '../../server/signing/sign-statement.js';
import { type CliRun, runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';
import { POLICY } from './policies.js';

let cwd: string;
let root: string;
const file = (name: string): string => join(cwd, name);
const run = (...args: readonly string[]): Promise<CliRun> => runCli(args, { cwd });
const AT = ['--at', '2027-01-01T00:00:00Z'];
const FOR = ['--environment', 'production', '--generation', '7', '--expires', '2999-01-01T00:00:00Z'];
const prove = (identity: string, scope: string, namespace: string, ...more: readonly string[]): Promise<CliRun> =>
  run('prove', 's.json', '--identity', identity, '--scope', scope, '--namespace', namespace, ...AT, ...more);

beforeAll(async () => {
  cwd = await makeFolder(Object.fromEntries(Object.entries(POLICY).map(([path, text]) => [`policy/${path}`, text])));
  await run('compile', 'policy', '-o', 's.json');
  const { stdout } = await run('keygen', '-o', 'ana.key');
  writeFileSync(file('ring.yaml'), `threshold: 1\nkeys:\n${stdout.slice(stdout.indexOf('  - name:'))}`);
  const signed = await run('sign', 's.json', '--key', 'ana.key', ...FOR, '--format', 'json');
  root = (JSON.parse(signed.stdout) as { readonly statement: { readonly access: string } }).statement.access;
});

describe('the access root', () => {
  it('is in the statement, and `verify` prints it', async () => {
    expect(root).toMatch(/^sha256:[0-9a-f]{64}$/);
    const verified = await run('verify', 's.json', '--keyring', 'ring.yaml');
    expect([verified.status, verified.stdout]).toEqual([0, expect.stringContaining(`access    ${root}\n`)]);
    const json = await run('verify', 's.json', '--keyring', 'ring.yaml', '--format', 'json');
    expect(JSON.parse(json.stdout)).toMatchObject({ ok: true, statement: { access: root } });
  });

  it('of another policy is a statement that is refused', async () => {
    const key = await readSigningKey({ path: file('ana.key'), shown: 'ana.key' });
    const policy = loadSnapshot(readFileSync(file('s.json')));
    if (!policy.ok) throw new Error('the snapshot is intact');
    const { digest, name } = policy.policy;
    const statement = {
      ...{
        snapshot: digest,
        policy: name,
        environment: 'production',
        generation: 7,
        access: root.replace(/.{8}$/, '00000000'),
      },
      ...{ issued: instantOf(0), expires: instantOf(Date.UTC(2999, 0)) },
    };
    const signed = signOnce(key, encodeStatement(statement), null);
    if (signed === null) throw new Error('it can be signed');
    expect(decodeStatement(signed.envelope.payload)).toEqual(statement);
    writeFileSync(file('false.dsse.json'), encodeEnvelope(signed.envelope));
    const verified = await run('verify', 's.json', '--keyring', 'ring.yaml', '--statement', 'false.dsse.json');
    expect([verified.status, verified.stdout]).toEqual([
      8,
      expect.stringContaining(
        `refused: the statement has the access root ${statement.access}, and that of the snapshot is ${root}`,
      ),
    ]);
  });

  it('is not asked of a statement that another signer made without it', async () => {
    const key = await readSigningKey({ path: file('ana.key'), shown: 'ana.key' });
    const { stdout } = await run('verify', 's.json', '--keyring', 'ring.yaml', '--format', 'json');
    const { snapshot, policy } = JSON.parse(stdout) as { readonly snapshot: string; readonly policy: string };
    const issued = instantOf(Date.UTC(2026, 0));
    const signed = signOnce(
      key,
      encodeStatement({
        ...{ snapshot, policy, environment: 'production', generation: 7, issued },
        expires: instantOf(Date.UTC(2999, 0)),
      }),
      null,
    );
    if (signed === null) throw new Error('it can be signed');
    writeFileSync(file('older.dsse.json'), encodeEnvelope(signed.envelope));
    await run('keygen', '-o', 'ben.key');
    const added = await run('sign', 's.json', '--key', 'ben.key', '--add', 'older.dsse.json');
    expect([added.status, added.stderr]).toEqual([0, '']);
    const again = [...FOR, '--issued', formatInstant(issued), '-o', 'older.dsse.json'];
    expect(await run('sign', 's.json', '--key', 'ana.key', ...again)).toMatchObject({ status: 0, stderr: '' });
    const verified = await run('verify', 's.json', '--keyring', 'ring.yaml', '--statement', 'older.dsse.json');
    expect([verified.status, verified.stdout]).toEqual([0, expect.not.stringContaining('access')]);
  });
});

describe('prove and check-proof', () => {
  it.each([
    ['orcid:ana', 'resource:write', '/labs/optics/one', true],
    ['orcid:ana', 'resource:write', '/labs', false],
    ['orcid:ben', 'resource:read', '/labs/optics', false],
  ])('%s, %s at %s: %s', async (identity, scope, namespace, holds) => {
    const proved = await prove(identity, scope, namespace, '-o', 'proof');
    const line = `${identity} ${holds ? 'holds' : 'does not hold'} ${scope} at ${namespace} at 2027-01-01T00:00:00.000Z\n`;
    expect([proved.status, proved.stdout]).toEqual([0, `${line}root ${root}, of 1 identity that holds anything\n`]);
    const checked = await run('check-proof', 'proof', '--root', root);
    expect([checked.status, checked.stdout, checked.stderr]).toEqual([0, proved.stdout, '']);
    const json = await run('check-proof', 'proof', '--root', root, '--format', 'json');
    expect(JSON.parse(json.stdout)).toMatchObject({ ok: true, root, size: 1, identity, scope, namespace, holds });
  });

  it('prints the proof where no file is named', async () => {
    const proved = await prove('orcid:ana', 'resource:read', '/labs/optics');
    writeFileSync(file('printed'), proved.stdout);
    expect((await run('check-proof', 'printed', '--root', root)).status).toBe(0);
    expect((await prove('orcid:ana', 'resource:read', '/labs/optics', '--format', 'json')).stdout).toBe(proved.stdout);
  });

  it('say what is wrong', async () => {
    await prove('orcid:ana', 'resource:read', '/labs', '-o', 'proof');
    const text = readFileSync(file('proof'), 'utf8');
    writeFileSync(file('forged'), text.replace('"holds":false', '"holds":true'));
    writeFileSync(file('text'), 'x');
    const other = root.replace(/.{8}$/, '00000000');
    for (const [args, status, said] of [
      [['forged', '--root', root], 8, '`forged` proves nothing: it shows that the identity does not hold it'],
      [
        ['proof', '--root', other],
        8,
        `\`proof\` proves nothing: it is about the root \`${root}\`, and not \`${other}\``,
      ],
      [['text', '--root', root], 8, '`text` proves nothing: it is not a proof of access'],
      [['nothing', '--root', root], 2, '`nothing` does not exist'],
      [['proof', '--root', 'sha256:1'], 2, '`--root` must be `sha256:` and 64 hex digits'],
    ] as const) {
      const ran = await run('check-proof', ...args);
      expect([ran.status, ran.stderr]).toEqual([status, expect.stringContaining(`error: ${said}`)]);
    }
    const unknown = await prove('okta:ana', 'resource:read', '/labs');
    expect([unknown.status, unknown.stderr]).toEqual([0, 'note: the policy declares no provider `okta`\n']);
  });

  it('agree with the program of the page', async () => {
    if (spawnSync('python3', ['--version']).status !== 0) {
      process.stderr.write('python3 is not on this machine: the program of docs/proofs.md is not run\n');
      return;
    }
    const page = readFileSync(fromRoot('docs/proofs.md'), 'utf8');
    const [program = ''] = /(?<=```python\n)[^]*?(?=```)/.exec(page.slice(page.indexOf('## Proofs of access'))) ?? [];
    writeFileSync(file('check.py'), program);
    const python = (name: string): string =>
      execFileSync('python3', [file('check.py'), file(name), root], { encoding: 'utf8', stdio: 'pipe' });
    for (const who of ['orcid:ana', 'orcid:\u{1d518}']) {
      for (const namespace of ['/', '/labs/optics/a']) {
        const proved = await prove(who, 'resource:write', namespace, '-o', 'proof');
        expect(python('proof')).toBe(proved.stdout.split('root ')[0]);
        const text = readFileSync(file('proof'), 'utf8');
        const holds = text.includes('"holds":true');
        for (const forged of [
          text.replace(`"holds":${String(holds)}`, `"holds":${String(!holds)}`),
          text.replace('"index":0', '"index":1'),
          text.replace('"size":1', '"size":2'),
        ]) {
          writeFileSync(file('forged'), forged);
          expect(() => python('forged')).toThrow();
        }
      }
    }
  });
});
