// `bailiwick unused`: what no decision of a log needed, the smaller policy as files, and the proof. Logs are written as a gateway writes
// them. Generated policies and logs are compared with `replay --against`, which knows nothing of needs.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { compilePolicy, readPolicy } from '../../engine/compiler.js';
import {
  formatIdentity,
  formatInstant,
  type Instant,
  instantOf,
  loadSnapshot,
  parseInstant,
  type Policy,
  resolveActor,
} from '../../engine/index.js';
import type { PolicySet } from '../../engine/model/policy-set.js';
import { scopeNames } from '../../engine/model/scope-set.js';
import { cite } from '../../server/audit/cite.js';
import {
  type AccessAsked,
  askedOf,
  type CopyAsked,
  eventActor,
  type EventParts,
  queryAsked,
} from '../../server/audit/event.js';
import { keepSnapshot } from '../../server/audit/snapshots.js';
import { actorOf } from '../../server/auth/request-actor.js';
import { INSTANTS, windowedWorld } from '../engine/oracle/worlds.js';
import { eventOf, logFiles, writerOf } from '../support/audit-log.js';
import { pathOf } from '../support/gateway.js';
import { type CliRun, runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';

const HEAD = 'bailiwick: 1\nname: demo\nproviders: { orcid: {} }\n';
const TEAM = `# All of team A.

roles:
  staff:
    members: [orcid:ada, orcid:bob, { role: leads }]
    scopes: ["resource:*"]
  leads:
    # the boss
    members:
      - orcid:cid # from the start
      # came later
      - orcid:dee
grants:
  # Work of the staff.

  # Everyday.
  - id: staff-work
    role: staff
    namespace: /labs
  # As well.
  - id: ada-too
    identity: orcid:ada
    namespace: /labs/x
    scopes: [resource:read, "process-run:*"]
    reason: SOX-12
  - { id: everything, role: leads, namespace: /, scopes: ["*:read"] }
  - { id: later, role: leads, namespace: /x, scopes: ["*:read"], notBefore: 2030-01-01T00:00:00Z }
tests:
  - name: leads read all
    actor: { identities: [orcid:cid] }
    at: 2026-11-01T00:00:00Z
    allow: ["process-template:read /z"]
`;

interface Made {
  readonly policy: Policy;
  readonly bytes: Uint8Array;
  readonly set: PolicySet;
}

function madeOf(files: Readonly<Record<string, string>>): Made {
  const { policy: set, diagnostics } = readPolicy(
    Object.entries(files).map(([path, text]) => ({ path, bytes: Buffer.from(text) })),
  );
  if (set === null) throw new Error(JSON.stringify(diagnostics));
  const compiled = compilePolicy(set);
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.diagnostics));
  const loaded = loadSnapshot(compiled.snapshot.bytes);
  if (!loaded.ok) throw new Error(loaded.fault.message);
  return { set, policy: loaded.policy, bytes: compiled.snapshot.bytes };
}

async function writePolicy(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await makeFolder();
  mkdirSync(join(folder, 'teams'));
  for (const [path, text] of Object.entries(files)) writeFileSync(join(folder, path), text);
  return folder;
}

interface Done {
  readonly who: readonly string[];
  readonly access: AccessAsked | CopyAsked;
  readonly at: Instant;
  readonly restrictions?: readonly string[];
}

/** A log of what these actors asked, decided by the policy, as a gateway records it. */
async function writeLog(
  { policy, bytes }: Made,
  all: readonly Done[],
  more: readonly Partial<EventParts>[] = [],
): Promise<string> {
  const folder = await makeFolder();
  await keepSnapshot(folder, policy.digest, bytes);
  const writer = writerOf(folder);
  let n = 0;
  for (const { who, access, at, restrictions } of all) {
    const identities = who.map((text) => ({
      provider: text.slice(0, text.indexOf(':')),
      subject: text.slice(text.indexOf(':') + 1),
    }));
    const paths = restrictions === undefined ? null : restrictions.map(pathOf);
    const actor = actorOf('key', {
      id: who.join(),
      identities,
      scopes: null,
      restrictions: paths,
      credentialFingerprint: 'a'.repeat(64),
    });
    const { decision, visibility } = cite({ access, resolved: resolveActor(policy, actor) }, at);
    const isAllowed = decision.decision === 'allow';
    writer.add(
      eventOf((n += 1), {
        ...{
          at,
          access,
          decision,
          actor: eventActor(actor, policy),
          snapshot: policy.digest,
          operation: 'resource.read',
        },
        ...{
          kind: isAllowed ? 'query' : 'refusal',
          outcome: isAllowed ? 'allowed' : 'denied',
          status: isAllowed ? 200 : 403,
        },
        ...(visibility === undefined ? {} : { visibility }),
      }),
    );
  }
  for (const parts of more) writer.add(eventOf((n += 1), parts));
  await writer.close();
  return folder;
}

