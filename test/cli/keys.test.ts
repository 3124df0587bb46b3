import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { main } from '../../server/cli/main.js';
import { type Database, openDatabase } from '../../server/db/database.js';
import { makeIo } from '../support/cli-io.js';
import { runCli } from '../support/run-cli.js';
import { newDataDir } from '../support/stores.js';
import { makeFolder } from '../support/temp-folder.js';

let dataDir: string;
/** Held open, so that the commands share it as they do with a running gateway, and no test waits for a store to start. */
let held: Database;

beforeAll(async () => {
  dataDir = await newDataDir('empty');
  held = await openDatabase({ kind: 'embedded', dataDir });
});

afterAll(async () => {
  await held.close();
  await rm(dataDir, { recursive: true, force: true });
});

interface Ran {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly json: () => Readonly<Record<string, unknown>>;
}

async function keys(...args: readonly string[]): Promise<Ran> {
  return keysIn({}, ...args);
}

async function keysIn(env: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<Ran> {
  const made = makeIo({ env: { BAILIWICK_DATA_DIR: dataDir, ...env } });
  const status = await main(['keys', ...args], made.io);
  const stdout = made.stdout();
  return { status, stdout, stderr: made.stderr(), json: () => JSON.parse(stdout) as Readonly<Record<string, unknown>> };
}

/** By the tests before the refusals. */
const CREATED = 5;

const ADA = ['create', '--actor', 'ada', '--identity', 'orcid:0000-0002-1825-0097'];

describe('keys create', () => {
  it('prints the key alone on stdout, and what it may do on stderr', async () => {
    const ran = await keys(...ADA);
    expect([ran.status, ran.stderr]).toEqual([0, expect.stringContaining('shown only this once')]);
    expect(ran.stdout).toMatch(/^bwk_[0-9a-z]{16}_[A-Za-z0-9_-]{43}\n$/);
    expect(ran.stderr).not.toContain(ran.stdout.slice(21, 64));
  });

  it('creates the store where there is none, and tells everything as JSON', async () => {
    const ran = await keys(
      ...[...ADA, '--identity', 'github:Ada'],
      ...['--scope', 'resource:read,namespace:read', '--scope', 'process-run:write'],
      ...['--restrict', 'labs/optics/,/labs/cryo', '--expires', '2999-01-01T00:00:00+01:00', '--format', 'json'],
    );
    expect(ran.json()).toEqual({
      id: expect.stringMatching(/^[0-9a-z]{16}$/),
      key: expect.stringMatching(/^bwk_/),
      actor: 'ada',
      identities: ['github:Ada', 'orcid:0000-0002-1825-0097'],
      scopes: ['namespace:read', 'process-run:write', 'resource:read'],
      restrictions: ['/labs/cryo', '/labs/optics'],
      admin: false,
      decide: false,
      monitor: false,
      status: 'active',
      expires: '2998-12-31T23:00:00.000Z',
      revokedAt: null,
      lastUsedAt: null,
      createdAt: expect.stringMatching(/Z$/),
      fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it('also takes the name that `explain` has for the scopes of a credential', async () => {
    const ran = await keys(...ADA, '--credential-scopes', 'resource:read', '--format', 'json');
    expect(ran.json()).toMatchObject({ scopes: ['resource:read'] });
  });

  it('keeps nothing and not narrowed apart', async () => {
    expect((await keys(...ADA, '--scope-none', '--restrict-none', '--format', 'json')).json()).toMatchObject({
      scopes: [],
      restrictions: [],
    });
    expect((await keys(...ADA, '--format', 'json')).json()).toMatchObject({ scopes: null, restrictions: null });
  });

  test.each([
    ['no actor', ['create', '--identity', 'orcid:a'], '--actor'],
    ['no identity', ['create', '--actor', 'ada'], '--identity'],
    ['an identity without a provider', [...ADA, '--identity', 'ada'], 'provider:subject'],
    ['an identity with white space', [...ADA, '--identity', 'orcid: a'], 'white space'],
    ['a text that is no scope', [...ADA, '--scope', 'resource:delete'], 'is not a scope'],
    ['a misspelt scope', [...ADA, '--scope', 'resource:raed'], 'did you mean `resource:read`'],
    ['a pattern', [...ADA, '--scope', 'resource:*'], 'is not a scope'],
    ['an empty scope', [...ADA, '--scope', ''], 'is not a scope'],
    ['a scope list with a gap', [...ADA, '--scope', 'resource:read,,'], 'is not a scope'],
    ['scopes and none', [...ADA, '--scope', 'resource:read', '--scope-none'], 'cannot be used with'],
    ['a path that is no path', [...ADA, '--restrict', '/labs//optics'], 'not a namespace'],
    ['an empty path', [...ADA, '--restrict', ''], 'not a namespace'],
    ['restrictions and none', [...ADA, '--restrict', '/labs', '--restrict-none'], 'cannot be used with'],
    ['an admin key with an identity', [...ADA, '--admin'], 'cannot be used with'],
    ['an admin key with scopes', ['create', '--actor', 'a', '--admin', '--scope-none'], 'cannot be used with'],
    ['an admin key with namespaces', ['create', '--actor', 'a', '--admin', '--restrict', '/a'], 'cannot be used with'],
    ['a decide key with an identity', [...ADA, '--decide'], 'cannot be used with'],
    ['a decide key for admins', ['create', '--actor', 'a', '--decide', '--admin'], 'cannot be used with'],
    ['a key for monitoring with an identity', [...ADA, '--monitor'], 'cannot be used with'],
    ['a key for admins and monitoring', ['create', '--actor', 'a', '--admin', '--monitor'], 'cannot be used with'],
    ['a time without offset', [...ADA, '--expires', '2999-01-01'], '--expires'],
    ['a time of the year 10000', [...ADA, '--expires', '9999-12-31T23:59:59-23:59'], '--expires'],
    ['a time that has passed', [...ADA, '--expires', '2020-01-01T00:00:00Z'], 'has passed'],
    ['an actor with a line end', ['create', '--actor', 'a\nb', '--identity', 'orcid:a'], 'control characters'],
  ])('refuses %s and creates nothing', async (_, args, message) => {
    const ran = await keys(...args);
    expect([ran.status, ran.stdout]).toEqual([2, '']);
    expect(ran.stderr).toContain(message);
    const [made] = await held.knex<Readonly<Record<string, string>>>('api_keys').count();
    expect(Number(made?.['count'])).toBe(CREATED);
  });

  it('tells every fault at once', async () => {
    const ran = await keys(
      'create',
      '--actor',
      '',
      '--identity',
      'x',
      '--scope',
      'y',
      '--restrict',
      'Z',
      '--expires',
      'w',
      '--format',
      'json',
    );
    expect(ran.json()).toMatchObject({ error: { code: 'keys.invalid' }, faults: { length: 5 } });
  });
});

describe('the scopes of one key', () => {
  const create = (...more: readonly string[]): readonly string[] => ['create', '--actor', 'till', ...more];

  it('are those of the policy at hand, also by its snapshot', async () => {
    const grants = 'grants:\n  - { id: a, identity: orcid:ana, namespace: /labs, scopes: [ticket:close] }\n';
    const folder = await makeFolder({
      'policy.yaml':
        'bailiwick: 1\nname: desk\nproviders: { orcid: {} }\nfamilies: { ticket: { actions: [close, escalate] } }\n',
      'grants.yaml': grants,
    });
    expect((await runCli(['compile', folder, '-o', join(folder, 'snapshot.json')])).status).toBe(0);
    for (const policy of [folder, join(folder, 'snapshot.json')]) {
      for (const whose of [['--identity', 'orcid:ana'], ['--decide']]) {
        const ran = await keys(...create(...whose, '--scope', 'ticket:clsoe,ticket:read', '--policy', policy));
        expect([ran.status, ran.stdout, ran.stderr]).toEqual([
          2,
          '',
          'error: the key was not created\n--scope `ticket:clsoe`: is not a scope of the policy; did you mean `ticket:close`?\n',
        ]);
      }
      const shouted = await keys(...create('--identity', 'orcid:ana', '--scope', 'Ticket:close', '--policy', policy));
      expect(shouted.stderr).toBe(
        'error: the key was not created\n--scope `Ticket:close`: is not a scope; did you mean `ticket:close`?\n',
      );
      const ran = await keys(
        ...create('--identity', 'orcid:ana', '--scope', 'ticket:close,resource:read', '--policy', policy),
        ...['--format', 'json'],
      );
      expect([ran.status, ran.json()['scopes']]).toEqual([0, ['resource:read', 'ticket:close']]);
    }
    expect((await keys('list')).stdout).toContain('resource:read,ticket:close');
  });

  it('are taken as they are where there is no policy to ask', async () => {
    expect((await keys(...create('--identity', 'orcid:ana', '--scope', 'ticket:close'))).status).toBe(0);
  });
});

describe('the identities of one key', () => {
  const TWO = ['create', '--actor', 'lab', '--identity', 'orcid:ana', '--identity', 'github:ana'];
  const HEADER = 'bailiwick: 1\nname: lab\nproviders: { orcid: {}, github: {} }\n';
  const PEOPLE = 'people:\n  ana-ortiz: { identities: [orcid:ana, github:ana] }\n  bo: { identities: [github:bo] }\n';
  const warnings = ({ stderr }: Ran): readonly string[] =>
    stderr.split('\n').filter((line) => /^(?:warning| +help):/.test(line));

  it('are one person in the policy at hand, or somebody is warned', async () => {
    const named = ['orcid:ana', 'github:ana', 'github:bo', 'orcid:kim'];
    const roles = `roles:\n  lab: { members: [${named.join(', ')}] }\n`;
    const folder = await makeFolder({ 'policy.yaml': HEADER, 'people.yaml': PEOPLE, 'roles.yaml': roles });
    const policy = ['--policy', folder];
    expect(warnings(await keys(...TWO, ...policy))).toEqual([]);
    const ran = await keys(...TWO, '--identity', 'github:bo', '--identity', 'orcid:kim', ...policy);
    expect([ran.status, ran.stdout, ran.stderr.trim().split('\n')]).toEqual([
      6,
      '',
      [
        'error: the policy counts these identities as 3 people (orcid:ana is `ana-ortiz`, github:ana is `ana-ortiz`, github:bo is `bo`, orcid:kim is not named in `people`): the key could do what all of them may do together, and guardrails are proved for one person at a time',
        "  help: make one key for each; if they are one person's, say so under `people` in the policy",
      ],
    ]);
  });

  it('may be any groups of the providers that this person signs in with', async () => {
    const folder = await makeFolder({ 'policy.yaml': HEADER, 'people.yaml': PEOPLE });
    const status = async (...identities: readonly string[]): Promise<number> => {
      const named = identities.flatMap((identity) => ['--identity', identity]);
      return (await keys('create', '--actor', 'ana', ...named, '--policy', folder)).status;
    };
    expect(await status('orcid:ana', 'github:ana', 'orcid-group:crew', 'github-group:admins')).toBe(0);
    expect(await status('orcid-group:crew', 'orcid-group:leads')).toBe(0);
    expect(await status('github:bo', 'orcid-group:crew')).toBe(6);
    expect(await status('orcid-group:crew', 'github-group:admins')).toBe(6);
  });

  it('are an identity of the provider with each group, since `exclusive` may keep that from the group', async () => {
    const exclusive = 'exclusive:\n  - [github:ana, github-group:admins]\n';
    const folder = await makeFolder({ 'policy.yaml': HEADER + exclusive, 'people.yaml': PEOPLE });
    const named = ['--identity', 'orcid:ana', '--identity', 'github-group:admins', '--policy', folder];
    const ran = await keys('create', '--actor', 'ana', ...named);
    expect([ran.status, ran.stderr.trim().split('\n')]).toEqual([
      6,
      [
        'error: `github-group:admins` comes with an identity of `github`, and the key has none: guardrails are proved for actors that have both',
        '  help: add `--identity github:ana`',
      ],
    ]);
  });

  it('are refused if the policy keeps two of them apart, also by its snapshot', async () => {
    const exclusive = 'exclusive:\n  - [orcid-group:buyers, orcid-group:payers]\n';
    const folder = await makeFolder({ 'policy.yaml': HEADER + exclusive, 'people.yaml': PEOPLE });
    const snapshot = join(folder, 'snapshot.json');
    expect((await runCli(['compile', folder, '-o', snapshot])).status).toBe(0);
    for (const policy of [folder, snapshot]) {
      const both = ['--identity', 'orcid-group:payers', '--identity', 'orcid-group:buyers'];
      const ran = await keys('create', '--actor', 'ana', '--identity', 'orcid:ana', ...both, '--policy', policy);
      expect([ran.status, ran.stderr.trim().split('\n')]).toEqual([
        6,
        [
          'error: the policy keeps orcid-group:buyers and orcid-group:payers apart (`exclusive` in `policy.yaml`): a key with both is denied everything',
          '  help: make one key for each',
        ],
      ]);
    }
  });

  it('are warned about where the policy does not know them', async () => {
    const grants = 'grants:\n  - { id: a, identity: orcid:Ana, namespace: /labs, scopes: [resource:read] }\n';
    const folder = await makeFolder({ 'policy.yaml': HEADER, 'grants.yaml': grants });
    const create = (...identities: readonly string[]): readonly string[] => [
      ...['create', '--actor', 'ana'],
      ...identities.flatMap((identity) => ['--identity', identity]),
    ];
    expect(warnings(await keys(...create('orcid:Ana', 'orcid-group:crew'), '--policy', folder))).toEqual([
      'warning: the policy names `orcid-group:crew` nowhere',
      '  help: with `orcid-group:crew` the key may do nothing until a role or a grant names it',
    ]);
    const both = [
      'warning: the policy names `orcid:ana` nowhere',
      '  help: did you mean `orcid:Ana`? with `orcid:ana` the key may do nothing until a role or a grant names it',
    ];
    expect(warnings(await keys(...create('orcid:ana'), '--policy', folder))).toEqual(both);
    expect((await runCli(['compile', folder, '-o', join(folder, 'snapshot.json')])).status).toBe(0);
    expect(warnings(await keys(...create('orcid:ana'), '--policy', join(folder, 'snapshot.json')))).toEqual(both);
    expect(warnings(await keys(...create('orcdi:ana'), '--policy', folder))).toEqual([
      'warning: the policy declares no provider `orcdi`',
      '  help: did you mean `orcid`? with `orcdi:ana` the key may do nothing until a role or a grant names it',
    ]);
  });

  it('may be of several people for all that a snapshot says', async () => {
    const folder = await makeFolder({
      'policy.yaml': HEADER,
      'people.yaml': PEOPLE,
      'roles.yaml': 'roles:\n  lab: { members: [orcid:ana, github:ana] }\n',
    });
    const snapshot = join(folder, 'snapshot.json');
    expect((await runCli(['compile', folder, '-o', snapshot])).status).toBe(0);
    expect(warnings(await keys(...TWO, '--policy', snapshot))).toEqual([
      'warning: a snapshot does not name people, so it is not known whether these identities belong to one person',
      '  help: name the policy folder with `--policy`',
    ]);
  });

  it.each(['/dev/null', '/nowhere'])('are not made if the policy that is named is %s', async (path) => {
    const ran = await keys('create', '--actor', 'ana', '--identity', 'orcid:ana', '--policy', path);
    expect([ran.status, ran.stderr]).toEqual([
      2,
      `error: the policy \`${path}\` cannot be used\n  help: \`bailiwick check\` or \`bailiwick verify\` says what is wrong with it\n`,
    ]);
  });

  it('are made with a warning if the policy of the settings cannot be used', async () => {
    const ran = await keysIn({ BAILIWICK_POLICY: '/nowhere' }, 'create', '--actor', 'ana', '--identity', 'orcid:ana');
    expect([ran.status, ...warnings(ran)]).toEqual([
      0,
      'warning: the policy `/nowhere` cannot be used, so these identities were not checked against it',
      '  help: `bailiwick check` or `bailiwick verify` says what is wrong with it',
    ]);
  });

  it('are judged by the policy of a revision', async () => {
    const folder = await makeFolder({
      'policy/policy.yaml': `${HEADER}exclusive:\n  - [orcid:ana, orcid-group:payers]\n`,
    });
    const git = async (...args: readonly string[]): Promise<unknown> =>
      promisify(execFile)('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: folder });
    await git('init', '-q');
    await git('add', '.');
    await git('commit', '-qm', 'a');
    const both = ['--identity', 'orcid:ana', '--identity', 'orcid-group:payers'];
    const named = ['keys', 'create', '--data-dir', dataDir, '--actor', 'ana', ...both, '--policy', 'HEAD:policy'];
    const ran = await runCli(named, { cwd: folder });
    expect([ran.status, ran.stderr]).toEqual([
      6,
      expect.stringContaining('keeps orcid:ana and orcid-group:payers apart'),
    ]);
  });

  it('without a policy are several people if one provider has two of them', async () => {
    expect(warnings(await keys(...TWO))).toEqual([]);
    const ran = await keys(...TWO, '--identity', 'github:bo', '--format', 'json');
    expect(warnings(ran)[0]).toMatch(/^warning: github:ana and github:bo are of one provider: two identities /);
    expect(ran.json()).toMatchObject({ actor: 'lab' });
  });
});

describe('keys list and revoke', () => {
  it('lists keys without secrets, oldest first', async () => {
    const { key, id } = (await keys(...ADA, '--format', 'json')).json();
    const listed = (await keys('list', '--format', 'json')).json()['keys'];
    expect(listed).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id, actor: 'ada', expires: null, revokedAt: null, lastUsedAt: null }),
      ]),
    );
    const text = (await keys('list')).stdout;
    expect(text).toContain(String(id));
    expect(text).not.toContain(String(key).slice(-43));
  });

  it('is a table', async () => {
    const asker = ['create', '--actor', 'portal', '--decide', '--restrict', '/labs', '--format', 'json'];
    expect((await keys(...asker)).json()).toMatchObject({ decide: true, identities: [], restrictions: ['/labs'] });
    const pure = (await keys('create', '--actor', 'root', '--admin', '--format', 'json')).json();
    expect(pure).toMatchObject({ admin: true, identities: [], status: 'active' });
    const lines = (await keys('list')).stdout.trimEnd().split('\n');
    expect(lines[0]).toMatch(/^ID {16}ACTOR +IDENTITIES +SCOPES +NAMESPACES +EXPIRES +LAST USED +STATUS +FINGERPRINT$/);
    expect(lines.find((line) => line.startsWith(String(pure['id'])))).toMatch(
      / root +\(admin\) .* active +[0-9a-f]{12}…$/,
    );
    const watching = await keys('create', '--actor', 'prometheus', '--monitor');
    expect(watching.stderr).toMatch(/^opens {7}`\/metrics` and status of the admin listener$/m);
    expect(watching.stderr).not.toMatch(/^(?:scopes|namespaces|identities)/m);
    expect((await keys('list')).stdout).toMatch(/ prometheus +\(monitor\) +- +- .* active /);
  });

  it('revokes forever, once', async () => {
    const { id } = (await keys(...ADA, '--format', 'json')).json();
    const first = await keys('revoke', String(id), '--format', 'json');
    expect(first.json()).toEqual({ id, revokedAt: expect.stringMatching(/Z$/) });
    expect((await keys('revoke', String(id), '--format', 'json')).stdout).toBe(first.stdout);
  });

  test.each([
    ['0'.repeat(16), 'keys.unknown'],
    ['nonsense', 'keys.id'],
    ['bwk_0000000000000000_secret-canary', 'keys.id'],
  ])('refuses %s as %s, without repeating what may be a secret', async (id, code) => {
    const ran = await keys('revoke', id, '--format', 'json');
    expect([ran.status, ran.json()]).toEqual([2, { error: expect.objectContaining({ code }) }]);
    expect(ran.stdout + ran.stderr).not.toContain('canary');
  });
});

describe('keys --help', () => {
  it('shows an example that ends as it says', async () => {
    expect((await keys('--help')).stdout).toMatch(/until July 2027\n[^\n]*--expires 2027-07-01T00:00:00Z/);
  });
});
