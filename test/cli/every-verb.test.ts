// Every verb about policies on policies that are good: the one that ships, and a real one, the owners of a large repository.
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, test } from '@jest/globals';
import { hasRealInput, realPolicyFolder } from '../support/real-input.js';
import { fromRoot } from '../support/root.js';
import { makeFolder } from '../support/temp-folder.js';
import { AT, expectPlain, type Facts, inFormat, runIn, type Taken, type Verb, VERBS } from './verb-table.js';

/** Of the gateway and its data; they have tests of their own. */
const OTHER_VERBS = [
  'activate',
  'rollback',
  'snapshots',
  'attest',
  'audit',
  'can-i',
  'check-attestation',
  'check-proof',
  'completion',
  'config',
  'console',
  'evidence',
  'export',
  'find',
  'help',
  'history',
  'import',
  'keys',
  'load',
  'lsp',
  'local',
  'migrate',
  'playground',
  'policy-at',
  'replay',
  'review',
  'serve',
  'shadow',
  'status',
  'unused',
];

it('knows every verb', async () => {
  const { stdout } = await runIn('/', ['--help']);
  const commands = /\nAuthor policies:\n(.*)\n\n`bailiwick help <verb>`/s.exec(stdout)?.[1] ?? '';
  const verbs = [...commands.matchAll(/^ {2}([a-z-]+)/gm)].map(([, verb]) => verb);
  expect(verbs.sort()).toEqual([...VERBS.map(({ verb }) => verb), ...OTHER_VERBS].sort());
});

/** What verbs are given that do not take a folder alone. */
const INPUTS: ReadonlyMap<Taken, readonly string[]> = new Map<Taken, readonly string[]>([
  ['policy', ['policy', 'policy.json']],
  ['snapshot', ['policy.json']],
  ['place', ['new']],
]);

const POLICIES: readonly (readonly [string, () => Promise<string> | string, Facts])[] = [
  ['the policy that ships', () => fromRoot('policies'), { identity: 'badge:b-11402', namespace: '/beamlines/amx' }],
  ...(hasRealInput
    ? [['a real policy', realPolicyFolder, { identity: 'github:mrunalp', namespace: '/keps/sig-node' }] as const]
    : []),
];

describe.each(POLICIES)('on %s', (_name, source, facts) => {
  let cwd: string;

  beforeAll(async () => {
    cwd = await makeFolder();
    await cp(await source(), join(cwd, 'policy'), { recursive: true });
    expect((await runIn(cwd, ['compile', 'policy', '-o', 'policy.json'])).status).toBe(0);
  });

  const inputsOf = ({ takes }: Verb): readonly string[] => INPUTS.get(takes) ?? ['policy'];
  const cases = VERBS.flatMap((verb) => inputsOf(verb).map((input) => [verb.verb, input, verb] as const));

  test.each(cases)('%s (%s) answers in its shape', async (_verb, input, verb) => {
    const ran = await runIn(cwd, inFormat(verb, verb.args(input, facts), 'json'), verb.stdin?.(facts));
    expectPlain(ran);
    if (verb.format !== 'fixed') expect(ran.stdout).toMatch(/^[^\n]+\n$/);
    expect(JSON.parse(ran.stdout)).toEqual(expect.objectContaining(verb.shape));
    expect(ran.status).toBe(verb.verb === 'fmt' && ran.stdout.includes('"ok":false') ? 7 : 0);
  });

  test.each(
    VERBS.filter(({ takes, verb }) => takes !== 'place' && verb !== 'keygen').map((verb) => [verb.verb, verb] as const),
  )('%s answers people', async (_verb, verb) => {
    const input = inputsOf(verb)[0] ?? '';
    const ran = await runIn(cwd, inFormat(verb, verb.args(input, facts), 'text'), verb.stdin?.(facts));
    expectPlain(ran);
    // What `fmt` has to say of files that are well is a message; its results are the names of the others.
    const told = verb.verb === 'fmt' ? ran.stdout + ran.stderr : ran.stdout;
    expect(told).toMatch(/\n$/);
    expect(ran.stderr).not.toContain('error');
  });

  it('wrote what it said: the same bytes twice, and a statement about them', async () => {
    const [first, second] = await Promise.all(
      ['policy.json', 'compiled.json'].map((name) => readFile(join(cwd, name))),
    );
    expect(second?.equals(first ?? Buffer.of())).toBe(true);
    const [, publicKey = ''] = (await readFile(join(cwd, 'release.key.pub'), 'utf8')).split('\n');
    await writeFile(join(cwd, 'keys.yaml'), `threshold: 1\nkeys:\n  - name: release\n    publicKey: ${publicKey}\n`);
    const signed = [
      '--keyring',
      'keys.yaml',
      '--statement',
      'out.dsse.json',
      '--environment',
      'production',
      '--at',
      AT,
    ];
    expect(JSON.parse((await runIn(cwd, ['verify', 'policy.json', ...signed, '--format', 'json'])).stdout)).toEqual(
      expect.objectContaining({ ok: true, signatures: [{ keyId: expect.any(String), name: 'release', ok: true }] }),
    );
  });
});
