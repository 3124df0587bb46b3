// The files of deploy/ compared with the program: their flags, settings, routes, ports and times exist. Programs that
// can judge the files are asked if they are installed: systemd here, and the proxies in proxies.test.ts.
import { describe, expect, it, test } from '@jest/globals';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { isDeepStrictEqual, promisify } from 'node:util';
import { parse, parseAllDocuments } from 'yaml';
import { EXIT } from '../../server/cli/exit.js';
import { declaredAdminRoutes } from '../support/api-description.js';
import { findProgram } from '../support/programs.js';
import { fromRoot } from '../support/root.js';
import { runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';

const run = promisify(execFile);
const read = (path: string): string => readFileSync(fromRoot(`deploy/${path}`), 'utf8');

/** Seconds for the store, as docs/serving.md has it, behind notice and deadline. */
const STORE_SECONDS = 20;

/** Without a failure, and with the settings that it has. */
async function checkedSettings(text: string): Promise<ReadonlyMap<string, unknown>> {
  const folder = await makeFolder();
  const path = join(folder, 'bailiwick.yaml');
  writeFileSync(path, text);
  return settingsBy({ BAILIWICK_CONFIG: path });
}

/** The same of these variables. */
async function settingsBy(env: Readonly<Record<string, string>>): Promise<ReadonlyMap<string, unknown>> {
  const { status, stdout, stderr } = await runCli(['config', 'check', '--format', 'json'], { env });
  expect([status, stderr]).toEqual([0, '']);
  const { settings } = JSON.parse(stdout) as {
    readonly settings: readonly { readonly key: string; readonly value: unknown }[];
  };
  return new Map(settings.map(({ key, value }) => [key, value]));
}

/** With these a gateway may work when it is started again. */
const PASSING: ReadonlySet<number> = new Set([EXIT.ok, EXIT.unexpected, EXIT.differences, EXIT.away]);

describe('systemd', () => {
  const unit = read('systemd/bailiwick.service');
  const lines = unit.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const all = (key: string): readonly string[] =>
    lines.flatMap((line) => (line.startsWith(`${key}=`) ? [line.slice(key.length + 1)] : []));

  it('starts what there is, with settings that hold, and waits for it to end', async () => {
    expect(all('ExecStart')).toEqual(['/usr/local/bin/bailiwick serve --format json']);
    expect(all('Environment').join(' ')).toContain('BAILIWICK_CONFIG=/etc/bailiwick/bailiwick.yaml');
    const settings = await checkedSettings(read('systemd/bailiwick.yaml'));
    const seconds = secondsToStop(settings);
    expect(Number(all('TimeoutStopSec')[0])).toBeGreaterThanOrEqual(seconds);
    // What it writes is below the two folders that the unit makes.
    for (const key of ['dataDir', 'audit.folder', 'adminSocket']) {
      expect([key, settings.get(key)]).toEqual([key, expect.stringMatching(/^\/(?:var\/lib|run)\/bailiwick(?:\/|$)/)]);
    }
  });

  it('has commands beside it that get its credential', async () => {
    const page = readFileSync(fromRoot('docs/operating.md'), 'utf8');
    const [command = ''] = /^systemd-run (?:.*\\\n)*.*$/m.exec(page) ?? [];
    // systemd expands them in files of units alone.
    expect(command).not.toMatch(/%[a-zA-Z]/);
    const [, script = ''] = / sh -c '([^']*)'$/.exec(command) ?? [];
    const folder = await makeFolder({ bailiwick: '#!/bin/sh\necho "$DATABASE_URL_FILE" "$@"\n' });
    chmodSync(join(folder, 'bailiwick'), 0o755);
    const env = { PATH: `${folder}:${process.env['PATH'] ?? ''}`, CREDENTIALS_DIRECTORY: '/run/credentials/x' };
    expect((await run('sh', ['-c', script], { env })).stdout).toBe('/run/credentials/x/database-url migrate\n');
    expect(unit).toContain(/LoadCredential=\S+/.exec(command)?.[0]);
  });

  it('starts a gateway again for as long as what is wrong may pass by itself, and not if somebody must fix it', () => {
    // systemd gives up after five starts in ten seconds otherwise.
    expect(all('StartLimitIntervalSec')).toEqual(['0']);
    expect(Number(all('RestartSec')[0])).toBeGreaterThanOrEqual(2);
    const forGood = Object.values(EXIT).filter((status) => !PASSING.has(status));
    expect(all('RestartPreventExitStatus')).toEqual([forGood.join(' ')]);
  });

  it('allows what V8 needs and forbids what nothing here does', () => {
    for (const key of [
      'NoNewPrivileges',
      'ProtectHome',
      'PrivateTmp',
      'PrivateDevices',
      'RestrictNamespaces',
      'LockPersonality',
    ]) {
      expect([key, all(key)]).toEqual([key, ['yes']]);
    }
    expect(all('ProtectSystem')).toEqual(['strict']);
    expect(all('CapabilityBoundingSet')).toEqual(['']);
    expect(all('MemoryDenyWriteExecute')).toEqual(['no']);
    expect(all('User')).toEqual(['bailiwick']);
    expect(all('LogRateLimitIntervalSec')).toEqual(['0']);
  });

  const analyze = findProgram('systemd-analyze');
  (analyze === null ? it.skip : it)(
    'is a unit in which systemd finds no fault, and little that is exposed',
    async () => {
      const folder = await makeFolder();
      const path = join(folder, 'bailiwick.service');
      writeFileSync(path, unit.replace('/usr/local/bin/bailiwick', process.execPath));
      const { stdout, stderr } = await run(analyze ?? '', ['verify', '--man=no', path]);
      expect(stdout + stderr).toBe('');
      const judged = await run(analyze ?? '', ['security', '--offline=true', '--no-pager', path]);
      expect(Number(/exposure level for .*: ([\d.]+)/.exec(judged.stdout)?.[1])).toBeLessThan(2);
    },
  );
});

