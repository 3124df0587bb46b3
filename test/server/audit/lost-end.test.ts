// What is said of the end of a log that is not there, and which files a log has.
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { listLogs, logFilePath } from '../../../server/audit/log-files.js';
import { keptText } from '../../../server/audit/log-place.js';
import { whatBecameOfEnd } from '../../../server/audit/lost-end.js';
import { AUDIT_LIMITS } from '../../../server/limits/logs.js';
import { EMPTY, leafHash, makeTree } from '../../../server/signing/merkle.js';
import { LOG } from '../../support/audit-log.js';
import { makeFolder } from '../../support/temp-folder.js';

const nameOf = (first: number, log = LOG): string => `${log}.${String(first).padStart(15, '0')}.jsonl`;

let folder: string;
beforeEach(async () => {
  folder = await makeFolder({ [nameOf(1)]: '', [nameOf(1, 'other')]: '' });
});

const said = (last: number, archive: string | null = null): Promise<string> =>
  whatBecameOfEnd({ folder, log: LOG, last, archive });

function place(size: number, file: number): void {
  const tree = makeTree(EMPTY);
  for (let n = 0; n < size; n += 1) tree.push(leafHash(String(n)));
  const grown = new Map([['A'.repeat(43), { ...tree.frontier(), old: size }]]);
  const hash = `sha256:${'0'.repeat(64)}`;
  writeFileSync(
    join(folder, `${LOG}.place`),
    keptText({ place: { tree: tree.frontier(), hash, file, bytes: 9 }, grown }),
  );
}

describe('the end of a log that is not there', () => {
  it('may be cut off or elsewhere, where nothing tells', async () => {
    const either = `its end was cut off, or its newest files are absent, those from ${nameOf(4)} on`;
    expect(await said(3)).toBe(either);
    place(3, 1);
    expect(await said(3)).toBe(either);
    writeFileSync(join(folder, `${LOG}.place`), 'none');
    expect(await said(3)).toBe(either);
    expect(await said(3, await makeFolder({ [nameOf(3)]: '', [nameOf(5, 'other')]: '' }))).toBe(either);
  });

  it('is in the files that are listed as archived', async () => {
    const lines = [nameOf(3), nameOf(4), nameOf(5, 'other'), nameOf(7)];
    writeFileSync(join(folder, 'archived.sha256'), lines.map((name) => `${'0'.repeat(64)}  ${name}\n`).join(''));
    const names = `${nameOf(4)}, ${nameOf(7)}`;
    expect(await said(3)).toBe(
      `its newest files were not read: archived.sha256 lists ${names}; name their folder with --archive`,
    );
    expect(await said(3, '/away')).toBe(`its newest files, ${names}, are not in /away as archived.sha256 lists them`);
  });

  it('is in files that nothing lists', async () => {
    const archive = await makeFolder({ [nameOf(3)]: '', [nameOf(4)]: '', [nameOf(6)]: '' });
    const names = `${nameOf(4)}, ${nameOf(6)}`;
    expect(await said(3, archive)).toBe(
      `its newest files were moved to ${archive}, and archived.sha256 does not list them: ${names}`,
    );
  });

  it('was cut off from the file that the log had come to, or that file is absent', async () => {
    place(9, 3);
    expect(await said(3)).toBe(`its end was cut off from ${nameOf(3)}`);
    place(9, 4);
    expect(await said(3)).toBe(`its newest files are absent, ${nameOf(4)} among them`);
  });

  it('is in other files where the last one that is there is full', async () => {
    const path = join(folder, nameOf(1));
    truncateSync(path, AUDIT_LIMITS.fileBytes);
    expect(await said(3)).toBe(`its newest files are absent, those from ${nameOf(4)} on`);
    truncateSync(path, AUDIT_LIMITS.fileBytes - 1);
    expect(await said(3)).toContain('its end was cut off, or');
    expect(await whatBecameOfEnd({ folder, log: 'none', last: 0, archive: null })).toContain('its end was cut off, or');
  });
});

describe('the files of logs', () => {
  it('are those whose names say so, in order', async () => {
    const at = await makeFolder();
    const long = 'z'.repeat(32);
    const names = [nameOf(10), nameOf(9), nameOf(1, long), nameOf(2, 'a0')];
    const others = [
      'A.000000000000001.jsonl',
      nameOf(1, 'z'.repeat(33)),
      `x${LOG}.1.jsonl`,
      `${nameOf(1)}.torn`,
      '.jsonl',
    ];
    for (const name of [...names, ...others, nameOf(1, '')]) writeFileSync(join(at, name), '');
    mkdirSync(join(at, `${LOG}.lock`));
    expect([...(await listLogs(at))]).toEqual(
      [
        ['a0', 2],
        [LOG, 9, 10],
        [long, 1],
      ].map(([log, ...firsts]) => [
        log,
        firsts.map((first) => ({ log, first, path: logFilePath(at, String(log), Number(first)) })),
      ]),
    );
    expect(logFilePath(at, LOG, 9)).toBe(join(at, nameOf(9)));
  });
});
