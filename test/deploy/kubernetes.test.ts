// The manifests of deploy/kubernetes compared with the program: its flags, settings, routes, ports and times.
import { describe, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { parse, parseAllDocuments } from 'yaml';
import { declaredAdminRoutes } from '../support/api-description.js';
import { checkedSettings, HEALTH, IMAGE_ENV, readDeployed, secondsToStop, settingsBy } from '../support/deployed.js';
import { runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace: string; readonly labels?: object };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: unknown;
}
interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}
interface Container {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly securityContext: unknown;
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string; readonly subPath?: string }[];
  readonly startupProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly livenessProbe?: Probe;
}
interface PodSpec {
  readonly terminationGracePeriodSeconds: number;
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly automountServiceAccountToken: boolean;
  readonly initContainers: readonly Container[];
  readonly containers: readonly Container[];
  readonly volumes: readonly { readonly name: string }[];
}
interface SetSpec {
  readonly serviceName: string;
  readonly selector: { readonly matchLabels: object };
  readonly template: { readonly metadata: { readonly labels: object }; readonly spec: PodSpec };
  readonly volumeClaimTemplates: readonly { readonly metadata: { readonly name: string } }[];
}

interface ServiceSpec {
  readonly ports: readonly { readonly name: string }[];
}
interface MonitorSpec {
  readonly jobLabel: string;
  readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
  readonly endpoints: readonly { readonly port: string; readonly path: string }[];
}

