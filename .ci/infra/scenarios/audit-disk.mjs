// The disk of one gateway's audit log fills up behind HAProxy. That gateway can answer nothing, says so, and gets no more requests; the
// other one answers all of them. Once there is room again, both serve.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startLoad } from '../load.mjs';
import { ask, ScenarioError } from '../processes.mjs';
import { startSite } from '../rolling.mjs';
import { startHaproxy } from './haproxy.mjs';

export const title = 'a full disk of one audit log, behind HAProxy';
export const packages = { haproxy: 'haproxy', openssl: 'openssl', mount: 'mount', postgresql: '/usr/lib/postgresql' };
export const seconds = 240;

const STEP_MS = 6_000;
const DISK = '2m';

export async function run(scenario) {
  const { folder, processes } = scenario;
  const disk = join(folder, 'gateway-1', 'audit');
  mkdirSync(disk, { recursive: true, mode: 0o700 });
  try {
    await processes.run('mount', 'mount', ['-t', 'tmpfs', '-o', `size=${DISK},mode=0700`, 'tmpfs', disk]);
  } catch (error) {
    if (!(error instanceof ScenarioError)) throw error;
    return { isGood: null, told: 'no file system can be mounted here' };
  }
  try {
    return await fillAndEmpty(scenario, disk);
  } finally {
    await processes.stopAll();
    await processes.run('umount', 'umount', [disk]);
  }
}

async function fillAndEmpty(scenario, disk) {
  const { processes } = scenario;
  const { gateways, target, store } = await startSite(scenario, startHaproxy);
  const [first] = gateways;
  const load = startLoad({ target, keys: store.keys, clients: 8 });
  await sleep(STEP_MS);
  const filler = join(disk, 'fill');
  const began = performance.now();
  fill(filler);
  await processes.until(first.process, 'the gateway says that it is not ready', () => auditIs(first, 'failed'));
  const took = ((performance.now() - began) / 1000).toFixed(1);
  await sleep(STEP_MS);
  rmSync(filler);
  await processes.until(first.process, 'the gateway is ready again', () => auditIs(first, 'ok'));
  await sleep(STEP_MS);
  const { answered, lost, how } = await load.stop();
  const told = `${answered + lost} requests, ${lost} lost${lost > 0 ? ` (${how})` : ''}; not ready after ${took} s, ready again once there was room`;
  return { isGood: lost === 0 && answered > 100, told };
}

async function auditIs({ adminUrl }, wanted) {
  const answer = await ask(`${adminUrl}/readyz`);
  return answer !== false && JSON.parse(answer.text).checks.audit === wanted;
}

/** Until nothing more fits. */
function fill(path) {
  try {
    for (;;) writeFileSync(path, Buffer.alloc(64 * 1024), { flag: 'a' });
  } catch (error) {
    if (error.code !== 'ENOSPC') throw error;
  }
}
