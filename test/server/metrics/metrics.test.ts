// GET /metrics: every series by name, type and words, what it may say and what it may not, and that what requests do is counted
// once. The names are part of what operators build on: a change here is one of theirs.
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { FAMILIES } from '../../../engine/index.js';
import type { AuditLags, AuditTrail } from '../../../server/audit/trail.js';
import { formatSeries, makeRegistry } from '../../../server/metrics/series.js';
import { publishAudit, publishIssuers, publishStore } from '../../../server/metrics/state-metrics.js';
import { PROBLEMS } from '../../../server/problem.js';
import { declaredAdminRoutes, declaredRoutes } from '../../support/api-description.js';
import { type CommandDoors, openCommandDoors, type Sending } from '../../support/command-doors.js';
import { readExposition, type Series, valueOf } from '../../support/exposition.js';
import { headerOf, openInProcess } from '../../support/in-process.js';
import { type OpenedStore, testStores } from '../../support/stores.js';

const ACTORS = {
  ada: { '/labs': 'namespace:* resource:*' },
  bob: { '/labs/secret-canary': 'resource:*' },
  root: { '/': '*:*' },
};

interface World extends CommandDoors {
  readonly metrics: () => Promise<readonly Series[]>;
  readonly dispose: () => Promise<void>;
}

async function openWorld(): Promise<World> {
  const [store] = testStores();
  const opened: OpenedStore | undefined = await store?.open();
  if (opened === undefined) throw new Error('there is no store');
  const doors = await openCommandDoors({ db: opened.database, actors: ACTORS });
  const ask = openInProcess(doors.services, doors.services.adminRoutes, { showsStatus: true });
  return {
    ...doors,
    metrics: async () => {
      const answered = await ask({ url: '/metrics' });
      expect([answered.status, headerOf(answered, 'content-type')]).toEqual([
        200,
        'text/plain; version=0.0.4; charset=utf-8',
      ]);
      return readExposition(answered.text);
    },
    dispose: async () => {
      await doors.close();
      await opened.dispose();
    },
  };
}

const QUERY: Sending = { body: { family: 'resource', namespace: '/labs', reach: 'subtree' } };

/** What a client does in an hour. */
async function work({ send }: World, ids: readonly string[]): Promise<void> {
  const made = await send('ada', 'POST /api/v1/resources', { body: { namespace: '/labs', name: 'lens' } });
  const id = String(made.json['id']);
  await send('ada', 'POST /api/v1/query', QUERY);
  await send('ada', 'POST /api/v1/query/count', QUERY);
  await send('ada', `GET /api/v1/resources/${id}`);
  for (const one of ids) await send('ada', `GET /api/v1/resources/${one}`);
  await send('ada', `PATCH /api/v1/resources/${id}`, { ifMatch: 1, body: { name: 'mirror' } });
  await send('ada', `PATCH /api/v1/resources/${ids[0] ?? ''}`, { ifMatch: 1, body: { name: 'mirror' } });
  await send('ada', 'GET /api/v1/namespaces/labs');
  await send('ada', 'GET /api/v1/whoami');
  await send('ada', 'POST /api/v1/query', { body: { family: 'resource', namespace: '/' } });
  await send('ada', 'POST /api/v1/query', { body: { family: 'process-run', namespace: '/labs' } });
  await send('ada', 'PUT /api/v1/namespaces/elsewhere', { body: {} });
  await send('ada', 'POST /api/v1/query', { body: { family: 'nothing' } });
  await send('nobody', 'GET /api/v1/whoami');
  await send('ada', 'GET /api/v1/nowhere');
}

const ABSENT = '01900000-0000-7000-8000-000000000000';