function at(text: string): Instant {
  const read = parseInstant(text);
  if (read === null) throw new Error(text);
  return read;
}

const read = (path: string): AccessAsked | CopyAsked =>
  askedOf({ kind: 'access', scope: 'resource:read', context: pathOf(path), target: pathOf(path) });
const written = (path: string): AccessAsked | CopyAsked =>
  askedOf({ kind: 'access', scope: 'resource:write', context: pathOf(path), target: pathOf(path) });

const FILES = { 'policy.yaml': HEAD, 'teams/a.yaml': TEAM };
const MADE = madeOf(FILES);
const DONE: readonly Done[] = [
  { who: ['orcid:ada'], access: read('/labs/x'), at: at('2026-11-01T00:00:00Z') },
  { who: ['orcid:bob'], access: written('/labs/x'), at: at('2026-11-02T00:00:00Z') },
  {
    who: ['orcid:cid'],
    access: queryAsked({ family: 'resource', context: pathOf('/labs/x'), reach: 'lineage' }),
    at: at('2026-11-03T00:00:00Z'),
  },
  { who: ['orcid:eve'], access: written('/labs/x'), at: at('2026-11-04T00:00:00Z') },
];
const PERIOD = ['--since', '2026-10-01T00:00:00Z', '--until', '2026-11-20T00:00:00Z'];

let pol: string;
let log: string;

beforeAll(async () => {
  pol = await writePolicy(FILES);
  log = await writeLog(MADE, DONE);
});

const unused = (...args: readonly string[]): Promise<CliRun> =>
  runCli(['unused', pol, '--log', log, ...PERIOD, ...args]);

