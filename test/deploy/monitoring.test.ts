// What deploy/ tells Prometheus and Grafana: every expression is PromQL and uses series and labels that a gateway has;
// each alert is explained. If the programs are installed, their own checks run, too.
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { parser } from '@prometheus-io/lezer-promql';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { noStore } from '../../server/db/no-store.js';
import { makeRoutes } from '../../server/http/routes.js';
import type { Series } from '../../server/metrics/series.js';
import { everySeries } from '../support/every-series.js';
import { openGateway, type TestGateway } from '../support/gateway.js';
import { findProgram } from '../support/programs.js';
import { fromRoot } from '../support/root.js';

const run = promisify(execFile);

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

const ALERTS = parse(readFileSync(fromRoot('deploy/prometheus/alerts.yml'), 'utf8')) as {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
};
const RULES = ALERTS.groups.flatMap(({ rules }) => rules);

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>>;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}
const DASHBOARD = JSON.parse(readFileSync(fromRoot('deploy/grafana/bailiwick.json'), 'utf8')) as {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
  readonly annotations: { readonly list: readonly { readonly expr: string; readonly textFormat: string }[] };
};

/** As Prometheus gets it from Grafana. */
function filledIn(expr: string): string {
  return expr.replaceAll(/\$__(?:rate_)?interval/g, '5m').replaceAll(/\$\w+/g, '.*');
}

const EXPRESSIONS: readonly (readonly [where: string, expr: string])[] = [
  ...RULES.map(({ alert, expr }) => [alert, expr] as const),
  ...DASHBOARD.panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, filledIn(expr)] as const)),
  ...DASHBOARD.annotations.list.map(({ expr }) => ['annotations', filledIn(expr)] as const),
];

interface Asked {
  readonly metrics: readonly string[];
  readonly labels: readonly string[];
  readonly errors: number;
}

function askedBy(expr: string): Asked {
  const metrics: string[] = [];
  const labels: string[] = [];
  let errors = 0;
  parser.parse(expr).iterate({
    enter: ({ type, name, from, to }) => {
      if (type.isError) errors += 1;
      if (name === 'Identifier') metrics.push(expr.slice(from, to));
      if (name === 'LabelName') labels.push(expr.slice(from, to));
    },
  });
  return { metrics, labels, errors };
}

let series: ReadonlyMap<string, Series>;
beforeAll(async () => {
  series = await everySeries();
});

/** The series that a name is of, with its labels. */
function found(metric: string): Series | undefined {
  const part = /^(.*)_(?:bucket|sum|count)$/.exec(metric)?.[1];
  const histogram = part === undefined ? undefined : series.get(part);
  return histogram?.type === 'histogram' ? histogram : series.get(metric);
}

describe('expressions', () => {
  it('are found', () => {
    expect(RULES.length).toBeGreaterThan(12);
    expect(EXPRESSIONS.length).toBeGreaterThan(45);
  });

  test.each(EXPRESSIONS)('of %s: %s', (_, expr) => {
    const { metrics, labels, errors } = askedBy(expr);
    expect(errors).toBe(0);
    expect(metrics.length).toBeGreaterThan(0);
    // Of Prometheus itself.
    const own = metrics.filter((metric) => metric !== 'up');
    expect(own.filter((metric) => found(metric) === undefined)).toEqual([]);
    const known = new Set(['job', 'instance', 'le', ...own.flatMap((metric) => found(metric)?.labels ?? [])]);
    expect(labels.filter((label) => !known.has(label))).toEqual([]);
  });

  it('would be refused if they were none', () => {
    expect(askedBy('sum by (job (up)').errors).toBeGreaterThan(0);
    expect(found('bailiwick_nothing_total')).toBeUndefined();
    expect(found('bailiwick_ready_count')).toBeUndefined();
  });

  test('variables ask for a series that always is there', () => {
    const asked = DASHBOARD.templating.list.flatMap(
      ({ definition }) => /^label_values\((\w+)/.exec(definition ?? '')?.[1] ?? [],
    );
    expect(asked).toEqual(['bailiwick_build_info', 'bailiwick_build_info']);
  });

  test('counters are asked for their rate, and gauges are not', () => {
    for (const [where, expr] of EXPRESSIONS) {
      for (const metric of askedBy(expr).metrics) {
        const { type = 'gauge' } = found(metric) ?? {};
        const isRate = new RegExp(`(?:rate|increase)\\(${metric}\\b`).test(expr);
        expect([where, metric, isRate]).toEqual([where, metric, type !== 'gauge']);
      }
    }
  });
});

test('what is asked about routes counts every route that clients ask with a credential, and no probe', () => {
  const unasked = (): never => {
    throw new Error('nobody asks this route');
  };
  const authzen = { baseUrl: 'https://pdp.example.org', vocabulary: null };
  const routes = makeRoutes({ db: noStore(), cursorKey: new Uint8Array(32), readiness: unasked, authzen });
  const asked = EXPRESSIONS.flatMap(([where, expr]) =>
    [...expr.matchAll(/\broute=~"([^"]*)"/g)].map(
      ([, pattern = '']) => [where, new RegExp(`^(?:${pattern})$`)] as const,
    ),
  );
  expect(asked.length).toBeGreaterThan(8);
  for (const [where, pattern] of asked) {
    for (const { path, access } of routes.filter((route) => route.access !== 'public'))
      expect([where, path, pattern.test(path)]).toEqual([where, path, access !== 'health']);
  }
});

