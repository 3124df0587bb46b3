// Lines of files, however long they and the files are.
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { LogFile } from '../../../server/audit/log-files.js';
import { isBlank, readFiles } from '../../../server/audit/read-log.js';
import { AUDIT_LIMITS } from '../../../server/limits/logs.js';
import { makeFolder } from '../../support/temp-folder.js';

const CHUNK = 1024 * 1024;

let folder: string;
beforeEach(async () => {
  folder = await makeFolder();
});

async function linesOf(
  texts: readonly (string | Buffer)[],
  from?: number,
): Promise<{ lines: unknown[]; torn: number[] }> {
  const files = texts.map((text, n): LogFile => {
    const path = join(folder, String(n));
    writeFileSync(path, text);
    return { log: 'log', first: n, path };
  });
  const lines: unknown[] = [];
  const torn: number[] = [];
  for await (const group of readFiles(files, from)) {
    expect(files).toContain(group.file);
    lines.push(...group.lines);
    if (group.torn > 0) torn.push(group.torn);
  }
  return { lines, torn };
}

describe('the lines of files', () => {
  it('come in order, without line ends, and of the first file from a place on', async () => {
    expect(await linesOf(['a\nb\n', 'c\n', '', '\n\nd\n'])).toEqual({ lines: ['a', 'b', 'c', '', '', 'd'], torn: [] });
    expect(await linesOf(['a\nb\n', 'c\nd\n'], 2)).toEqual({ lines: ['b', 'c', 'd'], torn: [] });
    expect(await linesOf([])).toEqual({ lines: [], torn: [] });
  });

  it('are whole wherever a reading ends within them', async () => {
    const long = 'x'.repeat(CHUNK - 1);
    for (const lines of [
      [long, 'b'],
      [`${long}y`, 'b'],
      [`${long}yy`, 'b'],
      ['a', long.repeat(3), 'b'],
      ['é'.repeat(CHUNK), 'b'],
    ])
      expect(await linesOf([lines.map((line) => `${line}\n`).join('')])).toEqual({ lines, torn: [] });
  });

  it('are as long as an event may be, and null where they are longer or no text', async () => {
    const most = 'x'.repeat(AUDIT_LIMITS.lineBytes);
    expect((await linesOf([`a\n${most}\nb\n`])).lines.map((line) => String(line).length)).toEqual([1, most.length, 1]);
    const tooLong = `${most}${'x'.repeat(2 * CHUNK)}`;
    expect(await linesOf([`a\n${tooLong}\nb\n${tooLong}\n`])).toEqual({ lines: ['a', null, 'b', null], torn: [] });
    const mixed = Buffer.concat([
      Buffer.from('a\n\né\n'),
      Buffer.of(0xff, 0x0a),
      Buffer.from('b\n'),
      Buffer.of(0xc3, 0x0a),
    ]);
    expect(await linesOf([Buffer.of(0x0a, 0xff, 0x0a)])).toEqual({ lines: ['', null], torn: [] });
    expect((await linesOf([`${most}\n`])).lines).toEqual([most]);
    expect(await linesOf([mixed])).toEqual({ lines: ['a', '', 'é', null, 'b', null], torn: [] });
  });

  it('have an end: what has none is counted, unless it is blank', async () => {
    expect(await linesOf(['a\nbcd', 'e\n', ' '.repeat(9)])).toEqual({ lines: ['a', 'e'], torn: [3] });
    expect(await linesOf(['b'])).toEqual({ lines: [], torn: [1] });
    expect(await linesOf(['\nabc'])).toEqual({ lines: [''], torn: [3] });
    const open = readdirSync('/dev/fd').length;
    for (let n = 0; n < 20; n += 1) await linesOf(['b\n']);
    expect(readdirSync('/dev/fd').length).toBeLessThan(open + 20);
    const rest = AUDIT_LIMITS.lineBytes + 2 * CHUNK;
    expect(await linesOf([`a\n${'x'.repeat(rest)}`])).toEqual({ lines: ['a'], torn: [rest] });
    expect(await linesOf([' '.repeat(rest)])).toEqual({ lines: [], torn: [rest] });
    expect([isBlank(Buffer.from('  ')), isBlank(Buffer.of()), isBlank(Buffer.from(' \t'))]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('cannot be read where there is no file, and why is said', async () => {
    for (const [path, code] of [
      [join(folder, 'none'), 'ENOENT'],
      [folder, 'EISDIR'],
    ] as const) {
      const read = readFiles([{ log: 'log', first: 1, path }]).next();
      await expect(read).rejects.toMatchObject({ code: 'audit.unreadable', cause: { code } });
      await expect(readFiles([{ log: 'log', first: 1, path }]).next()).rejects.toThrow(
        `\`${path}\` cannot be read (${code})`,
      );
    }
  });
});