describe('unused', () => {
  it('says what nobody needed, what would be lost, that nothing changes, and what the log does not tell', async () => {
    const run = await unused();
    expect(run.stderr).toBe('');
    expect(run.status).toBe(0);
    expect(run.stdout).toMatchInlineSnapshot(`
     "4 decisions from 2026-10-01T00:00:00.000Z until 2026-11-20T00:00:00.000Z, 3 of them allowed by policy \`demo\`
     never cited: no decision rested on it
       namespace:read, process-run:read, resource-template:read of grant everything (teams/a.yaml:26)
       process-template:read of grant everything (teams/a.yaml:26) (stays)
       orcid:dee in role leads (teams/a.yaml:12)
     not needed: another right allowed the same each time
       grant ada-too (teams/a.yaml:21): "SOX-12", last cited 2026-11-01T00:00:00.000Z
       resource:read of grant staff-work (teams/a.yaml:17), last cited 2026-11-03T00:00:00.000Z (stays)
       orcid:ada in role staff (teams/a.yaml:5), last cited 2026-11-01T00:00:00.000Z (stays)
       role leads in role staff (teams/a.yaml:5), last cited 2026-11-03T00:00:00.000Z
     too new to say: not in force yet, or in no policy of the log
       grant later (teams/a.yaml:27)
     a policy without 1 grant, 3 scopes, 2 memberships: sha256:61365f0dc8dd224f7686e6143fc8b303ea1839434f3cadcf40d7d9f5ed38558c
     - orcid:cid
         namespace:read, process-run:read, resource-template:read at and below /, without /x
         namespace:read, process-run:read, resource-template:read at and below /x until 2030-01-01T00:00:00.000Z
         because grant \`everything\` to role leads was changed: scopes (teams/a.yaml:18)
     - orcid:dee
         *:read at and below /
         because grant \`everything\` to role leads was changed: scopes (teams/a.yaml:18)
         because orcid:dee was removed from role leads (teams/a.yaml:12)
         because role leads was removed from role staff (teams/a.yaml:5)
     - orcid:cid, orcid:dee
         resource:write at and below /labs
         because orcid:dee was removed from role leads (teams/a.yaml:12)
         because role leads was removed from role staff (teams/a.yaml:5)
     - orcid:ada
         process-run:* at and below /labs/x
         because grant \`ada-too\` to orcid:ada was removed (teams/a.yaml:21): "SOX-12"
     640 cells compared: 0 gained, 146 lost, 494 equal
     proof: 4 decisions made again by it and by the present policy, 0 differ
     what the log does not tell
       what happened before 2026-11-01T00:00:00.000Z: that is its first decision of this time
       use without a gateway: \`decide\`, the library, the database
     "
    `);
  });

  it('writes the smaller policy, with the comments of what is left, and `replay` agrees', async () => {
    const out = join(await makeFolder(), 'smaller');
    const run = await unused('-o', out, '--exit-code');
    expect([run.status, run.stderr]).toEqual([7, '']);
    expect(run.stdout).toContain(`written to ${out}, 1 file changed: teams/a.yaml\n`);
    expect(readFileSync(join(out, 'policy.yaml'), 'utf8')).toBe(HEAD);
    expect(readFileSync(join(out, 'teams/a.yaml'), 'utf8')).toMatchInlineSnapshot(`
     "# All of team A.

     roles:
       staff:
         members: [orcid:ada, orcid:bob]
         scopes: [resource:*]
       leads:
         # the boss
         members:
           - orcid:cid # from the start
     grants:
       # Work of the staff.

       # Everyday.
       - id: staff-work
         role: staff
         namespace: /labs
       - { id: everything, role: leads, scopes: [process-template:read, resource:read], namespace: / }
       - { id: later, role: leads, scopes: ["*:read"], notBefore: 2030-01-01T00:00:00Z, namespace: /x }
     tests:
       - name: leads read all
         actor: { identities: [orcid:cid] }
         at: 2026-11-01T00:00:00Z
         allow: [process-template:read /z]
     "
    `);
    const replayed = await runCli(['replay', log, '--against', out, '--exit-code']);
    expect([replayed.status, replayed.stdout]).toEqual([
      0,
      expect.stringMatching(/^4 decisions, 4 reproduced; 0 that sha256:[0-9a-f]{64} would change/),
    ]);
    const again = await unused('-o', out);
    expect([again.status, again.stderr]).toEqual([2, expect.stringContaining('exists already')]);
  });

  it('says the same as JSON', async () => {
    const { status, stdout } = await unused('--format', 'json');
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      policy: 'demo',
      snapshot: MADE.policy.digest,
      period: {
        since: '2026-10-01T00:00:00.000Z',
        until: '2026-11-20T00:00:00.000Z',
        first: '2026-11-01T00:00:00.000Z',
        last: '2026-11-04T00:00:00.000Z',
      },
      tooNew: [
        {
          kind: 'grant',
          use: 'never_cited',
          last: null,
          dropped: false,
          grant: { id: 'later', file: 'teams/a.yaml', line: 27 },
        },
      ],
      proof: { decisions: 4, changed: 0 },
      log: {
        events: 4,
        decisions: 4,
        allowed: 3,
        flips: { denied: 0, allowed: 0, otherSet: 0 },
        policies: [{ name: 'demo', decisions: 4 }],
        unknownPolicies: 0,
      },
    });
  });

  it('keeps what it is told to keep, with its members', async () => {
    const { stdout } = await unused('--format', 'json', '--keep', 'ada-too', '--keep', 'everything');
    const { unused: rights, smaller } = JSON.parse(stdout) as {
      readonly unused: readonly { readonly dropped: boolean; readonly grant?: { readonly id: string } }[];
      readonly smaller: { readonly breaks: object };
    };
    expect(rights.filter(({ dropped, grant }) => dropped && grant !== undefined && grant.id !== 'staff-work')).toEqual(
      [],
    );
    expect(smaller.breaks).toEqual({ tests: [], guardrails: [] });
    const wrong = await unused('--keep', 'ada-to');
    expect([wrong.status, wrong.stderr]).toEqual([
      2,
      expect.stringMatching(/the policy has no grant `ada-to`[^]*did you mean `ada-too`\?/),
    ]);
  });

  it('says plainly what the log cannot tell', async () => {
    const other = madeOf({
      'policy.yaml': HEAD.replace('demo', 'older'),
      'teams/a.yaml': TEAM.replace('/labs/x', '/labs/y'),
    });
    const lossy = await writeLog(other, DONE, [
      { at: at('2026-11-05T00:00:00Z'), kind: 'admin', operation: 'audit.lost', outcome: 'allowed', items: 7 },
      {
        at: at('2026-11-06T00:00:00Z'),
        kind: 'admin',
        operation: 'gateway.start',
        outcome: 'allowed',
        recording: { queries: 'denied', records: 'set' },
      },
    ]);
    const { stdout, status } = await runCli(['unused', pol, '--log', lossy, ...PERIOD]);
    expect(status).toBe(0);
    for (const text of [
      'what happened before 2026-11-01T00:00:00.000Z: that is its first decision of this time',
      '7 events that could not be written',
      'not recorded: queries that were allowed in log testlog from 2026-11-06T00:00:00.000Z on',
      'whether 4 decisions by policy `older` say anything about this one; they count',
      'use without a gateway',
    ])
      expect(stdout).toContain(text);
  });

  it('ends with 8, after the result, where a line does not verify; with 2 where there is nothing to work with', async () => {
    const damaged = await writeLog(MADE, DONE);
    const [file = ''] = logFiles(damaged);
    writeFileSync(file, readFileSync(file, 'utf8').replace('"status":403', '"status":404'));
    const run = await runCli(['unused', pol, '--log', damaged, ...PERIOD]);
    expect(run.status).toBe(8);
    expect(run.stdout).toContain('0 differ');
    const snapshot = join(await makeFolder(), 'demo.json');
    writeFileSync(snapshot, MADE.bytes);
    for (const [args, text] of [
      [[snapshot, '--log', log], 'which has no files to take anything out of'],
      [[pol, '--log', join(log, 'none')], 'there is no audit log'],
      [[pol, '--log', log, '--since', 'yesterday'], '`--since`'],
      [
        [pol, '--log', log, '--since', '2027-01-01T00:00:00Z', '--until', '2026-01-01T00:00:00Z'],
        '`--since` must be before `--until`',
      ],
    ] as const) {
      const refused = await runCli(['unused', ...args]);
      expect([refused.status, refused.stdout, refused.stderr]).toEqual([2, '', expect.stringContaining(text)]);
    }
  });
});

