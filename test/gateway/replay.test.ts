// `bailiwick replay` over the log of a gateway: every recorded decision is reproduced to the byte on the snapshot
// beside the log, whatever was asked and however it was answered. Changes under another policy are listed.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { FAMILIES } from '../../engine/index.js';
import { keepSnapshot } from '../../server/audit/snapshots.js';
import { type AuditTrail, openTrail } from '../../server/audit/trail.js';
import { makeServices } from '../../server/compose.js';
import { makeIdSource, systemClock } from '../../server/lib/ports.js';
import { logFiles, SILENT } from '../support/audit-log.js';
import { type CommandDoors, type Grants, openCommandDoors, snapshotFor } from '../support/command-doors.js';
import { openInProcess } from '../support/in-process.js';
import { type CliRun, runCli } from '../support/run-cli.js';
import { type OpenedStore, testStores } from '../support/stores.js';
import { makeFolder } from '../support/temp-folder.js';

const ACTORS: Readonly<Record<string, Grants>> = {
  ada: { '/': '*:*' },
  ben: { '/labs': 'resource:read namespace:read', '/labs/x': '*:* ' },
  wes: { '/labs': 'resource:write process-run:write resource-template:read' },
};
/** Ben keeps what he writes and no longer sees all of it; Wes reads. */
const OTHERS: Readonly<Record<string, Grants>> = {
  ada: { '/': '*:*' },
  ben: { '/labs/x': '*:*' },
  wes: { '/labs': 'resource:write process-run:write resource:read' },
};
const ABSENT = '0190c0de-0000-7000-8000-000000000003';

let store: OpenedStore;
let folder: string;

function openIn(at: string): Promise<AuditTrail> {
  const ports = { db: store.database, clock: systemClock, nextId: makeIdSource(), log: SILENT };
  return openTrail({ ...ports, folder: at, queries: 'all', onFailure: 'refuse', lag: 10_000 });
}

beforeAll(async () => {
  const [embedded] = testStores();
  if (embedded === undefined) throw new Error('no store');
  store = await embedded.open();
  folder = await makeFolder();
  for (const actors of [ACTORS, OTHERS]) {
    const { policy, bytes } = snapshotFor(actors);
    await keepSnapshot(folder, policy.digest, bytes);
  }
  const trail = await openIn(folder);
  const doors = await openCommandDoors({ db: store.database, actors: ACTORS, audit: trail });
  await ask(doors);
  doors.decree(OTHERS);
  await ask(doors);
  await doors.close();
  await trail.close();
});

afterAll(async () => {
  await store.dispose();
});

