// `bailiwick unused`: what no decision of a log needed, the smaller policy as files, and the proof. Logs are written as a gateway writes
// them.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Instant, parseInstant } from '../../engine/index.js';
import { type AccessAsked, askedOf, type CopyAsked, queryAsked } from '../../server/audit/event.js';
import { logFiles } from '../support/audit-log.js';
import { pathOf } from '../support/gateway.js';
import { type Done, madeOf, writeLog, writePolicy } from '../support/past-log.js';
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
      [
        [pol, '--log', log, '--since', 'yesterday'],
        '`--since` must be a duration such as `90d`, or an RFC 3339 instant',
      ],
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
