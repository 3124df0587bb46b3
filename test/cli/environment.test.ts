// Flags by the environment: typed before `BAILIWICK_<FLAG>` before default, for every flag of every verb.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, test } from '@jest/globals';
import { Command } from 'commander';
import { loadConfig } from '../../server/config.js';
import { readEnvironment, variableOf } from '../../server/cli/environment.js';
import { main } from '../../server/cli/main.js';
import { makeIo } from '../support/cli-io.js';
import { makeFolder } from '../support/temp-folder.js';
import { PASSING, POLICY } from './policies.js';
import type { Ran } from './verb-table.js';

type Variables = Readonly<Record<string, string>>;

let cwd: string;

async function run(env: Variables, ...args: readonly string[]): Promise<Ran> {
  const made = makeIo({ env });
  const status = await main(args, { ...made.io, cwd });
  return { status, stdout: made.stdout(), stderr: made.stderr() };
}

const FAR = '2999-01-01T00:00:00.000Z';

beforeAll(async () => {
  const files = Object.entries({ ...POLICY, 'tests.yaml': PASSING });
  cwd = await makeFolder(Object.fromEntries(files.map(([path, text]) => [`policy/${path}`, text])));
  expect((await run({}, 'compile', 'policy', '-o', 's.json')).status).toBe(0);
  expect((await run({}, 'keygen', '-o', 'key')).status).toBe(0);
});

const AS_JSON = { BAILIWICK_FORMAT: 'json' };

describe('a variable', () => {
  it('stands for its flag, which counts more', async () => {
    const json = await run(AS_JSON, 'check', 'policy');
    expect(JSON.parse(json.stdout)).toMatchObject({ ok: true });
    expect((await run(AS_JSON, 'check', 'policy', '--format', 'text')).stdout).toMatch(/^no mistakes/);
    const at = await run({ ...AS_JSON, BAILIWICK_AT: FAR }, 'who-can', 'policy', 'resource:read', '/labs');
    expect(JSON.parse(at.stdout)).toMatchObject({ at: FAR });
    const typed = ['--at', '2027-01-01T00:00:00Z'];
    const other = await run(
      { ...AS_JSON, BAILIWICK_AT: 'no time' },
      'who-can',
      's.json',
      'resource:read',
      '/',
      ...typed,
    );
    expect(JSON.parse(other.stdout)).toMatchObject({ at: '2027-01-01T00:00:00.000Z' });
  });

  it('gives what the verb needs, also what could be typed several times, which replaces it', async () => {
    const env = {
      ...AS_JSON,
      BAILIWICK_AS: 'orcid:ana',
      BAILIWICK_SCOPE: 'resource:read',
      BAILIWICK_NAMESPACE: '/labs/optics',
    };
    expect(JSON.parse((await run(env, 'explain', 'policy')).stdout)).toMatchObject({ decision: 'allow' });
    const eve = await run(env, 'explain', 'policy', '--as', 'orcid:eve');
    expect(JSON.parse(eve.stdout)).toMatchObject({ decision: 'deny', actor: { identities: ['orcid:eve'] } });
    const narrowed = await run(
      { ...env, BAILIWICK_CREDENTIAL_SCOPES: 'resource:write,process-run:read' },
      'explain',
      'policy',
    );
    expect(JSON.parse(narrowed.stdout)).toMatchObject({ step: 'credential_scope' });
    const output = await run({ BAILIWICK_OUTPUT: 'by-variable.json' }, 'compile', 'policy');
    expect(output.status).toBe(0);
    expect(await readFile(join(cwd, 'by-variable.json'))).toEqual(await readFile(join(cwd, 's.json')));
  });

  it('says of a flag without a value whether it is given', async () => {
    for (const [text, given] of [
      ['true', true],
      ['1', true],
      ['false', false],
      ['0', false],
    ] as const) {
      const ran = await run({ BAILIWICK_NAMESPACES: text }, 'inspect', 's.json');
      expect([text, / \/labs$/m.test(ran.stdout)]).toEqual([text, given]);
    }
    const wider = await makeFolder({
      ...POLICY,
      'grants.yaml': 'grants:\n  - { id: g, role: staff, namespace: /x, scopes: [resource:read] }\n',
    });
    const refusing = { BAILIWICK_NO_NEW_ACCESS: 'true' };
    expect((await run(refusing, 'diff', 's.json', wider)).status).toBe(7);
    expect((await run({ BAILIWICK_NO_NEW_ACCESS: 'false' }, 'diff', 's.json', wider)).status).toBe(0);
    const ran = await run({ BAILIWICK_STRICT: 'yes' }, 'check', 'policy');
    expect(ran.status).toBe(2);
    expect(ran.stderr).toContain(
      '`BAILIWICK_STRICT` stands for `--strict`, and is wrong: it must be `true` or `false`',
    );
  });

  test.each([
    [
      'a format that is none',
      { BAILIWICK_FORMAT: 'xml' },
      ['check', 'policy'],
      /`BAILIWICK_FORMAT`.*text, json, sarif/,
    ],
    [
      'a format of another verb',
      { BAILIWICK_FORMAT: 'sarif' },
      ['inspect', 's.json'],
      /`BAILIWICK_FORMAT`.*text, json/,
    ],
    ['an empty format', { BAILIWICK_FORMAT: '' }, ['check', 'policy'], /`BAILIWICK_FORMAT`/],
    ['a time that is none', { BAILIWICK_AT: 'soon' }, ['what-can', 's.json', 'orcid:ana'], /RFC 3339/],
    [
      'an identity that is none',
      { BAILIWICK_AS: 'ana' },
      ['visible', 's.json', '--family', 'resource', '--namespace', '/'],
      /`ana` is not an identity/,
    ],
  ])('is refused: %s', async (_name, env, args, message) => {
    const ran = await run(env, ...args);
    expect([ran.status, ran.stderr]).toEqual([2, expect.stringMatching(message)]);
  });

  it('keeps nobody from help', async () => {
    const env = { BAILIWICK_FORMAT: 'xml' };
    expect((await run(env, 'check', '--help')).status).toBe(0);
    expect((await run(env, 'help', 'check')).status).toBe(0);
    const { stdout } = await run(env, '--help');
    expect(stdout).toContain('`BAILIWICK_FORMAT=json` for `--format json`');
  });

  it('is passed over where it says something only together with another flag, or not beside it', async () => {
    const env = {
      BAILIWICK_AT: FAR,
      BAILIWICK_ENVIRONMENT: 'production',
      BAILIWICK_STATEMENT: 'none',
      BAILIWICK_SOON: '90d',
    };
    expect((await run(env, 'verify', 's.json')).status).toBe(0);
    expect((await run({ BAILIWICK_SOON: '90d' }, 'compile', 'policy', '-o', 'soon.json')).status).toBe(0);
    const signing = ['--generation', '1', '--expires', '3000-01-01T00:00:00Z', '--issued', '2027-01-01T00:00:00Z'];
    const signed = await run({ ...AS_JSON, ...env, BAILIWICK_KEY: 'key' }, 'sign', 's.json', ...signing);
    expect(JSON.parse(signed.stdout)).toMatchObject({
      statement: { environment: 'production', issued: '2027-01-01T00:00:00.000Z' },
    });
    const earlier = ['--generation', '1', '--expires', '3000-01-01T00:00:00Z', '--at', '2027-01-01T00:00:00Z'];
    const other = { ...AS_JSON, BAILIWICK_ENVIRONMENT: 'production', BAILIWICK_ISSUED: FAR, BAILIWICK_KEY: 'key' };
    const again = await run(other, 'sign', 's.json', ...earlier);
    expect(JSON.parse(again.stdout)).toMatchObject({ statement: { issued: '2027-01-01T00:00:00.000Z' } });
    // With the keyring they are asked for.
    expect((await run({ ...env, BAILIWICK_KEYRING: 'none.yaml' }, 'verify', 's.json')).stderr).toContain('none.yaml');
  });

  it('also says how a failure is told', async () => {
    expect(JSON.parse((await run(AS_JSON, 'check', 'none')).stdout)).toMatchObject({ ok: false, error: {} });
    expect((await run({ BAILIWICK_FORMAT: 'junit' }, 'check', 'none')).stdout).toMatch(/^<\?xml/);
    expect((await run({ BAILIWICK_FORMAT: 'text' }, 'decide', 'none')).stdout).toBe('');
  });
});