describe('alerts', () => {
  const page = readFileSync(fromRoot('docs/operating.md'), 'utf8');

  test.each(RULES.map((rule) => [rule.alert, rule] as const))(
    '%s says how grave it is, of whom, and what to do',
    (alert, rule) => {
      expect(alert).toMatch(/^Bailiwick[A-Z][A-Za-z]+$/);
      expect(['warning', 'critical']).toContain(rule.labels['severity']);
      expect(rule.annotations['summary']).toMatch(/\{\{ \$(?:labels\.\w+|value)/);
      expect(page).toContain(`| \`${alert}\` |`);
    },
  );

  it('of a check of /readyz say what to do about each', () => {
    const row = /^\| `BailiwickNotReady` \|.*$/m.exec(page)?.[0] ?? '';
    const checks = series.get('bailiwick_ready')?.samples.map(({ labels }) => labels[0]?.[1] ?? '') ?? [];
    expect(checks.length).toBeGreaterThan(4);
    expect(checks.filter((check) => !row.includes(`\`${check}\`: `))).toEqual([]);
  });

  it('are named once, and no other is explained', () => {
    const names = RULES.map(({ alert }) => alert);
    expect(new Set(names).size).toBe(names.length);
    const explained = [...page.matchAll(/^\| `(Bailiwick\w+)` \|/gm)].map(([, name]) => name);
    expect(explained.sort()).toEqual([...names].sort());
  });
});

test('every series is explained in docs/operating.md', () => {
  const page = readFileSync(fromRoot('docs/operating.md'), 'utf8');
  const missing = [...series.keys()].filter((name) => name.startsWith('bailiwick_') && !page.includes(`\`${name}\``));
  expect(missing).toEqual([]);
});

describe('the dashboard', () => {
  it('has panels of their own numbers, which do not cover one another', () => {
    const taken = new Set<string>();
    for (const { gridPos, title } of DASHBOARD.panels) {
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          expect([title, taken.has(`${String(x)} ${String(y)}`)]).toEqual([title, false]);
          taken.add(`${String(x)} ${String(y)}`);
        }
      }
    }
    expect(new Set(DASHBOARD.panels.map(({ id }) => id)).size).toBe(DASHBOARD.panels.length);
  });

  it('names lines by labels that their expressions leave', () => {
    for (const { title, targets = [] } of DASHBOARD.panels) {
      for (const { expr, legendFormat } of targets) {
        const labels = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label);
        for (const label of labels)
          expect([title, expr]).toEqual([title, expect.stringMatching(new RegExp(`\\b${String(label)}\\b`))]);
      }
    }
  });
});

const promtool = findProgram('promtool');
(promtool === null ? describe.skip : describe)('promtool', () => {
  const folder = fromRoot('deploy/prometheus');
  test.each([
    ['check', 'rules', 'alerts.yml'],
    ['test', 'rules', 'alerts.test.yml'],
    ['check', 'config', '--syntax-only', 'prometheus.yml'],
    ['check', 'config', '--syntax-only', '../compose/prometheus.yml'],
  ])('promtool %s %s %s', async (...args) => {
    const { stdout, stderr } = await run(promtool ?? '', args, { cwd: folder });
    expect(stdout + stderr).toMatch(/SUCCESS|valid/);
  });
});

const prometheus = findProgram('prometheus');
(prometheus === null ? describe.skip : describe)('a real Prometheus', () => {
  let open: TestGateway;
  let folder: string;
  beforeAll(async () => {
    open = await openGateway({ admin: true });
    folder = mkdtempSync(join(tmpdir(), 'bailiwick-prometheus-'));
  });
  afterAll(async () => {
    await open.dispose();
    rmSync(folder, { recursive: true, force: true });
  });

  it('scrapes the admin listener, and finds every series where it is', async () => {
    const target = `127.0.0.1:${String(open.admin?.port ?? 0)}`;
    const config = readFileSync(fromRoot('deploy/prometheus/prometheus.yml'), 'utf8')
      .replace('127.0.0.1:8081', target)
      .replace('scrape_interval: 15s, evaluation_interval: 15s', 'scrape_interval: 1s, evaluation_interval: 1s')
      .replace('alerts.yml', fromRoot('deploy/prometheus/alerts.yml'));
    writeFileSync(join(folder, 'prometheus.yml'), config);
    const socket = await freePort();
    const child = spawn(
      prometheus ?? '',
      [
        `--config.file=${join(folder, 'prometheus.yml')}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${String(socket)}`,
      ],
      { stdio: 'ignore' },
    );
    const ask = async (path: string): Promise<unknown> => {
      const answer = await fetch(`http://127.0.0.1:${String(socket)}/api/v1/${path}`);
      return ((await answer.json()) as { readonly data: unknown }).data;
    };
    const value = async (query: string): Promise<string | undefined> => {
      const data = (await ask(`query?query=${encodeURIComponent(query)}`)) as {
        readonly result: readonly { readonly value: readonly [number, string] }[];
      };
      return data.result[0]?.value[1];
    };
    try {
      await until(async () => (await value('min(bailiwick_ready)')) === '1');
      expect(await value('up')).toBe('1');
      expect(await value('count(bailiwick_snapshot_info)')).toBe('1');
      const names = await ask('label/__name__/values');
      expect(names).toEqual(expect.arrayContaining(['process_cpu_seconds_total', 'nodejs_eventloop_lag_p99_seconds']));
      const { groups } = (await ask('rules')) as {
        readonly groups: readonly { readonly rules: readonly { readonly name: string }[] }[];
      };
      expect(groups.flatMap(({ rules }) => rules.map(({ name }) => name))).toEqual(RULES.map(({ alert }) => alert));
    } finally {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
  });
});

async function freePort(): Promise<number> {
  const { createServer } = await import('node:net');
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** Prometheus answers before it has scraped anything, and refuses while it starts. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 150; tries += 1) {
    if (await isSo().catch(() => false)) return;
    await sleep(100);
  }
  throw new Error('it never came to be so');
}
