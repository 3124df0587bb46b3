// What is compared with the logs of a folder: checkpoints and heads that were noted elsewhere.
import { appendFileSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Head } from '../../../server/audit/chain.js';
import type { Checkpoint } from '../../../server/audit/checkpoint.js';
import { verifyLogs, type VerifyOptions } from '../../../server/audit/verify.js';
import { leafHash, rootOfAll } from '../../../server/signing/merkle.js';
import { eventOf, LOG, logFiles, readLines, writeLog, writerOf } from '../../support/audit-log.js';
import { makeFolder } from '../../support/temp-folder.js';

const EVENTS = 11;
const OTHER = `sha256:${'0'.repeat(64)}`;
let folder: string;
let head: Head;
let lines: readonly string[];
beforeEach(async () => {
  ({ folder, head } = await writeLog(EVENTS, 1_000));
  lines = readLines(folder);
});

const checkpointOf = (size: number, log = LOG, of = size): Checkpoint => ({
  ...{ log, size },
  root: rootOfAll(lines.slice(0, of).map((line) => leafHash(line))),
});

async function found(options: VerifyOptions): Promise<readonly unknown[]> {
  const { ok, count, faults } = await verifyLogs(folder, options);
  expect([ok, count]).toEqual([faults.length === 0, faults.length]);
  return faults.map(({ log, seq, kind, text }) => [log, seq, kind, text]);
}

/** Another log beside it. */
async function writeOther(): Promise<Head> {
  const writer = writerOf(folder, { log: 'other' });
  for (const n of [1, 2]) writer.add(eventOf(n));
  await writer.close();
  return writer.head();
}

describe('a checkpoint', () => {
  it('fits a log that grew from there, and no other one', async () => {
    await writeOther();
    const fitting = [0, 1, 5, EVENTS].map((size) => checkpointOf(size));
    expect(await found({ checkpoints: fitting })).toEqual([]);
    const text = 'are not those of the checkpoint: the log was rewritten, or one of them was changed';
    expect(await found({ checkpoints: [checkpointOf(5, LOG, 4), ...fitting, checkpointOf(2, 'other')] })).toEqual([
      ['other', 2, 'checkpoint', `the first 2 events ${text}`],
      [LOG, 5, 'checkpoint', `the first 5 events ${text}`],
    ]);
  });

  it('is about more than a log that was cut, and about none that is there', async () => {
    const text = expect.stringMatching(/^the checkpoint is about the first 12 events, and the log has fewer: its end /);
    expect(await found({ checkpoints: [checkpointOf(12), checkpointOf(3, 'gone')] })).toEqual([
      [LOG, 12, 'checkpoint', text],
      ['gone', 3, 'checkpoint', 'the log of the checkpoint is missing'],
    ]);
  });

  it('cannot be compared where older files are elsewhere', async () => {
    const [first = ''] = logFiles(folder);
    const archived = `${'0'.repeat(64)}  ${basename(first)}\n`;
    const second = Number(basename(logFiles(folder)[1] ?? '').slice(-21, -6));
    const { hash } = JSON.parse(lines[second - 2] ?? '') as Head;
    rmSync(first);
    const text =
      'the first 9 events cannot be compared with the checkpoint, because older files are elsewhere: name their folder with --archive';
    expect(await found({ checkpoints: [checkpointOf(9)], after: { seq: second - 1, hash } })).toEqual([
      [LOG, 9, 'checkpoint', text],
    ]);
    appendFileSync(join(folder, 'archived.sha256'), archived);
    expect(await found({ checkpoints: [checkpointOf(9)] })).toEqual([[LOG, 9, 'checkpoint', text]]);
    // Of what is elsewhere, nothing is said; of what is here, it is.
    const known = [second - 1, second].map((seq) => ({ log: LOG, seq, hash: OTHER }));
    expect(await found({ known })).toMatchObject([[LOG, second, 'head', expect.stringContaining('rewritten')]]);
  });
});

describe('a head that was noted', () => {
  it('is in its log, or in any one where people have noted it', async () => {
    const other = await writeOther();
    expect(
      await found({
        heads: [head, other],
        known: [
          { ...head, log: LOG },
          { ...other, log: 'other' },
        ],
      }),
    ).toEqual([]);
    expect(await found({ known: [{ ...other, log: LOG }] })).toEqual([
      [LOG, 2, 'head', 'event 2 is not the one that was noted by the store: the log was rewritten'],
    ]);
  });

  it('is not there: the log was rewritten, cut or taken away', async () => {
    const more = { seq: 12, hash: OTHER };
    const end = `its end was cut off, or its newest files are absent, those from ${LOG}.000000000000012.jsonl on`;
    expect(
      await found({
        heads: [{ seq: 3, hash: OTHER }, more],
        known: [
          { ...more, log: LOG },
          { ...more, log: 'gone' },
        ],
      }),
    ).toEqual([
      ['gone', 12, 'gone', 'the log is missing: the store knows it up to event 12'],
      [LOG, 3, 'head', 'event 3 is not the one that was noted: the log was rewritten'],
      [LOG, 12, 'head', `there is no event 12, which was noted as the end of the log: ${end}`],
      [LOG, 12, 'head', `there is no event 12, which was noted by the store as the end of the log: ${end}`],
    ]);
    await writeOther();
    expect(await found({ heads: [more] })).toEqual([
      [
        null,
        12,
        'head',
        expect.stringMatching(/noted as the end of the log: its end was cut off, or its newest files are absent$/),
      ],
    ]);
    folder = await makeFolder();
    const absent = [
      null,
      1,
      'absent',
      `there is no event in ${folder}: the log was removed, or it is in another folder`,
    ];
    expect(await found({ heads: [more] })).toEqual([[null, 12, 'head', expect.anything()], absent]);
  });
});

describe('a log that is read', () => {
  it('says how far it has come, over all logs, and which lists cannot be read', async () => {
    await writeOther();
    const writer = writerOf(folder, { log: 'third' });
    writer.add({ ...eventOf(1), listed: { count: 1, set: '*' } });
    await writer.close();
    const told: number[] = [];
    const { events, logs, faults } = await verifyLogs(folder, { onProgress: (now) => told.push(now) });
    expect([events, told.at(-1), told.every((now, n) => now >= (told[n - 1] ?? 0))]).toEqual([14, 14, true]);
    expect(logs.map(({ log, events: some }) => [log, some])).toEqual([
      ['other', 2],
      [LOG, EVENTS],
      ['third', 1],
    ]);
    expect(faults).toEqual([
      {
        log: 'third',
        seq: 1,
        kind: 'malformed',
        text: expect.stringMatching(/^event 1: `listed\.set` has a character/),
      },
    ]);
    renameSync(folder, `${folder}-moved`);
    await expect(verifyLogs(folder)).rejects.toMatchObject({ code: 'ENOENT' });
    renameSync(`${folder}-moved`, folder);
  });
});