describe('what is exposed', () => {
  let world: World;
  let series: readonly Series[];

  beforeAll(async () => {
    world = await openWorld();
    await world.send('root', 'PUT /api/v1/namespaces/labs', { body: {} });
    await work(world, [ABSENT]);
    world.services.policies.refuse({ code: 'snapshot.digest', message: 'a canary', problems: [] });
    series = await world.metrics();
  });
  afterAll(async () => {
    await world.dispose();
  });

  it('is every series of the documented names, each with words and a unit', () => {
    const own = series.filter(({ name }) => name.startsWith('bailiwick_')).map(({ name, type }) => `${name} ${type}`);
    expect(own.sort()).toEqual([
      'bailiwick_auth_failures_total counter',
      'bailiwick_build_info gauge',
      'bailiwick_changes_lag_seconds gauge',
      'bailiwick_changes_streams gauge',
      'bailiwick_db_connections gauge',
      'bailiwick_db_connections_max gauge',
      'bailiwick_db_waiting gauge',
      'bailiwick_decision_duration_seconds histogram',
      'bailiwick_decisions_total counter',
      'bailiwick_http_connections gauge',
      'bailiwick_http_connections_cut_total counter',
      'bailiwick_http_connections_max gauge',
      'bailiwick_http_request_duration_seconds histogram',
      'bailiwick_http_requests_abandoned_total counter',
      'bailiwick_http_requests_total counter',
      'bailiwick_issuer_up gauge',
      'bailiwick_peers gauge',
      'bailiwick_problems_total counter',
      'bailiwick_query_duration_seconds histogram',
      'bailiwick_rate_limited_total counter',
      'bailiwick_ready gauge',
      'bailiwick_replica_age_seconds gauge',
      'bailiwick_replica_used gauge',
      'bailiwick_shadow_comparisons_total counter',
      'bailiwick_shadow_differing_cells gauge',
      'bailiwick_shadow_divergence_total counter',
      'bailiwick_snapshot_activation_timestamp_seconds gauge',
      'bailiwick_snapshot_age_seconds gauge',
      'bailiwick_snapshot_expires_timestamp_seconds gauge',
      'bailiwick_snapshot_generation gauge',
      'bailiwick_snapshot_info gauge',
      'bailiwick_snapshot_last_success_timestamp_seconds gauge',
      'bailiwick_snapshot_refused gauge',
      'bailiwick_snapshot_reloads_total counter',
      'bailiwick_snapshot_stale gauge',
      'bailiwick_source_up gauge',
      'bailiwick_tls_certificate_expires_timestamp_seconds gauge',
      'bailiwick_tls_failures_total counter',
      'bailiwick_workers gauge',
    ]);
    const others = series.filter(({ name }) => !name.startsWith('bailiwick_'));
    expect(others.length).toBeGreaterThan(10);
    for (const { name } of others) expect(name).toMatch(/^(?:process|nodejs)_/);
    expect(others.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        'process_cpu_seconds_total',
        'process_resident_memory_bytes',
        'process_start_time_seconds',
        'process_open_fds',
        'nodejs_eventloop_lag_p99_seconds',
        'nodejs_heap_size_used_bytes',
        'nodejs_gc_duration_seconds',
      ]),
    );
  });

  test('counters end in _total and nothing else does; what has a unit has a base unit', () => {
    for (const { name, type, help } of series) {
      expect(help).toMatch(/^[A-Z0-9].*\.$/);
      expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter']);
      expect(name).not.toMatch(/_(?:ms|milliseconds|microseconds|nanoseconds|minutes|kb|mb)(?:_|$)/);
      if (type === 'histogram') expect(name).toMatch(/_(?:seconds|bytes)$/);
    }
  });

  test('labels are names of ours: routes as they are declared, codes, steps and families', () => {
    const routes = [...declaredRoutes(), ...declaredAdminRoutes()];
    const allowed: Readonly<Record<string, readonly string[]>> = {
      action: ['read', 'write'],
      change: ['gained', 'lost', 'both'],
      check: ['listener', 'certificate', 'policy', 'store', 'outbox', 'audit'],
      code: PROBLEMS.map(({ code }) => code),
      decisions: [world.services.policies.current().policy.decisions],
      family: [...FAMILIES, 'batch'],
      limit: ['soft', 'hard', 'actor', 'address', 'concurrency', 'unauthenticated', 'unread-bytes', 'overloaded'],
      method: [...routes.map(({ method }) => method), 'other'],
      operation: ['query', 'count', 'read'],
      policy: ['test'],
      pool: ['read', 'write', 'vital'],
      reason: ['none', 'snapshot.digest', 'missing', 'unreadable', 'unknown'],
      result: ['allow', 'deny', 'activated', 'refused', 'compared', 'skipped'],
      serves: ['same', 'other'],
      route: [...routes.map(({ path }) => path), 'none'],
      snapshot: [world.services.policies.current().policy.digest],
      state: ['used', 'free'],
      status: ['200', '201', '400', '401', '403', '404', '412'],
      step: ['none', 'no_matching_grant', 'target_relationship'],
    };
    for (const { name, samples } of series.filter((one) => /^bailiwick_(?!build_info)/.test(one.name))) {
      for (const { labels } of samples) {
        for (const [label, value] of Object.entries(labels)) {
          if (label !== 'le')
            expect([name, label, allowed[label]]).toEqual([name, label, expect.arrayContaining([value])]);
        }
      }
    }
  });

  test.each([
    ['bailiwick_http_requests_total', { method: 'POST', route: '/api/v1/query', status: '200' }, 1],
    ['bailiwick_http_requests_total', { method: 'POST', route: '/api/v1/query', status: '403' }, 2],
    ['bailiwick_http_requests_total', { method: 'POST', route: '/api/v1/query', status: '400' }, 1],
    ['bailiwick_http_requests_total', { method: 'GET', route: '/api/v1/resources/{id}', status: '200' }, 1],
    ['bailiwick_http_requests_total', { method: 'GET', route: '/api/v1/resources/{id}', status: '404' }, 1],
    ['bailiwick_http_requests_total', { method: 'other', route: 'none', status: '404' }, 1],
    ['bailiwick_http_request_duration_seconds_count', { method: 'POST', route: '/api/v1/query' }, 4],
    ['bailiwick_problems_total', { code: 'authz.denied' }, 3],
    ['bailiwick_problems_total', { code: 'record.not_found' }, 2],
    ['bailiwick_decisions_total', { result: 'allow', step: 'none', family: 'resource', action: 'read' }, 3],
    ['bailiwick_decisions_total', { result: 'allow', step: 'none', family: 'resource', action: 'write' }, 2],
    ['bailiwick_decisions_total', { result: 'allow', step: 'none', family: 'namespace', action: 'read' }, 1],
    ['bailiwick_decisions_total', { result: 'deny', step: 'no_matching_grant', family: 'resource', action: 'read' }, 1],
    [
      'bailiwick_decisions_total',
      { result: 'deny', step: 'no_matching_grant', family: 'process-run', action: 'read' },
      1,
    ],
    [
      'bailiwick_decisions_total',
      { result: 'deny', step: 'no_matching_grant', family: 'namespace', action: 'write' },
      1,
    ],
    ['bailiwick_decision_duration_seconds_count', {}, 7],
    ['bailiwick_query_duration_seconds_count', { family: 'resource', operation: 'query' }, 1],
    ['bailiwick_query_duration_seconds_count', { family: 'resource', operation: 'count' }, 1],
    ['bailiwick_query_duration_seconds_count', { family: 'resource', operation: 'read' }, 1],
    ['bailiwick_auth_failures_total', { reason: 'unreadable' }, 1],
    ['bailiwick_snapshot_generation', {}, 1],
    ['bailiwick_snapshot_refused', {}, 1],
    ['bailiwick_snapshot_reloads_total', { result: 'refused', reason: 'snapshot.digest' }, 1],
    ['bailiwick_snapshot_stale', { limit: 'hard' }, 0],
    ['bailiwick_ready', { check: 'store' }, 1],
    ['bailiwick_db_connections_max', { pool: 'vital' }, 2],
  ])('%s %j is %d', (name, labels, expected) => {
    expect(valueOf(series, name, labels)).toBe(expected);
  });

  it('follows a swap: one digest at a time, a later generation, and the refusal is over; a source that is away refuses nothing', async () => {
    const policy = world.decree({ ada: { '/labs': 'resource:read' } });
    const after = await world.metrics();
    const info = after.find(({ name }) => name === 'bailiwick_snapshot_info');
    expect(info?.samples.map(({ labels }) => labels['snapshot'])).toEqual([policy.digest]);
    expect(valueOf(after, 'bailiwick_snapshot_generation')).toBe(2);
    expect(valueOf(after, 'bailiwick_snapshot_refused')).toBe(0);
    expect(valueOf(after, 'bailiwick_snapshot_reloads_total', { result: 'activated', reason: 'none' })).toBe(1);
    const since = valueOf(after, 'bailiwick_snapshot_activation_timestamp_seconds');
    expect(Math.abs(since - Date.now() / 1000)).toBeLessThan(60);
    expect(valueOf(after, 'bailiwick_source_up')).toBe(1);
    world.services.policies.refuse({ code: 'source.unreachable', message: 'away', problems: [] });
    const away = await world.metrics();
    expect(valueOf(away, 'bailiwick_source_up')).toBe(0);
    expect(valueOf(away, 'bailiwick_snapshot_refused')).toBe(0);
    expect(valueOf(away, 'bailiwick_snapshot_reloads_total', { result: 'away', reason: 'source.unreachable' })).toBe(1);
  });
});

