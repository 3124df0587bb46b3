// deploy/container/Containerfile, built and run by podman as its head says: read-only, without a capability. Where podman cannot fetch the
// base image or start a container (inside of a container, without a registry), this says so and is no failure.
import { join } from 'node:path';
import { fromRoot, verb } from '../gateways.mjs';
import { ask, freePort, ScenarioError } from '../processes.mjs';

export const title = 'the container';
export const packages = { podman: 'podman' };
export const seconds = 600;

const BASE = 'docker.io/library/node:24-bookworm-slim';
const IMAGE = 'localhost/bailiwick-infra';
const SANDBOX = ['--read-only', '--cap-drop=all', '--security-opt=no-new-privileges'];

export async function run(scenario) {
  const { processes, folder } = scenario;
  const obstacle = await obstacleOf(scenario);
  if (obstacle !== null) return { isGood: null, told: obstacle };
  const file = fromRoot('deploy/container/Containerfile');
  await processes.run('build', 'podman', [
    'build',
    '--format',
    'docker',
    '--network',
    'host',
    '-f',
    file,
    '-t',
    IMAGE,
    fromRoot('.'),
  ]);
  const snapshot = join(folder, 'snapshot.json');
  await verb(scenario, 'policy', ['compile', fromRoot('policies'), '-o', snapshot]);

  const [port, adminPort] = [await freePort(), await freePort()];
  const places = ['--tmpfs', '/run/bailiwick:mode=0700,U', '--tmpfs', '/var/lib/bailiwick:mode=0700,U'];
  const ports = ['-p', `127.0.0.1:${port}:8080`, '-p', `127.0.0.1:${adminPort}:8081`];
  const policy = ['-v', `${snapshot}:/etc/bailiwick/snapshot.json:ro`];
  const name = `bailiwick-infra-${port}`;
  const args = ['run', '--rm', '--name', name, ...SANDBOX, ...places, ...ports, ...policy, IMAGE];
  const container = processes.start('container', 'podman', args);
  await processes.until(container, 'the container is ready', async () => {
    const answer = await ask(`http://127.0.0.1:${port}/readyz`);
    return answer !== false && answer.status === 200;
  });
  await processes.run('health', 'podman', ['healthcheck', 'run', name]);
  await processes.run('stop', 'podman', ['stop', '-t', '60', name]);
  const status = await container.ended;
  return { isGood: status === 0, told: `built, ready, healthy, and ended with status ${status}` };
}

/** Why nothing can be run here, or null. */
async function obstacleOf({ processes }) {
  try {
    await processes.run('try', 'podman', ['run', '--rm', ...SANDBOX, BASE, 'true']);
    return null;
  } catch (error) {
    if (!(error instanceof ScenarioError)) throw error;
    return `podman cannot run it here: ${error.message.split('\n').at(-1).slice(0, 160)}`;
  }
}