/** The policy as files, in both styles of YAML, with a comment at each entry. */
function filesOf(set: PolicySet): Readonly<Record<string, string>> {
  const text = (value: unknown): string => JSON.stringify(value);
  const windowOf = (one: {
    readonly notBefore?: Instant | null;
    readonly expires?: Instant | null;
  }): readonly string[] => [
    ...(one.notBefore == null ? [] : [`notBefore: ${text(formatInstant(one.notBefore))}`]),
    ...(one.expires == null ? [] : [`expires: ${text(formatInstant(one.expires))}`]),
  ];
  const roles = set.roles.flatMap(({ name, members }, i) => {
    const items = members.map((member) => {
      const window = windowOf(member);
      if (member.kind === 'role') return `{ ${[`role: ${member.role}`, ...window].join(', ')} }`;
      const who = text(formatIdentity(member.identity));
      return window.length === 0 ? who : `{ ${[`identity: ${who}`, ...window].join(', ')} }`;
    });
    const block = items.map((item, k) => `      # ${name} ${String(k)}\n      - ${item}\n`).join('');
    return [`  ${name}:\n    members:${i % 2 === 0 || items.length === 0 ? ` [${items.join(', ')}]\n` : `\n${block}`}`];
  });
  const grants = set.grants.flatMap((grant, i) => {
    const { principal, scopes } = grant;
    if (grant.notBefore !== null && grant.expires !== null && grant.notBefore >= grant.expires) return [];
    const fields = [
      `id: ${grant.id}`,
      principal.kind === 'role' ? `role: ${principal.role}` : `identity: ${text(formatIdentity(principal.identity))}`,
      `namespace: ${text(grant.namespace)}`,
      `scopes: ${text(scopeNames(scopes))}`,
      `inherit: ${String(grant.inherit)}`,
      ...windowOf(grant),
    ];
    const entry = i % 2 === 0 ? `{ ${fields.join(', ')} }\n` : `${fields.join('\n    ')}\n`;
    return [`  # ${grant.id}\n  - ${entry}`];
  });
  const families = (set.families ?? [])
    .map(({ name, actions }) => `  ${name}: { actions: ${text(actions)} }\n`)
    .join('');
  return {
    'policy.yaml': `bailiwick: 1\nname: world\nproviders: { github: {}, orcid: {} }\n${families === '' ? '' : `families:\n${families}`}`,
    'teams/a.yaml': `roles:\n${roles.join('')}${grants.length === 0 ? '' : `grants:\n${grants.join('')}`}`,
  };
}