/** All that may be asked, by everybody. */
async function ask(doors: CommandDoors): Promise<void> {
  for (const path of ['/labs', '/labs/x', '/labs/y'])
    await doors.send('ada', `PUT /api/v1/namespaces${path}`, { body: {} });
  const made: string[] = [];
  for (const namespace of ['/labs/x', '/labs/y']) {
    const { json } = await doors.send('ada', 'POST /api/v1/resources', { body: { namespace, name: 'lens' } });
    made.push(String(json['id']));
  }
  const [lens = '', hidden = ''] = made;
  const unique = { namespace: '/labs', name: 'sample', version: '1', schema: {}, uniqueName: true };
  const template = String((await doors.send('ada', 'POST /api/v1/resource-templates', { body: unique })).json['id']);
  await doors.narrow('narrow', 'ben', { scopes: null, restrictions: [] });
  for (const actor of ['ada', 'ben', 'wes', 'narrow', 'nobody']) {
    for (const family of FAMILIES) {
      for (const reach of ['exact', 'lineage', 'subtree']) {
        for (const namespace of ['/', '/labs/x', '/labs/y', '/none']) {
          await doors.send(actor, 'POST /api/v1/query', { body: { family, namespace, reach } });
        }
      }
    }
    await doors.send(actor, 'POST /api/v1/query/count', { body: { family: 'resource', namespace: '/labs/x' } });
    await doors.send(actor, 'POST /api/v1/query', { body: { family: 'resource', namespace: '/labs/x', page: 3 } });
    await doors.send(actor, 'GET /api/v1/namespaces/labs/y');
    for (const id of [lens, hidden, ABSENT, 'none']) {
      await doors.send(actor, `GET /api/v1/resources/${id}`);
      await doors.send(actor, `PATCH /api/v1/resources/${id}`, { body: { name: actor }, ifMatch: 9 });
      await doors.send(actor, `DELETE /api/v1/resources/${id}`, { ifMatch: 9 });
      for (const namespace of ['/labs/x', '/labs/y', '/none'])
        await doors.send(actor, `POST /api/v1/resources/${id}/move`, { body: { namespace }, ifMatch: 9 });
      await doors.send(actor, `POST /api/v1/resource-templates/${id}/versions`, { body: { version: '2' } });
      for (const destination of ['/labs/x', '/labs/y', '/none']) {
        const copying = { body: { destination }, key: `${actor}:${id}:${destination}` };
        await doors.send(actor, `POST /api/v1/resources/${id}/copies`, copying);
        await doors.send(actor, `POST /api/v1/resources/${id}/copies`, copying);
      }
    }
    for (const namespace of ['/labs/x', '/labs/y', '/none']) {
      await doors.send(actor, `PUT /api/v1/resources/by-name?namespace=${namespace}&name=by`, { body: { template } });
      await doors.send(actor, 'POST /api/v1/resources', { body: { namespace, name: 'by', template } });
      await doors.send(actor, 'POST /api/v1/process-runs', { body: { namespace, name: actor } });
      await doors.send(actor, `PUT /api/v1/namespaces${namespace}/of-${actor}`, { body: {} });
    }
    const create = { method: 'POST', path: '/api/v1/resources', body: { namespace: '/labs/x', name: 'in a batch' } };
    const change = { method: 'PATCH', path: `/api/v1/resources/${hidden}`, body: {}, ifMatch: '"9"' };
    await doors.send(actor, 'POST /api/v1/batch', { body: { commands: [create, create] } });
    await doors.send(actor, 'POST /api/v1/batch', { body: { commands: [create, change] } });
    await doors.send(actor, 'POST /api/v1/namespaces//archive', { ifMatch: 1 });
    await doors.send(actor, 'GET /api/v1/whoami');
  }
}

/** The last line of what failed is none of an event. */
interface Line {
  readonly log: string;
  readonly seq: number;
  readonly recorded?: Readonly<Record<string, unknown>> | null;
  readonly own: Readonly<Record<string, unknown>> | null;
  readonly against?: Readonly<Record<string, unknown>> | null;
  readonly reason?: string;
}

function linesOf({ stdout }: CliRun): readonly Line[] {
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
}

type Event = Readonly<Record<string, unknown>> & { readonly seq: number };

function eventsIn(at: string): readonly Event[] {
  return logFiles(at).flatMap((path) =>
    readFileSync(path, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Event),
  );
}

/** The folder again, with its files changed. */
async function changed(change: (at: string) => void): Promise<string> {
  const at = await makeFolder();
  await cp(folder, at, { recursive: true });
  change(at);
  return at;
}

