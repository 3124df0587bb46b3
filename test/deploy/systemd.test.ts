// The unit of deploy/systemd compared with the program, and judged by systemd where that is installed.
import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { EXIT } from '../../server/cli/exit.js';
import { checkedSettings, readDeployed, secondsToStop } from '../support/deployed.js';
import { findProgram } from '../support/programs.js';
import { fromRoot } from '../support/root.js';
import { makeFolder } from '../support/temp-folder.js';

const run = promisify(execFile);

/** With these a gateway may work when it is started again. */
const PASSING: ReadonlySet<number> = new Set([EXIT.ok, EXIT.unexpected, EXIT.differences, EXIT.away]);

describe('systemd', () => {
  const unit = readDeployed('systemd/bailiwick.service');
  const lines = unit.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const all = (key: string): readonly string[] =>
    lines.flatMap((line) => (line.startsWith(`${key}=`) ? [line.slice(key.length + 1)] : []));

  it('starts what there is, with settings that hold, and waits for it to end', async () => {
    expect(all('ExecStart')).toEqual(['/usr/local/bin/bailiwick serve --format json']);
    expect(all('Environment').join(' ')).toContain('BAILIWICK_CONFIG=/etc/bailiwick/bailiwick.yaml');
    const settings = await checkedSettings(readDeployed('systemd/bailiwick.yaml'));
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
