// Every verb about policies as a user would type it, with what its JSON promises (docs/cli.md "Formats"): tried on good
// policies and on everything that is none.
import { expect } from '@jest/globals';
import { main } from '../../server/cli/main.js';
import { makeIo } from '../support/cli-io.js';

/** What a verb takes: a policy folder, any policy (folder or snapshot), a snapshot file, a place for a new folder, or none. */
export type Taken = 'folder' | 'policy' | 'snapshot' | 'place' | 'nothing';

/** Somebody in a policy, and where they hold resource:read. */
export interface Facts {
  readonly identity: string;
  readonly namespace: string;
}

export interface Verb {
  readonly verb: string;
  readonly takes: Taken;
  readonly args: (policy: string, facts: Facts) => readonly string[];
  readonly stdin?: (facts: Facts) => string;
  /** Of one JSON object on stdout. */
  readonly shape: object;
  /** It prints a file that is JSON anyway. */
  readonly format?: 'fixed';
}

export const AT = '2027-01-01T00:00:00.000Z';
const AS_OF = ['--at', '2027-01-01T00:00:00Z'];
const DIGEST = expect.stringMatching(/^sha256:[0-9a-f]{64}$/);
const TEXT = expect.any(String);
const NUMBER = expect.any(Number);
const LIST = expect.any(Array);
const CHECK_SUM = { count: NUMBER, digest: DIGEST };
const SIDE = { snapshot: DIGEST, decisions: DIGEST };
const COUNTS = { identities: NUMBER, roles: NUMBER, grants: NUMBER, namespaces: NUMBER };
const TESTS = { passed: NUMBER, failed: 0, failures: [] };
const GRANT = expect.objectContaining({ id: TEXT, file: TEXT, line: NUMBER });

const CHECKED = {
  ok: true,
  policy: TEXT,
  diagnostics: LIST,
  tests: expect.objectContaining(TESTS),
  guardrails: { held: NUMBER, violated: 0, violations: [], reliesOn: [] },
};

function asking({ identity, namespace }: Facts): readonly string[] {
  return ['--as', identity, '--namespace', namespace, ...AS_OF];
}

