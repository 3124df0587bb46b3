// A candidate beside the policy in force, as an admin sees it: the exact set of differing cells at once, and live
// requests that are answered by one policy and compared with the other. None of this changes an answer.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { diffPolicies } from '../../engine/compiler.js';
import { instantOf } from '../../engine/index.js';
import { storedSnapshots } from '../../server/policy/store/stored-snapshots.js';
import { main } from '../../server/cli/main.js';
import { makeIo } from '../support/cli-io.js';
import { call, callAdmin, openGateway, type Reply, snapshotOf, type TestGateway } from '../support/gateway.js';

const [ADA, BOB] = ['ada', 'bob'].map((subject) => ({ provider: 'orcid', subject })) as [Identity, Identity];
interface Identity {
  readonly provider: string;
  readonly subject: string;
}

const ALL = ['namespace:read', 'namespace:write', 'resource:read', 'resource:write'];
const LIVE = snapshotOf([
  [ADA, '/', ALL],
  [BOB, '/labs', ['resource:read']],
]);
/** Ada may not write resources any more; Bob sees another lab, and one that he had not seen. */
const CANDIDATE = snapshotOf([
  [ADA, '/', ['namespace:read', 'namespace:write', 'resource:read']],
  [BOB, '/labs/optics', ['resource:read']],
  [BOB, '/office', ['resource:read']],
]);
const OTHER = snapshotOf([[ADA, '/', ALL]]);

function sha256(bytes: string | Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

let open: TestGateway;
let [ada, bob, admin] = ['', '', ''];

beforeAll(async () => {
  open = await openGateway({ admin: true, mode: { kind: 'serve', policy: LIVE.policy } });
  const { keep } = storedSnapshots(open.db);
  for (const made of [LIVE, CANDIDATE, OTHER])
    await keep({ ...made, labels: 'unverified', statement: null, at: instantOf(Date.now()) });
  ada = (await open.key({ actor: 'ada', identities: [ADA] })).text;
  bob = (await open.key({ actor: 'bob', identities: [BOB] })).text;
  admin = (await open.key({ actor: 'root', identities: [], admin: true })).text;
});

afterAll(async () => {
  await open.dispose();
});

const PATH = '/admin/v1/shadow';
const port = (): number => open.admin?.port ?? 0;
const choose = (snapshot: string | null, key = admin): Promise<Reply> =>
  callAdmin(port(), { method: 'POST', path: PATH, key, body: { snapshot } });
const show = (): Promise<Reply> => callAdmin(port(), { path: PATH, key: admin });
const query = (key: string, namespace: string, family = 'resource'): Promise<Reply> =>
  call(open.port, { key, body: { family, namespace, reach: 'subtree' } });
const create = (key: string, name: string, namespace = '/'): Promise<Reply> =>
  call(open.port, {
    ...{ key, path: '/api/v1/resources', headers: { 'idempotency-key': name } },
    body: { namespace, name },
  });

interface Live extends Readonly<Record<string, unknown>> {
  readonly compared: number;
  readonly examples: readonly Readonly<Record<string, unknown>>[];
}

async function liveAfter(compared: number): Promise<Live> {
  for (let waited = 0; waited < 5_000; waited += 5) {
    const live = (await show()).json?.['live'] as Live | undefined;
    if (live !== undefined && live.compared >= compared) return live;
    await sleep(5);
  }
  throw new Error('nothing was compared');
}

describe('what is refused', () => {
  it('is what the store does not have, and whoever is no admin', async () => {
    expect([(await choose(`sha256:${'0'.repeat(64)}`)).json?.['code']]).toEqual(['snapshot.not_found']);
    expect((await choose('one')).json?.['code']).toBe('request.schema');
    expect((await choose(CANDIDATE.policy.digest, ada)).status).toBe(401);
    expect((await callAdmin(port(), { path: PATH })).status).toBe(401);
    expect((await show()).json).toEqual({ snapshot: null, differs: null, since: null });
  });

  it('is a snapshot that says something false of itself, and one that is damaged', async () => {
    const stored = storedSnapshots(open.db);
    const [, body = ''] = /"snapshot":(.*)\}$/.exec(Buffer.from(OTHER.bytes).toString()) ?? [];
    const changed = body.replace(OTHER.policy.decisions, LIVE.policy.decisions);
    const lie = Buffer.from(`{"seal":"${sha256(changed)}","snapshot":${changed}}`);
    const digest = sha256(lie);
    const policy = { ...LIVE.policy, digest };
    await stored.keep({ policy, bytes: lie, labels: 'unverified', statement: null, at: instantOf(Date.now()) });
    expect(JSON.stringify((await choose(digest)).json)).toContain('snapshot.decisions');
    // What was found out is kept: nobody works it out again, and nothing puts it in force.
    expect(await stored.find(digest)).toMatchObject({ labels: 'false' });
    expect(JSON.stringify((await choose(digest)).json)).toContain('snapshot.label');
    await open.db.knex('snapshot_parts').where({ snapshot: digest }).del();
    expect(JSON.stringify((await choose(digest)).json)).toContain('snapshot.damaged');
    expect((await show()).json?.['snapshot']).toBeNull();
  });
});