describe('what nobody may see', () => {
  it('changes no series, whatever is asked for', async () => {
    const worlds = [await openWorld(), await openWorld()];
    const told: (readonly string[])[] = [];
    for (const [index, world] of worlds.entries()) {
      await world.send('root', 'PUT /api/v1/namespaces/labs', { body: {} });
      await world.send('root', 'PUT /api/v1/namespaces/vault', { body: {} });
      const ids: string[] = [];
      for (const name of ['one', 'two', 'three']) {
        // In the second world they are where ada may not see them.
        const body = { namespace: index === 0 ? '/labs' : '/vault', name };
        const id = String((await world.send('root', 'POST /api/v1/resources', { body })).json['id']);
        await world.send('root', `POST /api/v1/resources/${id}/archive`, { ifMatch: 1 });
        ids.push(index === 0 ? ABSENT : id);
      }
      await work(world, ids);
      const series = await world.metrics();
      told.push(
        series
          .filter(
            ({ name }) =>
              name.startsWith('bailiwick_') && !/connections|waiting|age_seconds|lag_seconds|timestamp/.test(name),
          )
          .flatMap(({ samples }) => samples)
          // How long something took is no number of records.
          .filter(({ name }) => !/_(?:bucket|sum)$/.test(name))
          .map(({ name, labels, value }) => `${name} ${JSON.stringify(labels)} ${String(value)}`),
      );
      await world.dispose();
    }
    expect(told[0]?.length).toBeGreaterThan(40);
    expect(told[1]).toEqual(told[0]);
  });
});