/** Run in this order in one folder: `sign` needs the key that `keygen` makes. */
export const VERBS: readonly Verb[] = [
  {
    verb: 'init',
    takes: 'place',
    args: (place) => ['init', place],
    shape: { folder: TEXT, files: expect.arrayContaining(['policy.yaml']) },
  },
  { verb: 'check', takes: 'folder', args: (policy) => ['check', policy], shape: CHECKED },
  {
    verb: 'compile',
    takes: 'folder',
    args: (policy) => ['compile', policy, '-o', 'compiled.json'],
    shape: { ...CHECKED, ...SIDE, file: 'compiled.json', counts: COUNTS },
  },
  {
    verb: 'fmt',
    takes: 'folder',
    args: (policy) => ['fmt', policy, '--check'],
    shape: { ok: expect.any(Boolean), changed: LIST, unchanged: NUMBER, diagnostics: [] },
  },
  {
    verb: 'test',
    takes: 'folder',
    args: (policy) => ['test', policy, '--coverage'],
    shape: {
      ...TESTS,
      results: LIST,
      coverage: { grants: expect.objectContaining({ total: NUMBER, covered: NUMBER, uncovered: LIST }) },
    },
  },
  {
    verb: 'decide',
    takes: 'policy',
    args: (policy) => ['decide', policy],
    stdin: ({ identity, namespace }) =>
      `${JSON.stringify({ id: 'r1', actor: { identities: [identity] }, request: { kind: 'access', scope: 'resource:read', target: namespace }, at: AT })}\n`,
    shape: { id: 'r1', decision: 'allow', grants: expect.arrayContaining([TEXT]) },
  },
  {
    verb: 'explain',
    takes: 'policy',
    args: (policy, facts) => ['explain', policy, '--scope', 'resource:read', ...asking(facts)],
    shape: {
      decision: 'allow',
      at: AT,
      snapshot: DIGEST,
      request: expect.any(Object),
      actor: expect.any(Object),
      steps: expect.arrayContaining([{ step: 'canonicalize', passed: true, text: TEXT }]),
      grants: expect.arrayContaining([GRANT]),
      edits: LIST,
    },
  },
  {
    verb: 'who-can',
    takes: 'policy',
    args: (policy, { namespace }) => ['who-can', policy, 'resource:read', namespace, ...AS_OF],
    shape: {
      scope: 'resource:read',
      namespace: expect.stringMatching(/^\//),
      at: AT,
      snapshot: DIGEST,
      identities: expect.arrayContaining([{ identity: TEXT, grants: expect.arrayContaining([GRANT]) }]),
    },
  },
  {
    verb: 'prove',
    takes: 'policy',
    args: (policy, { identity, namespace }) => [
      ...['prove', policy, '--identity', identity, '--scope', 'resource:read', '--namespace', namespace],
      ...[...AS_OF, '-o', 'access.proof'],
    ],
    shape: {
      ...{ root: DIGEST, size: NUMBER, identity: TEXT, scope: 'resource:read', namespace: TEXT, at: AT, holds: true },
      proof: { holder: expect.anything(), steps: LIST },
    },
  },
  {
    verb: 'what-can',
    takes: 'policy',
    args: (policy, { identity }) => ['what-can', policy, identity, ...AS_OF],
    shape: {
      identity: TEXT,
      at: AT,
      snapshot: DIGEST,
      access: expect.arrayContaining([
        expect.objectContaining({
          namespace: TEXT,
          extent: expect.stringMatching(/^(exact|subtree|below)$/),
          scopes: expect.arrayContaining([TEXT]),
          grants: expect.arrayContaining([GRANT]),
        }),
      ]),
    },
  },
  {
    verb: 'visible',
    takes: 'policy',
    args: (policy, facts) => ['visible', policy, '--family', 'resource', ...asking(facts)],
    shape: { kind: 'some', exact: expect.arrayContaining([TEXT]), subtrees: LIST, at: AT, snapshot: DIGEST },
  },
  {
    verb: 'calendar',
    takes: 'policy',
    args: (policy) => ['calendar', policy, '--from', AT, '--until', '2028-01-01T00:00:00Z'],
    shape: { from: AT, until: TEXT, snapshot: DIGEST, changes: LIST },
  },
  {
    verb: 'diff',
    takes: 'policy',
    args: (policy) => ['diff', policy, policy],
    shape: {
      old: SIDE,
      new: SIDE,
      equal: true,
      gained: [],
      lost: [],
      cells: { compared: NUMBER, equal: NUMBER, gained: 0, lost: 0 },
      exclusive: { added: [], removed: [] },
      checks: expect.objectContaining({
        delegation: expect.anything(),
        exclusive: expect.anything(),
        guardrails: expect.anything(),
        people: expect.anything(),
        tests: expect.anything(),
      }),
    },
  },
  {
    verb: 'inspect',
    takes: 'policy',
    args: (policy) => ['inspect', policy, '--namespaces'],
    shape: {
      ...SIDE,
      policy: TEXT,
      format: 3,
      counts: COUNTS,
      checks: {
        delegation: CHECK_SUM,
        exclusive: CHECK_SUM,
        guardrails: CHECK_SUM,
        people: CHECK_SUM,
        tests: CHECK_SUM,
      },
      namespaces: expect.arrayContaining([{ namespace: '/', digest: DIGEST }]),
    },
  },
  {
    verb: 'verify',
    takes: 'snapshot',
    args: (snapshot) => ['verify', snapshot],
    shape: { ...SIDE, ok: true, signatures: [] },
  },
  {
    verb: 'keygen',
    takes: 'nothing',
    args: () => ['keygen', '-o', 'release.key'],
    shape: { keyId: DIGEST, name: 'release', file: 'release.key', publicKeyFile: 'release.key.pub', publicKey: TEXT },
  },
  {
    verb: 'sign',
    takes: 'snapshot',
    args: (snapshot) => [
      ...[
        'sign',
        snapshot,
        '--key',
        'release.key',
        '--environment',
        'production',
        '--generation',
        '1',
        '-o',
        'out.dsse.json',
      ],
      ...['--issued', '2027-01-01T00:00:00Z', '--expires', '2027-07-01T00:00:00Z'],
    ],
    shape: { snapshot: DIGEST, statement: expect.objectContaining({ environment: 'production', generation: 1 }) },
  },
  {
    verb: 'publish',
    takes: 'snapshot',
    args: (snapshot) => ['publish', snapshot, '--to', 'store'],
    shape: { directory: 'store', policy: TEXT, snapshot: DIGEST, change: 'published', statement: null },
  },
  {
    verb: 'codes',
    takes: 'nothing',
    args: () => ['codes'],
    shape: { codes: expect.arrayContaining([expect.objectContaining({ code: 'ROLE_CYCLE' })]) },
  },
  {
    verb: 'version',
    takes: 'nothing',
    args: () => ['version'],
    shape: { version: TEXT, node: TEXT, platform: TEXT },
  },
  {
    verb: 'schema',
    takes: 'nothing',
    args: () => ['schema', 'sections'],
    shape: { $schema: TEXT, type: 'object', properties: expect.any(Object) },
    format: 'fixed',
  },
];

export interface Ran {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The command line inside this process. */
export async function runIn(cwd: string, args: readonly string[], stdin = ''): Promise<Ran> {
  const made = makeIo({ stdin });
  const status = await main(args, { ...made.io, cwd });
  return { status, stdout: made.stdout(), stderr: made.stderr() };
}

/** The verb in a format; one that knows only one is not asked. */
export function inFormat({ format }: Verb, args: readonly string[], wanted: 'text' | 'json'): readonly string[] {
  return format === 'fixed' ? args : [...args, '--format', wanted];
}

/** Nothing of the program's inside, and nothing that a terminal would obey. */
export function expectPlain({ stdout, stderr }: Ran): void {
  for (const text of [stdout, stderr]) {
    expect(text).not.toMatch(/^\s+at .*:\d+:\d+\)?$/m);
    expect(text).not.toMatch(/cli\.unexpected|unexpected failure|undefined|\[object|NaN/);
    // eslint-disable-next-line no-control-regex -- an escape sequence is what is looked for
    expect(text).not.toMatch(/\u001b/);
  }
}
