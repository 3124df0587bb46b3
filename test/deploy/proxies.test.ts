// The files of deploy/proxy/, judged by nginx, HAProxy and Caddy where they are installed. `make test-infra` runs gateways behind them.
import { describe, expect, it } from '@jest/globals';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, request } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { makeAuthority } from '../support/certificates.js';
import { findProgram } from '../support/programs.js';
import { fromRoot } from '../support/root.js';
import { makeFolder } from '../support/temp-folder.js';
import { until } from '../support/until.js';

const run = promisify(execFile);
const read = (path: string): string => readFileSync(fromRoot(`deploy/${path}`), 'utf8');

describe('proxies', () => {
  const nginx = findProgram('nginx');
  (nginx === null ? it.skip : it)('nginx takes its file', async () => {
    const folder = await makeFolder();
    const { certFile, keyFile } = await makeAuthority(folder);
    const conf = read('proxy/nginx.conf')
      .replace('/etc/nginx/tls/gateway.example.org.crt', certFile)
      .replace('/etc/nginx/tls/gateway.example.org.key', keyFile);
    writeFileSync(join(folder, 'bailiwick.conf'), conf);
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      .map((one) => `${one}_temp_path ${folder}/${one};`)
      .join(' ');
    writeFileSync(
      join(folder, 'nginx.conf'),
      `pid ${folder}/pid; events {} http { access_log off; ${temporary} include bailiwick.conf; }`,
    );
    const { stderr } = await run(nginx ?? '', [
      '-t',
      '-e',
      join(folder, 'error'),
      '-p',
      folder,
      '-c',
      join(folder, 'nginx.conf'),
    ]);
    expect(stderr).toContain('test is successful');
    expect(stderr).not.toMatch(/warn|emerg|deprecated/);
  });

  const haproxy = findProgram('haproxy');
  (haproxy === null ? it.skip : it)('HAProxy takes its file', async () => {
    const folder = await makeFolder();
    const { certFile, keyFile } = await makeAuthority(folder);
    writeFileSync(join(folder, 'both.pem'), readFileSync(certFile, 'utf8') + readFileSync(keyFile, 'utf8'));
    const path = join(folder, 'haproxy.cfg');
    const cfg = read('proxy/haproxy.cfg').replace('/etc/haproxy/gateway.example.org.pem', join(folder, 'both.pem'));
    writeFileSync(path, cfg);
    const { stdout, stderr } = await run(haproxy ?? '', ['-c', '-f', path]);
    expect(stdout).toContain('Configuration file is valid');
    expect(stderr).not.toMatch(/WARNING|ALERT/);
  });

  (haproxy === null ? it.skip : it)('HAProxy sends a request again whose body comes later', async () => {
    const folder = await makeFolder();
    const [at, one, other] = ['at', 'one', 'other'].map((name) => join(folder, name)) as [string, string, string];
    const dying = createTcpServer((socket) => {
      socket.on('data', (bytes) => bytes.includes('{}') && socket.destroy());
    }).listen(one);
    const answering = createServer((asked, answer) => asked.resume().on('end', () => answer.end())).listen(other);
    const cfg = read('proxy/haproxy.cfg')
      .replace(/bind :443 .*/, `bind unix@${at}`)
      .replace('gateway-1 127.0.0.1:8080', `one unix@${one}\n    server other unix@${other}\n`);
    writeFileSync(join(folder, 'haproxy.cfg'), cfg);
    const child = spawn(haproxy ?? '', ['-f', join(folder, 'haproxy.cfg')], { stdio: 'ignore' });
    await until(() => existsSync(at));
    const post = async (): Promise<number | undefined> => {
      const posted = request({ socketPath: at, method: 'POST', headers: { 'Content-Length': 2 } });
      posted.flushHeaders();
      setTimeout(() => posted.end('{}'), 100);
      const [answer] = (await once(posted, 'response')) as [IncomingMessage];
      answer.resume();
      return answer.statusCode;
    };
    // One of them meets the gateway that dies.
    expect(await Promise.all([post(), post()])).toEqual([200, 200]);
    child.kill();
    await once(child, 'exit');
    dying.close();
    answering.close();
  });

  const caddy = findProgram('caddy');
  (caddy === null ? it.skip : it)('Caddy takes its file, formatted as it formats it', async () => {
    const folder = await makeFolder({ Caddyfile: read('proxy/Caddyfile') });
    const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
    const validated = await run(
      caddy ?? '',
      ['validate', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')],
      { env },
    );
    expect(validated.stdout + validated.stderr).toContain('Valid configuration');
    const { stdout } = await run(caddy ?? '', ['fmt', join(folder, 'Caddyfile')], { env });
    expect(stdout).toBe(read('proxy/Caddyfile'));
  });

  it('believe nobody else about where requests come from', () => {
    expect(read('proxy/nginx.conf')).toContain('proxy_set_header X-Forwarded-For $remote_addr;');
    expect(read('proxy/haproxy.cfg')).toContain('http-request set-header X-Forwarded-For %[src]');
    expect(read('proxy/Caddyfile')).toContain('header_up X-Forwarded-For {remote_host}');
    expect(read('systemd/bailiwick.yaml')).toContain("trustProxy: [127.0.0.1, '::1']");
  });
});