const PATHS = ['/', '/a', '/a/b', '/b/a', '/a-b', '/z'];
const done: fc.Arbitrary<Done> = fc
  .record({
    who: fc.uniqueArray(fc.constantFrom('github:ada', 'orcid:ada', 'orcid:bob', 'orcid:\u{1d518}-eve'), {
      minLength: 1,
      maxLength: 2,
    }),
    path: fc.constantFrom(...PATHS),
    to: fc.constantFrom(...PATHS),
    kind: fc.constantFrom('read', 'write', 'copy', 'create', 'lineage', 'exact', 'subtree'),
    family: fc.constantFrom('resource' as const, 'namespace' as const),
    at: fc.constantFrom(...INSTANTS.map(instantOf)),
    restrictions: fc.option(fc.subarray(PATHS), { freq: 4 }),
  })
  .map(({ who, path, to, kind, family, at: when, restrictions }): Done => {
    const here = pathOf(path);
    const access = ((): AccessAsked | CopyAsked => {
      if (kind === 'read' || kind === 'write')
        return askedOf({ kind: 'access', scope: `${family}:${kind}`, context: here, target: here });
      if (kind === 'copy') return askedOf({ kind: 'copy', source: here, destination: pathOf(to) });
      if (kind === 'create')
        return askedOf({ kind: 'create-namespace', namespace: pathOf(path === '/' ? '/q' : `${path}/q`) });
      return queryAsked({
        family,
        context: here,
        reach: kind === 'exact' ? 'exact' : kind === 'subtree' ? 'subtree' : 'lineage',
      });
    })();
    return { who, access, at: when, ...(restrictions === null ? {} : { restrictions }) };
  });

describe('on generated policies and logs', () => {
  it('the smaller policy changes nothing, as `replay` says; and everything that is not listed changes something', async () => {
    let dropped = 0;
    await fc.assert(
      fc.asyncProperty(
        windowedWorld,
        fc.array(done, { minLength: 1, maxLength: 20, size: 'max' }),
        async (world, all) => {
          const files = filesOf(world);
          const made = madeOf(files);
          const [folder, where] = [await writePolicy(files), await writeLog(made, all)];
          const out = join(await makeFolder(), 'smaller');
          const period = ['--since', '1969-01-01T00:00:00Z', '--until', '1971-01-01T00:00:00Z'];
          const run = await runCli(['unused', folder, '--log', where, ...period, '-o', out, '--format', 'json']);
          expect([run.status, run.stderr]).toEqual([0, '']);
          const report = JSON.parse(run.stdout) as {
            readonly unused: readonly { readonly kind: string; readonly grant?: { readonly id: string } }[];
            readonly smaller: { readonly grants: number; readonly scopes: number; readonly members: number };
          };
          dropped += report.smaller.grants + report.smaller.scopes + report.smaller.members;
          const flips = async (against: string): Promise<number> => {
            const { status } = await runCli(['replay', where, '--against', against, '--exit-code']);
            expect([0, 7]).toContain(status);
            return status === 7 ? 1 : 0;
          };
          expect(await flips(out)).toBe(0);
          // Comments of what is left are left, and no others.
          const text = readFileSync(join(out, 'teams/a.yaml'), 'utf8');
          const ids = [...text.matchAll(/id: (g\d+)/g)].map(([, id]) => id);
          expect([...text.matchAll(/# (g\d+)/g)].map(([, id]) => id)).toEqual(ids);
          // Without a grant that is not listed, something that happened would not have.
          const listed = new Set(report.unused.flatMap(({ kind, grant }) => (kind === 'grant' ? [grant?.id] : [])));
          for (const { id } of made.set.grants.slice(0, 3)) {
            const less = compilePolicy({ ...made.set, grants: made.set.grants.filter((grant) => grant.id !== id) });
            if (!less.ok) throw new Error('too large');
            const file = join(await makeFolder(), 'less.json');
            writeFileSync(file, less.snapshot.bytes);
            expect([id, await flips(file)]).toEqual([id, listed.has(id) ? 0 : 1]);
          }
        },
      ),
      { numRuns: 12 },
    );
    expect(dropped).toBeGreaterThan(20);
  });
});
