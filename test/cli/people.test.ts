// People that the policy names, wherever a verb asks about identities: `--person`, and the name in answers.
import { beforeAll, describe, expect, it } from '@jest/globals';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { type CliRun, runCli } from '../support/run-cli.js';
import { newDataDir } from '../support/stores.js';
import { makeFolder } from '../support/temp-folder.js';

const POLICY = {
  'policy.yaml': 'bailiwick: 1\nname: facility\nproviders:\n  orcid: {}\n  github: {}\n',
  'people.yaml': 'people:\n  ana-ito: { identities: [orcid:ana, github:ana-i] }\n  bo: { identities: [orcid:bo] }\n',
  'grants.yaml': `grants:
  - { id: reads, identity: orcid:ana, namespace: /labs, scopes: [resource:read] }
  - { id: writes, identity: github:ana-i, namespace: /labs/optics, scopes: [resource:write] }
  - { id: staff, identity: orcid-group:staff, namespace: /labs, scopes: [process-run:read] }
  - { id: robot, identity: github:robot, namespace: /labs, scopes: [resource:read] }
  - { id: bos, identity: orcid:bo, namespace: /labs, scopes: [resource:read] }
`,
};
const EACH = ['github:ana-i', 'orcid:ana'];
const AT = ['--at', '2027-01-01T00:00:00Z'];

let cwd = '';
const run = (...args: readonly string[]): Promise<CliRun> => runCli(args, { cwd });

