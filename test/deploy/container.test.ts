// The image of deploy/container and the services of deploy/compose compared with the program.
import { describe, expect, it, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { parse } from 'yaml';
import { checkedSettings, HEALTH, IMAGE, IMAGE_ENV, readDeployed, STEPS } from '../support/deployed.js';
import { fromRoot } from '../support/root.js';
import { runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';

const PACKAGE = JSON.parse(readFileSync(fromRoot('package.json'), 'utf8')) as {
  readonly bin: { readonly bailiwick: string };
  readonly files: readonly string[];
};

describe('the container', () => {
  const [last, env] = [IMAGE, IMAGE_ENV];

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
      STEPS.slice(
        0,
        STEPS.findIndex((step) => step.startsWith('RUN npm pack')),
      ),
    ).toContain('RUN npm run prepack');
    expect(readFileSync(fromRoot('docs/operating.md'), 'utf8')).toContain('\nnpm ci && npm run prepack && npm pack\n');
  });

  it('sets what there is to set, in a file that one of the user replaces', async () => {
    const settings = [...env.keys()].filter((name) => /^(?:BAILIWICK|DATABASE)_/.test(name));
    expect(settings).toEqual(['BAILIWICK_CONFIG']);
    expect(env.get('BAILIWICK_CONFIG')).toBe('/opt/bailiwick/deploy/container/image.yaml');
    expect(PACKAGE.files).toContain('deploy/');
    const written = Object.entries(parse(readDeployed('container/image.yaml')) as Readonly<Record<string, unknown>>);
    const checked = await checkedSettings(readDeployed('container/image.yaml'));
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
    const { adminSocket } = parse(readDeployed('container/image.yaml')) as { readonly adminSocket: string };
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
  const file = parse(readDeployed('compose/compose.yaml')) as Readonly<
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
    expect(readDeployed('compose/compose.yaml') + readDeployed('container/Containerfile')).not.toContain(
      'snapshot.json:/',
    );
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
