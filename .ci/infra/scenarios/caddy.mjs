// deploy/proxy/Caddyfile in front of two gateways, with a certificate that is there instead of one that Caddy fetches.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deployFile, rollingRestart, SITE } from '../rolling.mjs';

export const title = 'rolling restart behind Caddy';
export const packages = { caddy: 'caddy', openssl: 'openssl', postgresql: '/usr/lib/postgresql' };
export const seconds = 240;

export const run = (scenario) => rollingRestart(scenario, startCaddy);

async function startCaddy({ folder, processes, port, gateways, tls }) {
  const file = join(folder, 'Caddyfile');
  const site = deployFile('proxy/Caddyfile', [
    [`${SITE} {`, `${SITE}:${port} {\n\tbind 127.0.0.1\n\ttls ${tls.certFile} ${tls.keyFile}`],
    ['127.0.0.1:8080', gateways.map((gateway) => `127.0.0.1:${gateway.port}`).join(' ')],
  ]);
  writeFileSync(file, `{\n\tadmin off\n\tauto_https off\n}\n${site}`);
  const env = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  return processes.start('caddy', 'caddy', ['run', '--adapter', 'caddyfile', '--config', file], { env });
}