describe('the text format', () => {
  it('escapes what would end a label, and spells values that are not numbers', async () => {
    const registry = makeRegistry();
    registry.gauge({ name: 'odd', help: 'Odd.', labels: ['name'] }, () => [
      [NaN, 'a "quoted" \\ one'],
      [Infinity, 'two\nlines'],
      [-Infinity, ''],
    ]);
    expect(formatSeries(await registry.read())).toBe(
      String.raw`# HELP odd Odd.
# TYPE odd gauge
odd{name="a \"quoted\" \\ one"} NaN
odd{name="two\nlines"} +Inf
odd{name=""} -Inf
`,
    );
  });

  it('counts into buckets as they contain one another, also beyond the last and at a bound', async () => {
    const registry = makeRegistry();
    const { observe } = registry.histogram({ name: 'h_seconds', help: 'H.', labels: ['of'], bounds: [0.1, 1] });
    for (const seconds of [0.1, 0.5, 1, 2]) observe(seconds, 'x');
    observe(0, 'y');
    expect(formatSeries(await registry.read())).toBe(`# HELP h_seconds H.
# TYPE h_seconds histogram
h_seconds_bucket{of="x",le="0.1"} 1
h_seconds_bucket{of="x",le="1"} 3
h_seconds_bucket{of="x",le="+Inf"} 4
h_seconds_sum{of="x"} 3.6
h_seconds_count{of="x"} 4
h_seconds_bucket{of="y",le="0.1"} 1
h_seconds_bucket{of="y",le="1"} 1
h_seconds_bucket{of="y",le="+Inf"} 1
h_seconds_sum{of="y"} 0
h_seconds_count{of="y"} 1
`);
  });

  it('has each name once', () => {
    const { counter } = makeRegistry();
    counter({ name: 'a_total', help: 'A.' });
    expect(() => counter({ name: 'a_total', help: 'B.' })).toThrow('two series are called a_total');
  });
});

