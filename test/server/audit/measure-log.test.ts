// Size, roots and paths of a log that is read for a checkpoint or a proof.
import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { measureLog } from '../../../server/audit/measure-log.js';
import { leafHash, rootOfAll, rootOfPath, type TreeHash } from '../../../server/signing/merkle.js';
import { LOG, logFiles, logOf, readLines, writeLog } from '../../support/audit-log.js';
import { makeFolder } from '../../support/temp-folder.js';

const EVENTS = 11;
let folder: string;
let lines: readonly string[];
beforeAll(async () => {
  ({ folder } = await writeLog(EVENTS, 1_000));
  lines = readLines(folder);
});

const rootOf = (size: number): TreeHash => rootOfAll(lines.slice(0, size).map((line) => leafHash(line)));

describe('a log that is measured', () => {
  it('has the roots that were asked for, over several files', async () => {
    expect(logFiles(folder).length).toBeGreaterThan(2);
    const measured = await measureLog(folder, LOG, { archive: null, sizes: [1, 4, 12] });
    expect(measured).toEqual({
      ...{ faults: [], size: EVENTS, root: rootOf(EVENTS), lines: new Map() },
      roots: new Map([
        [1, rootOf(1)],
        [4, rootOf(4)],
      ]),
    });
    expect((await measureLog(folder, LOG, { archive: null }))?.roots.size).toBe(0);
    expect(await measureLog(folder, 'other', { archive: null })).toBeNull();
  });

  it('has the lines that were asked for, with paths in the tree of the size that was asked for', async () => {
    const [indexes, size] = [[0, 5, 8], 9];
    const measured = await measureLog(folder, LOG, { archive: null, places: { indexes, size } });
    expect([...(measured?.lines ?? [])].map(([index, { line }]) => [index, line])).toEqual(
      indexes.map((index) => [index, lines[index]]),
    );
    for (const [index, { line, path }] of measured?.lines ?? [])
      expect(rootOfPath(leafHash(line), { index, size }, path)).toEqual(rootOf(size));
    const beyond = await measureLog(folder, LOG, { archive: null, places: { indexes: [12], size: 13 } });
    expect(beyond?.lines.size).toBe(0);
    const unread = await logOf(lines);
    writeFileSync(logFiles(unread)[0] ?? '', Buffer.concat([Buffer.of(0xff, 0x0a), Buffer.from(lines.join('\n'))]));
    const first = await measureLog(unread, LOG, { archive: null, places: { indexes: [0], size: 1 } });
    expect([first?.lines.size, first?.faults[0]?.kind]).toEqual([0, 'malformed']);
  });

  it('has a fault where a line was changed, is none of an event, or has no end, and where files are elsewhere', async () => {
    const faultsIn = async (at: string): Promise<unknown> =>
      (await measureLog(at, LOG, { archive: null }))?.faults.map(({ seq, kind }) => [seq, kind]);
    expect(await faultsIn(await logOf(lines.with(3, lines[3]?.replace('400', '200') ?? '')))).toContainEqual([
      4,
      'edited',
    ]);
    expect(await faultsIn(await logOf(lines.with(3, 'none')))).toContainEqual([4, 'malformed']);
    const torn = await logOf(lines);
    appendFileSync(logFiles(torn)[0] ?? '', 'half');
    expect(await faultsIn(torn)).toEqual([[EVENTS + 1, 'torn']]);
    const { folder: moved } = await writeLog(EVENTS, 1_000);
    const [first = ''] = logFiles(moved);
    writeFileSync(join(moved, 'archived.sha256'), `${'0'.repeat(64)}  ${basename(first)}\n`);
    rmSync(first);
    const left = await measureLog(moved, LOG, { archive: null });
    expect(left).toMatchObject({
      ...{ size: 0, root: rootOf(0) },
      faults: [
        { log: LOG, seq: 1, kind: 'archived', text: 'older files are elsewhere: name their folder with --archive' },
      ],
    });
    const archive = await makeFolder();
    expect((await measureLog(moved, LOG, { archive }))?.faults[0]).toMatchObject({ kind: 'archived', seq: 1 });
  });

  it('leaves out what an owner wrote after the end of a file who had lost the log, and that is no fault', async () => {
    const late = await makeFolder();
    const nameOf = (first: number): string => join(late, `${LOG}.${String(first).padStart(15, '0')}.jsonl`);
    const textOf = (from: number, to?: number): string =>
      lines
        .slice(from, to)
        .map((line) => `${line}\n`)
        .join('');
    writeFileSync(nameOf(1), textOf(0, 5));
    writeFileSync(nameOf(5), textOf(4));
    expect(await measureLog(late, LOG, { archive: null })).toMatchObject({
      faults: [],
      size: EVENTS,
      root: rootOf(EVENTS),
    });
  });
});
