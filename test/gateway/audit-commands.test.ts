// What the audit log holds about refused commands: what the policy was asked, and what refused the command or why
// nothing was done.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type AuditTrail, openTrail } from '../../server/audit/trail.js';
import { makeIdSource, systemClock } from '../../server/lib/ports.js';
import { readLines, SILENT } from '../support/audit-log.js';
import {
  type CommandDoors,
  type CommandDoorsOptions,
  openCommandDoors,
  type Sending,
} from '../support/command-doors.js';
import { type OpenedStore, testStores } from '../support/stores.js';
import { makeFolder } from '../support/temp-folder.js';

const ACTORS: CommandDoorsOptions['actors'] = {
  ada: { '/': '*:*' },
  ben: { '/labs/x': '*:read resource:write' },
  wes: { '/labs': 'resource:write' },
  sol: { '/labs': 'resource:write resource-template:read' },
};
const ABSENT = '0190c0de-0000-7000-8000-000000000003';

let store: OpenedStore;
let doors: CommandDoors;
let trail: AuditTrail;
let folder: string;

beforeAll(async () => {
  const [embedded] = testStores();
  if (embedded === undefined) throw new Error('no store');
  store = await embedded.open();
  folder = await makeFolder();
  const ports = { db: store.database, clock: systemClock, nextId: makeIdSource(), log: SILENT };
  trail = await openTrail({ ...ports, folder, queries: 'all', onFailure: 'refuse', lag: 10_000 });
  doors = await openCommandDoors({ db: store.database, actors: ACTORS, audit: trail });
  for (const path of ['/labs', '/labs/x', '/labs/y']) {
    await doors.send('ada', `PUT /api/v1/namespaces${path}`, { body: {} });
  }
});

afterAll(async () => {
  await doors.close();
  await trail.close();
  await store.dispose();
});

type Event = Readonly<Record<string, unknown>>;

let refused = 0;