describe('of parts that not every gateway has', () => {
  test('the audit log: what is on the disk, what was lost, and for how long it cannot be written or signed', async () => {
    const registry = makeRegistry();
    let lags: AuditLags = { file: 1500, store: 0 };
    const trail: Pick<AuditTrail, 'counts' | 'lags'> = {
      counts: () => ({ written: 17, lost: 2 }),
      lags: () => lags,
    };
    publishAudit(registry, trail);
    const read = async (): Promise<ReturnType<typeof readExposition>> =>
      readExposition(formatSeries(await registry.read()));
    const series = await read();
    expect(valueOf(series, 'bailiwick_audit_records_total')).toBe(17);
    expect(valueOf(series, 'bailiwick_audit_dropped_total')).toBe(2);
    expect(valueOf(series, 'bailiwick_audit_lag_seconds', { of: 'file' })).toBe(1.5);
    expect(valueOf(series, 'bailiwick_audit_lag_seconds', { of: 'store' })).toBe(0);
    expect(formatSeries(await registry.read())).not.toContain('checkpoint"');
    expect(valueOf(series, 'bailiwick_audit_stuck_events')).toBe(0);
    lags = { file: 0, store: 0, checkpoint: 2500, stuck: 3 };
    const later = await read();
    expect(valueOf(later, 'bailiwick_audit_lag_seconds', { of: 'checkpoint' })).toBe(2.5);
    expect(valueOf(later, 'bailiwick_audit_stuck_events')).toBe(3);
  });

  test('a replica: whether it is read from, and how old it is', async () => {
    const registry = makeRegistry();
    publishStore(registry, {
      pools: () => [],
      replicas: () => [{ address: 'one:5432', isUsed: true, age: 250, fault: null, reason: null }],
    });
    const series = readExposition(formatSeries(await registry.read()));
    expect(valueOf(series, 'bailiwick_replica_used', { replica: 'one:5432' })).toBe(1);
    expect(valueOf(series, 'bailiwick_replica_age_seconds', { replica: 'one:5432' })).toBe(0.25);
  });

  test('issuers by their place in the settings', async () => {
    const registry = makeRegistry();
    const issuer = (setting: string, trouble: string | null) => ({
      setting,
      provider: 'canary',
      prepare: () => Promise.resolve(null),
      trouble: () => trouble,
    });
    publishIssuers(registry, [issuer('authentication.oidc.0', null), issuer('authentication.oidc.1', 'is a canary')]);
    const text = formatSeries(await registry.read());
    expect(text).not.toContain('canary');
    const series = readExposition(text);
    expect(valueOf(series, 'bailiwick_issuer_up', { setting: 'authentication.oidc.0' })).toBe(1);
    expect(series.find(({ name }) => name === 'bailiwick_issuer_up')?.samples[1]?.value).toBe(0);
  });
});