function secondsToStop(settings: ReadonlyMap<string, unknown>): number {
  const [notice, deadline] = ['shutdown.notice', 'shutdown.deadline'].map((key) => {
    const value = settings.get(key);
    const [, count = '', unit = ''] = /^(\d+)(ms|s|m)$/.exec(typeof value === 'string' ? value : '0s') ?? [];
    return Number(count) * ({ ms: 0.001, s: 1, m: 60 }[unit] ?? NaN);
  });
  return (notice ?? NaN) + (deadline ?? NaN) + STORE_SECONDS;
}

/** Of the admin listener, without a credential. */
const HEALTH = declaredAdminRoutes()
  .filter(({ access }) => access === 'health')
  .map(({ path }) => path);

/** The steps of the Containerfile, those of the image that it makes, and the variables of that. */
const STEPS = read('container/Containerfile')
  .replaceAll('\\\n', ' ')
  .split('\n')
  .filter((line) => /^[A-Z]/.test(line));
const IMAGE = STEPS.slice(STEPS.findLastIndex((line) => line.startsWith('FROM ')));
const IMAGE_ENV: ReadonlyMap<string, string> = new Map(
  [...(IMAGE.find((line) => line.startsWith('ENV ')) ?? '').matchAll(/(\w+)=(\S+)/g)].map(
    ([, name = '', value = '']) => [name, value],
  ),
);

const PACKAGE = JSON.parse(readFileSync(fromRoot('package.json'), 'utf8')) as {
  readonly bin: { readonly bailiwick: string };
  readonly files: readonly string[];
};

describe('the container', () => {
  const [steps, last, env] = [STEPS, IMAGE, IMAGE_ENV];

  it('begins the program as nobody, with what it writes in two folders', () => {
    expect(last).toContain('USER 10001:10001');
    expect(last).toContain('ENTRYPOINT ["bailiwick"]');
    expect(last).toContain('CMD ["serve", "--format", "json", "--policy", "/etc/bailiwick/snapshot.json"]');
    expect(last.join('\n')).toContain(`ln -s /opt/bailiwick/${PACKAGE.bin.bailiwick} /usr/local/bin/bailiwick`);
    expect(last).toContain('EXPOSE 8080 8081');
    // The socket of the embedded store.
    expect(env.get('TMPDIR')).toBe('/run/bailiwick');
  });

  it('builds all of the package first, as the page says: `npm pack` runs no script here', () => {
    expect(
      steps.slice(
        0,
        steps.findIndex((step) => step.startsWith('RUN npm pack')),
      ),
    ).toContain('RUN npm run prepack');
    expect(readFileSync(fromRoot('docs/operating.md'), 'utf8')).toContain('\nnpm ci && npm run prepack && npm pack\n');
  });

  it('sets what there is to set, in a file that one of the user replaces', async () => {
    const settings = [...env.keys()].filter((name) => /^(?:BAILIWICK|DATABASE)_/.test(name));
    expect(settings).toEqual(['BAILIWICK_CONFIG']);
    expect(env.get('BAILIWICK_CONFIG')).toBe('/opt/bailiwick/deploy/container/image.yaml');
    expect(PACKAGE.files).toContain('deploy/');
    const written = Object.entries(parse(read('container/image.yaml')) as Readonly<Record<string, unknown>>);
    const checked = await checkedSettings(read('container/image.yaml'));
    for (const [key, value] of written) expect([key, checked.get(key)]).toEqual([key, value]);
    expect(checked.get('dataDir')).toBe('/var/lib/bailiwick/.bailiwick');
    // A store of the environment's wins.
    const given = { BAILIWICK_CONFIG: fromRoot('deploy/container/image.yaml'), DATABASE_URL: 'postgres://a/b' };
    const external = await runCli(['config', 'check'], { env: given });
    expect([external.status, external.stdout]).toEqual([0, expect.stringMatching(/^databaseUrl +\(secret\)/m)]);
  });

  test.each([
    [200, 0],
    [503, 1],
  ])('is healthy where /readyz says so: %d is %d', async (status, expected) => {
    const [, check = ''] = /CMD (\["node".*\])/.exec(last.find((line) => line.startsWith('HEALTHCHECK ')) ?? '') ?? [];
    const { adminSocket } = parse(read('container/image.yaml')) as { readonly adminSocket: string };
    expect(check).toContain(adminSocket);
    // Gateways with `tls` speak TLS at their addresses, and clear text on this socket only.
    const socket = join(await makeFolder(), 'admin.sock');
    const [, ...args] = JSON.parse(check.replace(adminSocket, socket)) as readonly string[];
    const server = createServer((request, response) => {
      response.writeHead(HEALTH.includes(request.url ?? '') ? status : 404).end();
    }).listen(socket);
    await once(server, 'listening');
    const child = spawn(process.execPath, args, { stdio: 'ignore' });
    await once(child, 'exit');
    server.close();
    expect(child.exitCode).toBe(expected);
  });
});

