// deploy/proxy/haproxy.cfg in front of two gateways.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deployFile, rollingRestart } from '../rolling.mjs';

export const title = 'rolling restart behind HAProxy';
export const packages = { haproxy: 'haproxy', openssl: 'openssl', postgresql: '/usr/lib/postgresql' };
export const seconds = 240;

export const run = (scenario) => rollingRestart(scenario, startHaproxy);

export async function startHaproxy({ folder, processes, port, gateways, tls }) {
  const pem = join(folder, 'tls.pem');
  writeFileSync(pem, readFileSync(tls.certFile, 'utf8') + readFileSync(tls.keyFile, 'utf8'), { mode: 0o600 });
  const [first, second] = gateways.map((gateway) => `127.0.0.1:${gateway.port}`);
  const file = join(folder, 'haproxy.cfg');
  const text = deployFile('proxy/haproxy.cfg', [
    ['127.0.0.1:8080', first],
    ['#server gateway-2 10.0.0.2:8080', `server gateway-2 ${second}`],
    ['bind :443', `bind 127.0.0.1:${port}`],
    ['/etc/haproxy/gateway.example.org.pem', pem],
  ]);
  writeFileSync(file, text);
  return processes.start('haproxy', 'haproxy', ['-db', '-f', file]);
}