async function run(...args: readonly string[]): Promise<readonly [status: number, out: string, errors: string]> {
  const made = makeIo();
  const status = await main([...args, '--admin-socket', open.admin?.socket ?? ''], made.io);
  return [status, made.stdout(), made.stderr()];
}

describe('a candidate', () => {
  it('is told at once with exactly the cells that differ, and decides nothing', async () => {
    const report = diffPolicies(LIVE.policy, CANDIDATE.policy);
    const begun = await choose(CANDIDATE.policy.digest);
    expect(begun).toMatchObject({
      status: 200,
      json: {
        snapshot: CANDIDATE.policy.digest,
        against: { snapshot: LIVE.policy.digest, generation: 1 },
        differs: {
          cells: Number(report.cells.gained + report.cells.lost),
          gained: Number(report.cells.gained),
          lost: Number(report.cells.lost),
          compared: Number(report.cells.compared),
          rows: { omitted: { gained: 0, lost: 0 } },
        },
        fault: null,
        live: { compared: 0, examples: [] },
      },
    });
    const { rows } = begun.json?.['differs'] as {
      readonly rows: Readonly<Record<'gained' | 'lost', readonly object[]>>;
    };
    expect([rows.gained.length, rows.lost.length]).toEqual([report.gained.length, report.lost.length]);
    expect(open.gateway.policies.current().policy.digest).toBe(LIVE.policy.digest);
  });

  it('is compared with what live requests are answered, which it does not change', async () => {
    const answers = [
      await query(ada, '/'),
      await query(bob, '/labs'),
      await query(bob, '/labs'),
      await query(bob, '/office'),
      await create(ada, 'lens'),
      await create(bob, 'mirror'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 403, 201, 403]);
    for (const { headers } of answers) expect(headers['bailiwick-snapshot']).toBe(LIVE.policy.digest);
    const live = await liveAfter(6);
    expect(live).toMatchObject({ compared: 6, gained: 1, lost: 3, both: 0, skipped: 0 });
    const ofBob = { id: 'bob', kind: 'key' };
    expect(live.examples).toEqual([
      expect.objectContaining({
        ...{ operation: 'resource.query', times: 2, change: 'lost', actor: expect.objectContaining(ofBob) },
        ...{ live: { decision: 'allow' }, shadow: { decision: 'allow' } },
        visible: {
          gained: { places: [], more: false },
          lost: { places: [{ namespace: '/labs', extent: 'subtree' }], more: false },
        },
      }),
      expect.objectContaining({
        ...{ operation: 'resource.query', change: 'gained', shadow: { decision: 'allow' } },
        live: { decision: 'deny', step: 'no_matching_grant' },
        access: { family: 'resource', scope: 'resource:read', reach: 'subtree', context: '/office', target: '/office' },
      }),
      expect.objectContaining({
        ...{ operation: 'resource.create', change: 'lost', live: { decision: 'allow' } },
        shadow: { decision: 'deny', step: 'no_matching_grant' },
      }),
    ]);
  });

  it('shows of live requests no record, no name and no credential', async () => {
    const text = (await show()).text;
    expect(text).not.toMatch(/lens|mirror|bwk_|[0-9a-f]{8}-[0-9a-f]{4}-/);
  });

  it('is in the status as counts alone, in the list of snapshots and in the metrics', async () => {
    const status = await callAdmin(port());
    expect(status.json?.['shadow']).toMatchObject({
      ...{ snapshot: CANDIDATE.policy.digest, live: { compared: 6, gained: 1, lost: 3, both: 0, skipped: 0 } },
      differs: { cells: expect.any(Number) },
    });
    expect(JSON.stringify(status.json?.['shadow'])).not.toContain('bob');
    const { json } = await callAdmin(port(), { path: '/admin/v1/snapshots', key: admin });
    expect(json?.['snapshots']).toContainEqual(
      expect.objectContaining({ snapshot: CANDIDATE.policy.digest, state: 'shadow', labels: 'verified' }),
    );
    const metrics = await fetch(`http://127.0.0.1:${String(port())}/metrics`);
    const text = await metrics.text();
    expect(text).toContain('bailiwick_shadow_divergence_total{change="lost"} 3\n');
    expect(text).toContain('bailiwick_shadow_comparisons_total{result="compared"} 6\n');
    expect(text).toMatch(/bailiwick_shadow_differing_cells \d+\n/);
  });

  it('is shown on the command line, in `shadow` and in `status`', async () => {
    const [ended, text] = await run('shadow');
    expect(ended).toBe(0);
    expect(text.replaceAll(/sha256:[0-9a-f]{64}|\d{4}-\S+Z/g, '#')).toMatchInlineSnapshot(`
     "candidate   # (test)
     since       #, by admin root
     against     #, activation 1
     differs     12 of 160 cells: 2 gained, 10 lost
     live        6 decisions compared: 1 gained, 3 lost, 0 both
     + orcid:bob: resource:read at and below /office
     - orcid:ada: resource:write at and below /
     - orcid:bob: resource:read at and below /labs, without /labs/optics
     lost    resource.query by bob at /labs, 2 times: live allow, shadow allow
             lost at and below /labs
     gained  resource.query by bob at /office, 1 time: live deny no_matching_grant, shadow allow
             gained at and below /office
     lost    resource.create by ada at /, 1 time: live allow, shadow deny no_matching_grant
     "
    `);
    expect((await run('status'))[1]).toMatch(
      /^shadow +sha256:\w{64}: \d+ of \d+ cells: .* lost; 6 decisions compared: 1 gained/m,
    );
    expect(JSON.parse((await run('shadow', '--format', 'json'))[1])).toMatchObject({ live: { compared: 6 } });
    expect(await run('shadow', 'x', '--off')).toMatchObject([2, '', expect.stringContaining('takes no snapshot')]);
    expect(await run('shadow', `sha256:${'0'.repeat(64)}`)).toMatchObject([
      6,
      '',
      expect.stringContaining('.not_found'),
    ]);
  });

  it('is compared anew when another policy comes into force, and ends when it does so itself', async () => {
    const { activator, policies } = open.gateway;
    const by = { reason: 'test', askedBy: 'test', kind: 'activated' } as const;
    await activator.choose({ ...by, snapshot: OTHER.policy.digest });
    for (let waited = 0; waited < 5_000 && (await show()).json?.['differs'] === null; waited += 10) await sleep(10);
    const { cells } = diffPolicies(OTHER.policy, CANDIDATE.policy);
    expect((await show()).json).toMatchObject({
      against: { snapshot: OTHER.policy.digest, generation: policies.current().generation },
      differs: { gained: Number(cells.gained), lost: Number(cells.lost) },
      live: { compared: 0, examples: [] },
    });
    await query(bob, '/office');
    expect(await liveAfter(1)).toMatchObject({ compared: 1, gained: 1 });
    await activator.choose({ ...by, snapshot: CANDIDATE.policy.digest });
    expect((await show()).json?.['snapshot']).toBeNull();
    expect((await callAdmin(port())).json?.['shadow']).toBeNull();
  });

  it('is recorded with who began and who ended it, and ends when it is told to', async () => {
    await choose(LIVE.policy.digest);
    expect(await run('shadow', '--off')).toEqual([0, 'there is no candidate\n', '']);
    const outbox = await open.db.knex<{ event: string }>('audit_outbox').orderBy('position').select('event');
    const acts = outbox.map(({ event }) => JSON.parse(event) as Readonly<Record<string, unknown>>);
    expect(acts.filter(({ operation }) => String(operation).startsWith('shadow.'))).toMatchObject([
      { operation: 'shadow.begin', snapshot: CANDIDATE.policy.digest, actor: { kind: 'admin', id: 'root' } },
      { operation: 'shadow.begin', snapshot: LIVE.policy.digest },
      { operation: 'shadow.end', snapshot: LIVE.policy.digest, outcome: 'allowed' },
    ]);
  });
});