describe('replay', () => {
  it('makes every decision again as it was, of every kind', async () => {
    const run = await runCli(['replay', folder, '--format', 'json']);
    expect([run.status, run.stderr]).toEqual([0, '']);
    const lines = linesOf(run);
    const events = eventsIn(folder);
    expect(lines.map(({ seq }) => seq)).toEqual(events.map(({ seq }) => seq));
    const replayed = new Set<string>();
    for (const [index, { recorded, own, reason }] of lines.entries()) {
      const { kind, operation, outcome, access, step } = events[index] ?? { seq: 0 };
      expect(own).toEqual(recorded);
      expect(reason === undefined).toBe(recorded !== null);
      expect(recorded !== null).toBe(access !== null);
      if (access === null) continue;
      expect(recorded?.['decision']).toBe(step === undefined ? 'allow' : 'deny');
      replayed.add([kind, operation, outcome].join(' '));
    }
    expect([...replayed].sort()).toEqual(
      expect.arrayContaining([
        'command namespace.create allowed',
        'command resource.create allowed',
        'command resource.copy allowed',
        'command resource.put allowed',
        'command process-run.create allowed',
        'query resource.query allowed',
        'query process-run.query allowed',
        'query resource.count allowed',
        'query resource.read allowed',
        'query namespace.read allowed',
        'refusal resource.query denied',
        'refusal resource.read denied',
        'refusal resource.change denied',
        'refusal resource.change failed',
        'refusal resource.copy denied',
        'refusal resource.put denied',
        'refusal namespace.create denied',
        'refusal process-run.create failed',
      ]),
    );
    const causes = new Set(lines.map(({ own }) => own?.['cause']));
    expect(causes).toEqual(new Set([undefined, 'no_matching_grant', 'restriction']));
  });

  it('says in text how many, and nothing else where all is as it was', async () => {
    const { status, stdout } = await runCli(['replay', folder]);
    const decisions = eventsIn(folder).filter(({ access }) => access !== null).length;
    const many = new Intl.NumberFormat('en').format(decisions);
    expect(status).toBe(0);
    expect(stdout).toMatch(
      new RegExp(`^${many} decisions, ${many} reproduced; \\d+ authentications, which cannot be replayed; .*\n$`),
    );
  });

  it('lists what another policy would change: decisions and visible sets, not grants or steps', async () => {
    const { bytes } = snapshotFor(OTHERS);
    const cwd = await makeFolder();
    writeFileSync(join(cwd, 'others.json'), bytes);
    const asked = ['replay', folder, '--against', 'others.json', '--until', untilDecree()];
    const run = await runCli([...asked, '--format', 'json', '--exit-code'], { cwd });
    expect([run.status, run.stderr]).toEqual([7, '']);
    const lines = linesOf(run);
    const flips = lines.filter(
      ({ recorded, against }) =>
        recorded?.['decision'] !== against?.['decision'] || recorded?.['visibility'] !== against?.['visibility'],
    );
    const byEvent = new Map(eventsIn(folder).map((event) => [event.seq, event]));
    const whose = new Set(flips.map(({ seq }) => (byEvent.get(seq)?.['actor'] as { readonly id: string }).id));
    expect(whose).toEqual(new Set(['ben', 'wes']));

    const text = await runCli(asked, { cwd });
    expect(text.status).toBe(0);
    const told = text.stdout.split('\n').slice(0, -2);
    expect(told).toHaveLength(flips.length);
    expect(told.filter((line) => line.includes('  allow becomes deny at no_matching_grant  ')).length).toBeGreaterThan(
      0,
    );
    expect(told.filter((line) => line.includes('  deny becomes allow by ')).length).toBeGreaterThan(0);
    expect(told.filter((line) => line.includes('  sees another set  ')).length).toBeGreaterThan(0);
  });

  it('chooses events as an audit query does', async () => {
    const asked = ['--format', 'json', '--actor', 'ben', '--kind', 'query', '--kind', 'refusal'];
    const lines = linesOf(await runCli(['replay', folder, ...asked]));
    // Before the folder as after it.
    const found = linesOf(await runCli(['audit', 'query', ...asked, folder]));
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.map(({ seq }) => seq)).toEqual(found.map(({ seq }) => seq));
  });

  it('ends with 6 where a snapshot is not beside the log, and replays the others', async () => {
    const { policy } = snapshotFor(OTHERS);
    const at = await changed((copy) => {
      rmSync(join(copy, 'snapshots', `${policy.digest.slice(7)}.json`));
    });
    const run = await runCli(['replay', at, '--format', 'json']);
    expect(run.status).toBe(6);
    const missing = linesOf(run).filter(({ reason }) => reason === 'snapshot_missing');
    expect(missing.length).toBeGreaterThan(0);
    for (const { own, recorded } of missing) expect([own, recorded === null]).toEqual([null, false]);
    const others = linesOf(run).filter(({ reason, recorded }) => reason === undefined && (recorded ?? null) !== null);
    expect(others.length).toBeGreaterThan(0);
    for (const { own, recorded } of others) expect(own).toEqual(recorded);
    expect(JSON.parse(run.stdout.split('\n').at(-2) ?? '')).toMatchObject({ error: { code: 'replay.snapshot' } });
    const text = await runCli(['replay', at]);
    expect(text.stdout).toContain('  not replayed: its snapshot is not beside the log  ');
  });

  it('ends with 8 where a snapshot beside the log is damaged', async () => {
    const at = await changed((copy) => {
      for (const name of readdirSync(join(copy, 'snapshots'))) {
        const path = join(copy, 'snapshots', name);
        writeFileSync(path, readFileSync(path, 'utf8').replace('orcid', 'orcie'));
      }
    });
    const run = await runCli(['replay', at, '--format', 'json']);
    expect([run.status, run.stdout]).toEqual([8, expect.stringContaining('"code":"replay.damaged"')]);
    const decisions = linesOf(run).filter(({ recorded }) => (recorded ?? null) !== null);
    expect(new Set(decisions.map(({ reason }) => reason))).toEqual(new Set(['snapshot_damaged']));
  });

  it.each([
    [
      'a denial that was made an approval',
      /"step":"no_matching_grant"/,
      '"stamp":"no_matching_grant"',
      /not reproduced: recorded allow/,
    ],
    [
      'a grant that did not carry it',
      /"grants":\["g1"\]/,
      '"grants":["g2"]',
      /not reproduced: recorded allow by g2, its snapshot says allow by g1/,
    ],
    ['another visible set', /"visibility":"sha256:..../, '"visibility":"sha256:0000', /not reproduced/],
    ['another actor', /"identities":\["orcid:ben"\]/, '"identities":["orcid:ada"]', /not reproduced/],
    ['an actor of no policy', /"kind":"key"/, '"kind":"local"', /not replayed: no gateway writes such an event/],
    [
      'a path that is none',
      /"context":"\/labs\/x"/,
      '"context":"/labs/X"',
      /not replayed: no gateway writes such an event/,
    ],
  ])('ends with 8 for %s', async (_, sought, put, told) => {
    const at = await changed((copy) => {
      const [path = ''] = logFiles(copy);
      const lines = readFileSync(path, 'utf8').split('\n');
      const index = lines.findIndex((line) => line.startsWith('{"access":{') && sought.test(line));
      lines[index] = lines[index]?.replace(sought, put) ?? '';
      writeFileSync(path, lines.join('\n'));
    });
    const run = await runCli(['replay', at]);
    expect([run.status, run.stdout.split('\n').length]).toEqual([8, 3]);
    expect(run.stdout).toMatch(told);
  });

  it('knows the decisions of local mode, which have no snapshot', async () => {
    const at = await makeFolder();
    const trail = await openIn(at);
    const services = await makeServices({
      mode: { kind: 'local' },
      db: store.database,
      rate: { perActor: 0, perAddress: 0, unauthenticated: 0 },
      concurrency: { perActor: 0 },
      log: SILENT,
      audit: trail,
    });
    const send = openInProcess(services, services.routes);
    const body = JSON.stringify({ family: 'resource', namespace: '/labs', reach: 'subtree' });
    expect((await send({ method: 'POST', url: '/api/v1/query', body })).status).toBe(200);
    await services.close();
    await trail.close();
    const run = await runCli(['replay', at, '--format', 'json', '--kind', 'query']);
    expect([run.status, linesOf(run)]).toMatchObject([0, [{ own: { decision: 'allow', grants: [] } }]]);
    expect(linesOf(run)[0]?.own).toEqual(linesOf(run)[0]?.recorded);
  });

  it('takes `--exit-code` with another policy alone', async () => {
    const run = await runCli(['replay', folder, '--exit-code']);
    expect([run.status, run.stderr]).toEqual([2, expect.stringContaining('`--exit-code` needs `--against`')]);
  });
});

/** When the other policy came into force. */
function untilDecree(): string {
  const found = eventsIn(folder).find(({ operation }) => operation === 'policy.activate');
  return String(found?.['time']);
}