it('no variable of a flag is taken for a misspelt setting by the verbs that have settings', async () => {
  const { stdout } = await run({}, '--help');
  const verbs = [...(/Commands:\n(.*?)\n\n/s.exec(stdout)?.[1] ?? '').matchAll(/^ {2}([a-z-]+)/gm)].map(
    ([, verb]) => verb ?? '',
  );
  const flags = new Set<string>();
  for (const verb of [...verbs, 'keys create', 'keys list', 'keys revoke']) {
    const help = await run({}, 'help', ...verb.split(' '));
    for (const [, flag = ''] of help.stdout.matchAll(/^ {2}(?:-\w, )?--([a-z-]+)/gm)) flags.add(flag);
  }
  expect(flags.size).toBeGreaterThan(40);
  const later = ['keyring'];
  const SETTING_FLAGS = ['help', 'config', 'data-dir', 'database-url', 'policy', 'listen'];
  for (const flag of flags) {
    if (later.includes(flag) || SETTING_FLAGS.includes(flag)) continue;
    await expect(loadConfig({ flags: {}, env: { [variableOf(flag)]: 'x' }, cwd })).resolves.toHaveProperty('policy');
  }
});

it('flags that may not stand beside one another: what is typed displaces what a variable says', () => {
  const parse = (env: Variables, ...args: readonly string[]): unknown => {
    const program = new Command();
    const create = program
      .command('create')
      .option('--scope <s>')
      .option('--scope-none')
      .action(() => undefined);
    readEnvironment(program, env);
    program.parse(args, { from: 'user' });
    return create.opts();
  };
  expect(parse({ BAILIWICK_SCOPE: 'a' }, 'create', '--scope-none')).toEqual({ scopeNone: true });
  expect(parse({ BAILIWICK_SCOPE_NONE: '1' }, 'create', '--scope', 'b')).toEqual({ scope: 'b' });
  expect(parse({ BAILIWICK_SCOPE: 'a', BAILIWICK_SCOPE_NONE: '1' }, 'create')).toEqual({ scope: 'a' });
});
