// deploy/proxy/nginx.conf in front of two gateways.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deployFile, rollingRestart } from '../rolling.mjs';

export const title = 'rolling restart behind nginx';
export const packages = { nginx: 'nginx', openssl: 'openssl', postgresql: '/usr/lib/postgresql' };
export const seconds = 240;

export const run = (scenario) => rollingRestart(scenario, startNginx);

async function startNginx({ folder, processes, port, gateways, tls }) {
  const [first, second] = gateways.map((gateway) => `127.0.0.1:${gateway.port}`);
  const site = deployFile('proxy/nginx.conf', [
    ['127.0.0.1:8080', first],
    ['#server 10.0.0.2:8080', `server ${second}`],
    ['listen 443 ssl;', `listen 127.0.0.1:${port} ssl;`],
    ['    listen [::]:443 ssl;\n', ''],
    ['listen 80;', `listen unix:${folder}/clear.sock;`],
    ['    listen [::]:80;\n', ''],
    ['/etc/nginx/tls/gateway.example.org.crt', tls.certFile],
    ['/etc/nginx/tls/gateway.example.org.key', tls.keyFile],
  ]);
  writeFileSync(join(folder, 'site.conf'), site);
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((one) => `${one}_temp_path ${folder}/${one};`);
  const http = `access_log off; ${paths.join(' ')} include ${folder}/site.conf;`;
  const main = process.getuid() === 0 ? 'user root;' : '';
  writeFileSync(join(folder, 'nginx.conf'), `${main} pid ${folder}/nginx.pid; daemon off; events {} http { ${http} }`);
  return processes.start('nginx', 'nginx', ['-p', folder, '-e', 'stderr', '-c', join(folder, 'nginx.conf')]);
}