async function json(...args: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
  const { status, stdout, stderr } = await run(...args, '--format', 'json');
  expect([status, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as Readonly<Record<string, unknown>>;
}

beforeAll(async () => {
  cwd = await makeFolder(Object.fromEntries(Object.entries(POLICY).map(([path, text]) => [`p/${path}`, text])));
  expect((await run('compile', 'p', '-o', 'p.json')).status).toBe(0);
});

describe('--person', () => {
  it('of what-can says that `exclusive` keeps two of the identities apart', async () => {
    const apart = 'exclusive:\n  - [orcid:ana, github:ana-i]\n';
    const folder = await makeFolder({ ...POLICY, 'policy.yaml': POLICY['policy.yaml'] + apart });
    const ran = await run('what-can', folder, '--person', 'ana-ito', ...AT);
    expect([ran.status, ran.stderr]).toEqual([
      0,
      'note: `exclusive` keeps github:ana-i and orcid:ana apart: whoever has both is denied everything, so this is what the identities may do one by one\n',
    ]);
    const both = await run('what-can', folder, '--person', 'ana-ito', ...AT, '--format', 'json');
    expect(JSON.parse(both.stdout)).toMatchObject({ exclusive: ['github:ana-i', 'orcid:ana'] });
    expect(await json('what-can', 'p', '--person', 'ana-ito', ...AT)).not.toHaveProperty('exclusive');
  });

  it('of what-can is everything that the person holds by any identity', async () => {
    const answer = await json('what-can', 'p', '--person', 'ana-ito', ...AT);
    expect(answer).toMatchObject({ person: 'ana-ito', identities: ['orcid:ana', 'github:ana-i'] });
    expect('identity' in answer).toBe(false);
    expect(answer['access']).toEqual([
      expect.objectContaining({ namespace: '/labs', scopes: ['resource:read'] }),
      expect.objectContaining({ namespace: '/labs/optics', scopes: ['resource:write'] }),
    ]);
    expect((await run('what-can', 'p', '--person', 'ana-ito', ...AT)).stdout).toContain(
      'ana-ito (orcid:ana, github:ana-i) holds this, in 2 regions',
    );
  });

  it('of explain and visible asks as the person, who may be in groups', async () => {
    const asked = ['--person', 'ana-ito', '--namespace', '/labs/optics', ...AT];
    expect(await json('explain', 'p', ...asked, '--scope', 'resource:write')).toMatchObject({
      decision: 'allow',
      actor: { person: 'ana-ito', identities: ['orcid:ana', 'github:ana-i'] },
    });
    expect(await json('explain', 'p', ...asked, '--scope', 'process-run:read')).toMatchObject({ decision: 'deny' });
    const inGroup = [...asked, '--as', 'orcid-group:staff'];
    expect(await json('explain', 'p', ...inGroup, '--scope', 'process-run:read')).toMatchObject({
      decision: 'allow',
      actor: { person: 'ana-ito', identities: ['orcid:ana', 'github:ana-i', 'orcid-group:staff'] },
    });
    expect(await json('visible', 'p', ...asked, '--family', 'resource')).toMatchObject({
      kind: 'some',
      exact: ['/labs', '/labs/optics'],
      person: 'ana-ito',
    });
  });

  it('of keys create gives the key all identities of the person', async () => {
    await rename(await newDataDir(), join(cwd, 'd'));
    const key = ['keys', 'create', '--actor', 'ana', '--person', 'ana-ito', '--policy', 'p', '--data-dir', 'd'];
    const { status, stdout } = await run(...key, '--format', 'json');
    expect([status, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ identities: EACH })]);
  });

  it.each<[string, readonly string[], string, string]>([
    [
      'nobody of that name',
      ['what-can', 'p', '--person', 'ana-ita'],
      'names no person `ana-ita`',
      'did you mean `ana-ito`?',
    ],
    ['nobody like that', ['what-can', 'p', '--person', 'zoe'], 'names no person `zoe`', '`people` in the policy'],
    [
      'a snapshot',
      ['what-can', 'p.json', '--person', 'ana-ito'],
      'is a snapshot, which does not name people',
      'name the policy folder',
    ],
    [
      'an identity, too',
      ['what-can', 'p', 'orcid:ana', '--person', 'ana-ito'],
      'either one identity or one person',
      '--person',
    ],
    ['neither', ['what-can', 'p'], 'either one identity or one person', '--person'],
    [
      'no policy to ask',
      ['keys', 'create', '--actor', 'a', '--person', 'bo', '--data-dir', 'd'],
      'needs the policy',
      '--policy',
    ],
    [
      'a snapshot for a key',
      ['keys', 'create', '--actor', 'a', '--person', 'bo', '--policy', 'p.json', '--data-dir', 'd'],
      'does not name people',
      '--policy',
    ],
    [
      'nobody for a key',
      ['keys', 'create', '--actor', 'a', '--person', 'bob', '--policy', 'p', '--data-dir', 'd'],
      'names no person `bob`',
      'did you mean `bo`?',
    ],
    [
      'an admin',
      ['keys', 'create', '--actor', 'a', '--person', 'bo', '--admin', '--policy', 'p', '--data-dir', 'd'],
      '--admin',
      '--person',
    ],
  ])('refuses %s', async (_, args, message, help) => {
    const { status, stderr } = await run(...args);
    expect([status, stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(stderr).toContain(help);
  });
});

describe('answers about identities', () => {
  it('name the person who has them', async () => {
    expect(await json('who-can', 'p', 'resource:read', '/labs', ...AT)).toMatchObject({
      identities: [
        { identity: 'github:robot' },
        { identity: 'orcid:ana', person: 'ana-ito' },
        { identity: 'orcid:bo', person: 'bo' },
      ],
    });
    expect((await run('who-can', 'p', 'resource:read', '/labs', ...AT)).stdout).toContain('\norcid:ana (ana-ito)\n');
    expect(await json('what-can', 'p', 'github:ana-i', ...AT)).toMatchObject({
      identity: 'github:ana-i',
      person: 'ana-ito',
    });
    const asked = ['--namespace', '/labs', '--scope', 'resource:read', ...AT];
    expect(await json('explain', 'p', '--as', 'orcid:bo', ...asked)).toMatchObject({ actor: { person: 'bo' } });
  });

  it('name nobody where several people are asked about together, a robot, or a snapshot', async () => {
    const asked = ['--namespace', '/labs', '--scope', 'resource:read', ...AT];
    const actors = await Promise.all(
      [
        ['explain', 'p', '--as', 'orcid:bo', '--as', 'orcid:ana'],
        ['explain', 'p', '--as', 'github:robot'],
        ['explain', 'p.json', '--as', 'orcid:bo'],
      ].map(async (args) => (await json(...args, ...asked))['actor']),
    );
    for (const actor of actors) expect(actor).not.toHaveProperty('person');
    expect(JSON.stringify(await json('who-can', 'p.json', 'resource:read', '/labs', ...AT))).not.toContain('"person"');
  });
});