describe('Kubernetes', () => {
  const manifests = parseAllDocuments(readDeployed('kubernetes/bailiwick.yaml')).map((one) => one.toJS() as Manifest);
  const set = manifests.find(({ kind }) => kind === 'StatefulSet')?.spec as SetSpec;
  const pod = set.template.spec;
  const containers = [...pod.initContainers, ...pod.containers];

  it('has one of each, all in one namespace', () => {
    expect(manifests.map(({ apiVersion, kind, metadata: { name } }) => `${apiVersion} ${kind} ${name}`)).toEqual([
      'v1 ConfigMap bailiwick',
      'v1 ServiceAccount bailiwick',
      'apps/v1 StatefulSet bailiwick',
      'v1 Service bailiwick',
      'v1 Service bailiwick-pods',
      'policy/v1 PodDisruptionBudget bailiwick',
      'networking.k8s.io/v1 NetworkPolicy bailiwick',
    ]);
    expect(new Set(manifests.map(({ metadata }) => metadata.namespace))).toEqual(new Set(['bailiwick']));
    expect(manifests.map(({ metadata }) => metadata.name)).toContain(set.serviceName);
    expect(set.template.metadata.labels).toEqual(set.selector.matchLabels);
  });

  it('runs without privileges, on a root that nothing writes to', () => {
    expect(pod.securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 10_001,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(pod.automountServiceAccountToken).toBe(false);
    for (const { securityContext } of containers) {
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
  });

  it('has settings that hold, mounts what they name, and gives it time to end', async () => {
    const secret = join(await makeFolder({ 'database-url': 'postgres://bailiwick@db/bailiwick' }), 'database-url');
    const text = manifests[0]?.data?.['bailiwick.yaml'] ?? '';
    const settings = await checkedSettings(text.replace('/etc/bailiwick/secrets/database-url', secret));
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(secondsToStop(settings));
    const mounted = pod.containers.flatMap(({ volumeMounts }) => volumeMounts.map(({ mountPath }) => mountPath));
    for (const key of ['policy', 'adminSocket', 'audit.folder']) {
      const path = String(settings.get(key));
      expect([path, mounted.some((folder) => path.startsWith(`${folder}/`))]).toEqual([path, true]);
    }
    expect(text).toContain('databaseUrlFile: /etc/bailiwick/secrets/database-url');
    expect(mounted).toContain('/etc/bailiwick/secrets');
    const volumes = [...pod.volumes, ...set.volumeClaimTemplates.map(({ metadata }) => metadata)].map(
      ({ name }) => name,
    );
    for (const { volumeMounts } of containers) for (const { name } of volumeMounts) expect(volumes).toContain(name);
  });

  it('names its settings and nothing else, in a variable: for the gateway, and for commands that somebody runs beside it', async () => {
    const secret = join(await makeFolder(), 'database-url');
    writeFileSync(secret, 'postgres://bailiwick@db/bailiwick');
    const text = (manifests[0]?.data?.['bailiwick.yaml'] ?? '').replace('/etc/bailiwick/secrets/database-url', secret);
    const others = text.replace('listen: 0.0.0.0:8080', "listen: '[::]:8080'").replace('0.0.0.0:8081', 'none');
    const cwd = await makeFolder({ 'bailiwick.yaml': others });
    for (const { env, args, volumeMounts } of containers) {
      expect(args.join(' ')).not.toMatch(/config|listen|socket|database/);
      expect(volumeMounts.find(({ subPath }) => subPath === 'bailiwick.yaml')?.mountPath).toBe(env[0]?.value);
      // What the pod sets comes on top of what the image does.
      const set = Object.fromEntries([...IMAGE_ENV, ...env.map(({ name, value }) => [name, value] as const)]);
      const file = join(cwd, set['BAILIWICK_CONFIG']?.split('/').at(-1) ?? '');
      const settings = await settingsBy({ ...set, BAILIWICK_CONFIG: file });
      expect(['listen', 'adminListen', 'databaseUrlFile'].map((key) => settings.get(key))).toEqual([
        '[::]:8080',
        'none',
        secret,
      ]);
    }
  });

  it('says of each port who may come', () => {
    const { ingress } = manifests.find(({ kind }) => kind === 'NetworkPolicy')?.spec as {
      readonly ingress: readonly { readonly from?: readonly object[]; readonly ports: readonly object[] }[];
    };
    expect(ingress.map(({ ports }) => ports)).toEqual([[{ port: 'api' }], [{ port: 'admin' }]]);
    for (const { from = [] } of ingress) {
      expect(from.length).toBeGreaterThan(0);
      for (const one of from) expect(one).toMatchObject({ namespaceSelector: { matchLabels: expect.anything() } });
    }
  });

  it('takes a policy that no config map holds from an address', async () => {
    const secret = join(await makeFolder({ 'database-url': 'postgres://bailiwick@db/bailiwick' }), 'database-url');
    const text = manifests[0]?.data?.['bailiwick.yaml'] ?? '';
    const other = text
      .replace('/etc/bailiwick/secrets/database-url', secret)
      .replace(/^policy: .*\n/m, '')
      .replace('#snapshot:', 'snapshot:');
    const settings = await checkedSettings(other);
    expect(settings.get('snapshot.source.url')).toBe('https://policies.example.org/snapshot.json');
    expect(pod.volumes.find(({ name }) => name === 'policy')).toMatchObject({ configMap: { optional: true } });
  });

  it('is asked for its health where it tells it', () => {
    const probes = pod.containers.flatMap(({ startupProbe, readinessProbe, livenessProbe }) => [
      startupProbe,
      readinessProbe,
      livenessProbe,
    ]);
    expect(probes.map((probe) => probe?.httpGet)).toEqual([
      // One that waits for its store is not ready, and must not be ended for that.
      { path: '/livez', port: 'admin' },
      { path: '/readyz', port: 'admin' },
      { path: '/livez', port: 'admin' },
    ]);
    for (const probe of probes) expect(HEALTH).toContain(probe?.httpGet.path);
  });

  it('is scraped where it has its metrics, one gateway at a time, as the job that the alerts name', () => {
    const { metadata, spec } = parse(readDeployed('kubernetes/servicemonitor.yaml')) as Manifest;
    const { jobLabel, selector, endpoints } = spec as MonitorSpec;
    const ports = manifests
      .filter(({ kind }) => kind === 'Service')
      .filter(({ metadata: { labels } }) => isDeepStrictEqual(labels, selector.matchLabels))
      .flatMap((service) =>
        (service.spec as ServiceSpec).ports.map(({ name }) => ({ name, of: service.metadata.name })),
      );
    expect(endpoints.map(({ port }) => ports.filter(({ name }) => name === port))).toEqual([
      [{ name: 'admin', of: set.serviceName }],
    ]);
    expect(declaredAdminRoutes().map(({ path }) => path)).toContain(endpoints[0]?.path);
    expect(readDeployed('prometheus/alerts.yml')).toContain(`up{job="${selector.matchLabels[jobLabel] ?? ''}"}`);
    expect(metadata.namespace).toBe('bailiwick');
  });

  it('asks for verbs and flags that there are', async () => {
    const typed = (readDeployed('kubernetes/bailiwick.yaml') + readDeployed('kubernetes/servicemonitor.yaml')).matchAll(
      / exec bailiwick-0 -c bailiwick -- bailiwick (keys create) ([^>\n]*)/g,
    );
    const commands = [...typed].map(([, verb = '', flags = '']) => ({ args: [verb, ...flags.split(' ')] }));
    expect(commands).toHaveLength(2);
    for (const { args } of [...containers, ...commands]) {
      const { status, stdout } = await runCli([...(args[0] ?? '').split(' '), '--help']);
      expect(status).toBe(0);
      for (const flag of args.filter((arg) => arg.startsWith('--'))) expect(stdout).toContain(flag);
    }
  });
});