interface ComposeService {
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: readonly string[];
  readonly volumes?: readonly string[];
  readonly networks?: readonly string[];
  readonly depends_on?: Readonly<Record<string, unknown>>;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly stop_grace_period?: string;
  readonly tmpfs?: readonly string[];
  readonly ports?: readonly string[];
  readonly build?: { readonly context: string; readonly dockerfile: string };
}

describe('compose', () => {
  const file = parse(read('compose/compose.yaml')) as Readonly<
    Record<'services', Readonly<Record<string, ComposeService>>> &
      Record<'networks' | 'volumes' | 'secrets', Readonly<Record<string, unknown>>>
  >;
  const services = Object.entries(file.services);

  it('names networks, volumes, secrets and services that it has, and files that are there', () => {
    for (const [name, { networks = [], secrets = [], volumes = [], depends_on = {} }] of services) {
      for (const network of networks)
        expect([name, Object.keys(file.networks)]).toEqual([name, expect.arrayContaining([network])]);
      for (const secret of secrets)
        expect([name, Object.keys(file.secrets)]).toEqual([name, expect.arrayContaining([secret])]);
      for (const service of Object.keys(depends_on)) expect(Object.keys(file.services)).toContain(service);
      for (const volume of volumes) {
        const [from = ''] = volume.split(':');
        // The snapshot is made by whoever starts it, as the file says.
        if (from.startsWith('.'))
          expect([from, from === './policy' || existsSync(fromRoot(`deploy/compose/${from}`))]).toEqual([from, true]);
        else expect(Object.keys(file.volumes)).toContain(from);
      }
    }
  });

  it('mounts the policy as a folder, since a file that is renamed into place does not reach a mounted file', () => {
    expect(file.services['bailiwick']?.volumes).toContain('./policy:/etc/bailiwick:ro');
    expect(read('compose/compose.yaml') + read('container/Containerfile')).not.toContain('snapshot.json:/');
  });

  test.each(['bailiwick', 'migrate'])('%s has a read-only root, no capability and its secret in a file', (name) => {
    const service = file.services[name];
    expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] });
    expect(service?.environment).toEqual({ DATABASE_URL_FILE: '/run/secrets/database-url' });
    expect(existsSync(fromRoot(service?.build?.dockerfile ?? ''))).toBe(true);
    expect(join('deploy/compose', service?.build?.context ?? '')).toBe('.');
  });

  it('shows nothing beyond this machine, gives the gateway time to end and a place for its sockets', () => {
    for (const [, { ports = [] }] of services) for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
    expect(file.services['bailiwick']?.stop_grace_period).toBe('60s');
    expect(file.services['bailiwick']?.tmpfs?.[0]).toMatch(/^\/run\/bailiwick:.*uid=10001/);
    expect(file.services['postgres']?.networks).toEqual(['store']);
  });
});

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
  const manifests = parseAllDocuments(read('kubernetes/bailiwick.yaml')).map((one) => one.toJS() as Manifest);
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
    const { metadata, spec } = parse(read('kubernetes/servicemonitor.yaml')) as Manifest;
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
    expect(read('prometheus/alerts.yml')).toContain(`up{job="${selector.matchLabels[jobLabel] ?? ''}"}`);
    expect(metadata.namespace).toBe('bailiwick');
  });

  it('asks for verbs and flags that there are', async () => {
    const typed = (read('kubernetes/bailiwick.yaml') + read('kubernetes/servicemonitor.yaml')).matchAll(
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