/** The event of a request that is refused, once it is on the disk. */
async function refusalOf(actor: string, request: string, sending: Sending = {}): Promise<Event> {
  const { status } = await doors.send(actor, request, sending);
  refused += 1;
  for (let tries = 0; tries < 100; tries += 1) {
    const events = readLines(folder).map((line) => JSON.parse(line) as Event);
    const found = events.filter(({ kind }) => kind === 'refusal')[refused - 1];
    if (found !== undefined) {
      expect(found['status']).toBe(status);
      return found;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error('no event');
}

async function makeResource(namespace: string): Promise<string> {
  const made = await doors.send('ada', 'POST /api/v1/resources', { body: { namespace, name: 'lens' } });
  return String(made.json['id']);
}

const write = (family: string, target: string): object => ({
  scope: `${family}:write`,
  family,
  context: target,
  target,
});

describe('the audit of commands that are refused', () => {
  it('says what was asked where a namespace or a record may not be made', async () => {
    const body = { namespace: '/labs/y', name: 'lens' };
    expect(await refusalOf('ben', 'POST /api/v1/resources', { body })).toMatchObject({
      kind: 'refusal',
      outcome: 'denied',
      operation: 'resource.create',
      access: write('resource', '/labs/y'),
      step: 'no_matching_grant',
      status: 403,
    });
    expect(await refusalOf('ben', 'PUT /api/v1/namespaces/labs/x/z', { body: {} })).toMatchObject({
      outcome: 'denied',
      operation: 'namespace.create',
      access: { ...write('namespace', '/labs/x'), creates: '/labs/x/z' },
      step: 'no_matching_grant',
    });
    expect(await refusalOf('ben', 'POST /api/v1/namespaces/labs/x/archive', { ifMatch: 1 })).toMatchObject({
      outcome: 'denied',
      operation: 'namespace.archive',
      access: write('namespace', '/labs/x'),
    });
  });

  it('says why a hidden record was answered like a missing one', async () => {
    const id = await makeResource('/labs/y');
    const hidden = await refusalOf('ben', `PATCH /api/v1/resources/${id}`, { body: {}, ifMatch: 1 });
    expect(hidden).toMatchObject({
      outcome: 'denied',
      operation: 'resource.change',
      access: write('resource', '/labs/y'),
      records: [id],
      step: 'no_matching_grant',
      status: 404,
    });
    const absent = await refusalOf('ben', `PATCH /api/v1/resources/${ABSENT}`, { body: {}, ifMatch: 1 });
    expect(absent).toMatchObject({ outcome: 'failed', access: null, records: [ABSENT], status: 404 });
  });

  it('says both sides of a copy, which of them was refused and why', async () => {
    const id = await makeResource('/labs/x');
    const path = `POST /api/v1/resources/${id}/copies`;
    const sides = { source: '/labs/x', destination: '/labs/y', family: 'resource' };
    const asked = { outcome: 'denied', operation: 'resource.copy', access: sides, records: [id] };
    expect(await refusalOf('ben', path, { body: { destination: '/labs/y' } })).toMatchObject({
      ...asked,
      step: 'destination_write',
      cause: 'no_matching_grant',
      status: 403,
    });
    expect(await refusalOf('wes', path, { body: { destination: '/labs/y' } })).toMatchObject({
      ...asked,
      step: 'source_read',
      cause: 'no_matching_grant',
      status: 404,
    });
  });

  it('says by which grants a command was allowed that failed for another reason', async () => {
    const id = await makeResource('/labs/x');
    const stale = await refusalOf('ben', `PATCH /api/v1/resources/${id}`, { body: {}, ifMatch: 7 });
    expect(stale).toMatchObject({ kind: 'refusal', outcome: 'failed', grants: ['g2'], records: [id], status: 412 });
    expect(stale).not.toHaveProperty('step');
  });

  it('says of a batch which of its commands was refused', async () => {
    const commands = ['/labs/x', '/labs/y'].map((namespace) => ({
      method: 'POST',
      path: '/api/v1/resources',
      body: { namespace, name: 'lens' },
    }));
    expect(await refusalOf('ben', 'POST /api/v1/batch', { body: { commands } })).toMatchObject({
      outcome: 'denied',
      operation: 'resource.create',
      access: write('resource', '/labs/y'),
      step: 'no_matching_grant',
    });
  });

  it('names the policy that refused it, where that is not the one that had allowed it', async () => {
    const id = await makeResource('/labs/x');
    const { refusal, digest } = await store.database.transaction(async () => {
      // The embedded engine is this transaction's alone: the request waits for it, under the policy that allows it.
      const asked = refusalOf('ben', `PATCH /api/v1/resources/${id}`, { body: { name: 'x' }, ifMatch: 1 });
      await new Promise(setImmediate);
      return { refusal: { asked }, digest: doors.decree({ ...ACTORS, ben: { '/labs/x': '*:read' } }).digest };
    });
    expect(await refusal.asked).toMatchObject({
      outcome: 'denied',
      access: write('resource', '/labs/x'),
      step: 'no_matching_grant',
      snapshot: digest,
      status: 403,
    });
    doors.decree(ACTORS);
  });

  it('says step and code of the root, about which no policy is asked', async () => {
    expect(await refusalOf('ada', 'POST /api/v1/namespaces//archive', { ifMatch: 1 })).toMatchObject({
      outcome: 'denied',
      access: null,
      step: 'canonicalize',
      status: 403,
    });
  });

  it('of a unique name is one of reading, which it takes as well', async () => {
    const asking = { namespace: '/labs', name: 'sample', version: '1', schema: {}, uniqueName: true };
    const template = String((await doors.send('ada', 'POST /api/v1/resource-templates', { body: asking })).json['id']);
    const target = '/labs/x';
    const read = { scope: 'resource:read', family: 'resource', context: target, target };
    const denied = { outcome: 'denied', step: 'no_matching_grant', status: 403, access: read };
    const body = { namespace: target, name: 'one', template };
    const byName = `PUT /api/v1/resources/by-name?namespace=${target}&name=one`;
    expect(await refusalOf('sol', 'POST /api/v1/resources', { body })).toMatchObject(denied);
    expect(await refusalOf('sol', byName, { body: { template } })).toMatchObject(denied);
    const path = byName.slice('PUT '.length);
    const commands = [{ method: 'PUT', path, body: { template } }];
    expect(await refusalOf('sol', 'POST /api/v1/batch', { body: { commands } })).toMatchObject(denied);
    // Who may not write is refused for that.
    const { access, operation } = await refusalOf('ben', byName.replace('/labs/x', '/labs'), { body: { template } });
    expect([access, operation]).toEqual([write('resource', '/labs'), 'resource.put']);
  });
});
