// Attacks on a log, one per row with its id, and that each is detected.
import {
  appendFileSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { formatInstant, instantOf } from '../../../engine/index.js';
import { BEGINNING, link, readLine } from '../../../server/audit/chain.js';
import { ANONYMOUS, eventOperator } from '../../../server/audit/event.js';
import { ownLog } from '../../../server/audit/own-log.js';
import { type VerifyOptions, verifyLogs, type VerifyReport } from '../../../server/audit/verify.js';
import { canonicalJson } from '../../../server/json/canonical-json.js';
import { eventOf, LOG, logFiles, logOf, readLines, writeLog, writerOf } from '../../support/audit-log.js';
import { makeFolder } from '../../support/temp-folder.js';
import { testRuns } from '../../support/test-runs.js';

const EVENTS = 30;

async function verifyLines(lines: readonly string[], options?: VerifyOptions): Promise<VerifyReport> {
  return verifyLogs(await logOf(lines), options);
}

const written = writeLog(EVENTS);
const linesOfLog = async (): Promise<string[]> => readLines((await written).folder);

/** The lines with other content and hashes that fit it, from one event on. */
function rewrite(lines: readonly string[], from: number, change: (line: string) => string): readonly string[] {
  let head = from === 1 ? BEGINNING : { seq: from - 1, hash: readLine(lines[from - 2] ?? '')?.hash ?? '' };
  return lines.map((line, index) => {
    if (index + 1 < from) return line;
    const { hash: _, previous: _previous, seq: _seq, ...rest } = JSON.parse(change(line)) as Record<string, unknown>;
    const body = { ...rest, previous: head.hash, seq: head.seq + 1 };
    head = { seq: head.seq + 1, hash: `sha256:${hash('sha256', canonicalJson(body))}` };
    return canonicalJson({ ...body, hash: head.hash });
  });
}

const edited = (line: string): string => line.replace('"status":400', '"status":200');

describe('a log', () => {
  it('is whole as it was written, over several files', async () => {
    const { folder, head } = await written;
    expect(logFiles(folder).length).toBeGreaterThan(3);
    const report = await verifyLogs(folder, { heads: [head] });
    expect(report).toMatchObject({ ok: true, events: EVENTS, faults: [], logs: [{ log: LOG, events: EVENTS, head }] });
  });

  it('has lines whose hash is that of their RFC 8785 form without it', async () => {
    for (const line of await linesOfLog()) {
      const { hash: given, ...rest } = JSON.parse(line) as Record<string, unknown>;
      expect(`sha256:${hash('sha256', canonicalJson(rest))}`).toBe(given);
      expect(canonicalJson(JSON.parse(line))).toBe(line);
    }
  });

  const places = [
    { where: 'first', at: 1 },
    { where: 'middle', at: 15 },
    { where: 'last but one', at: EVENTS - 1 },
  ];
  const acts: readonly {
    act: string;
    kind: string;
    seq: (at: number) => number;
    on: (lines: string[], at: number) => void;
  }[] = [
    {
      act: 'edited',
      kind: 'edited',
      seq: (at) => at,
      on: (lines, at) => lines.splice(at - 1, 1, edited(lines[at - 1] ?? '')),
    },
    { act: 'deleted', kind: 'missing', seq: (at) => at, on: (lines, at) => lines.splice(at - 1, 1) },
    {
      act: 'inserted',
      kind: 'order',
      seq: (at) => at,
      on: (lines, at) => lines.splice(at, 0, edited(lines[at - 1] ?? '')),
    },
    {
      act: 'swapped',
      kind: 'missing',
      seq: (at) => at,
      on: (lines, at) => lines.splice(at - 1, 2, lines[at] ?? '', lines[at - 1] ?? ''),
    },
    { act: 'doubled', kind: 'order', seq: (at) => at, on: (lines, at) => lines.splice(at, 0, lines[at - 1] ?? '') },
  ];
  for (const { act, kind, seq, on } of acts) {
    it.each(places)(`L02 names the first bad event where the $where one was ${act}`, async ({ at }) => {
      const lines = await linesOfLog();
      on(lines, at);
      const { ok, faults } = await verifyLines(lines);
      const first = Math.min(...faults.map((fault) => fault.seq));
      expect([ok, first]).toEqual([false, seq(at)]);
      expect(faults.map((fault) => fault.kind)).toContain(kind);
    });
  }

  it('L02 finds what is done at the border of two files', async () => {
    const { folder } = await writeLog(12);
    const [first = '', second = ''] = logFiles(folder);
    const text = readFileSync(second, 'utf8');
    writeFileSync(second, text.slice(text.indexOf('\n') + 1));
    const seq = 1 + readFileSync(first, 'utf8').split('\n').length - 1;
    expect(await verifyLogs(folder)).toMatchObject({ ok: false, faults: [{ kind: 'missing', seq }] });
  });

  it('L03 finds a rewritten log by a head that was noted, and only by that', async () => {
    const { head } = await written;
    const lines = rewrite(await linesOfLog(), 7, edited);
    expect((await verifyLines(lines)).ok).toBe(true);
    expect(await verifyLines(lines, { heads: [head] })).toMatchObject({
      ok: false,
      faults: [{ kind: 'head', seq: EVENTS }],
    });
  });

  it.each([1, 5, EVENTS])('L04 finds %i events cut off the end by a head that was noted', async (count) => {
    const { head } = await written;
    const lines = (await linesOfLog()).slice(0, EVENTS - count);
    // Without any event it is found in any case.
    expect((await verifyLines(lines)).ok).toBe(count < EVENTS);
    expect(await verifyLines(lines, { heads: [head] })).toMatchObject({
      ok: false,
      faults: expect.arrayContaining([expect.objectContaining({ kind: 'head', seq: EVENTS })]),
    });
  });

  it('L04 finds half a line at the end, and a newest file that was deleted', async () => {
    const { folder, head } = await writeLog(12);
    const newest = logFiles(folder).at(-1) ?? '';
    truncateSync(newest, statSync(newest).size - 5);
    expect((await verifyLogs(folder)).faults).toMatchObject([{ kind: 'torn', seq: 12 }]);
    const before = readFileSync(newest, 'utf8');
    const half = before.length - before.lastIndexOf('\n') - 1;
    appendFileSync(newest, 'x'.repeat(10_000_000));
    expect((await verifyLogs(folder)).faults).toMatchObject([
      { kind: 'torn', seq: 12, text: expect.stringContaining(`(${String(half + 10_000_000)} bytes)`) },
    ]);
    rmSync(newest);
    expect((await verifyLogs(folder, { heads: [head] })).faults).toMatchObject([{ kind: 'head', seq: 12 }]);
  });

  it('L06 finds a log of yesterday by a head of today', async () => {
    const { head } = await written;
    const yesterday = (await linesOfLog()).slice(0, 20);
    expect((await verifyLines(yesterday, { heads: [head] })).ok).toBe(false);
  });

  it('L10 cuts a half line off at the start, at each byte of it, and keeps it aside', async () => {
    const lines = (await linesOfLog()).slice(0, 3);
    const last = `${lines[2] ?? ''}\n`;
    for (let bytes = 1; bytes < last.length; bytes += 37) {
      const folder = await logOf(lines.slice(0, 2));
      const [file = ''] = logFiles(folder);
      appendFileSync(file, last.slice(0, bytes));
      const owned = await ownLog(folder);
      expect([owned.head.seq, readFileSync(owned.torn ?? '', 'utf8')]).toEqual([2, last.slice(0, bytes)]);
      await owned.release();
      expect(await verifyLogs(folder)).toMatchObject({ ok: true, events: 2 });
    }
  });

  it('L10 is not continued under another name', async () => {
    const folder = await logOf((await linesOfLog()).slice(0, 3));
    const [file = ''] = logFiles(folder);
    renameSync(file, file.replace(LOG, 'ownlog'));
    await expect(ownLog(folder)).rejects.toMatchObject({ code: 'audit.damaged' });
  });

  it('L10 is not continued where its last event is damaged', async () => {
    const lines = (await linesOfLog()).slice(0, 3);
    const folder = await logOf([...lines.slice(0, 2), edited(lines[2] ?? '')]);
    await expect(ownLog(folder)).rejects.toMatchObject({ name: 'AuditError', code: 'audit.damaged' });
  });

  it.each([
    ['a line end', 'x\n{"seq":1}'],
    ['a carriage return', 'x\ry'],
    ['a line separator', 'x\u2028y'],
    ['a terminal escape', '\u001b[31mred'],
    ['a megabyte', 'm'.repeat(1024 * 1024)],
    ['a half pair', 'x\ud800y'],
    ['markup', '</script>%n=cmd()'],
  ])('L11 holds %s in a name as one line that verifies', (_, name) => {
    const { line, head } = link(eventOf(1, { actor: eventOperator(name) }), LOG, BEGINNING);
    expect(line).not.toMatch(/[\n\r]/);
    expect(readLine(line)).toMatchObject({ seq: 1, hash: head.hash, digest: head.hash });
    expect(JSON.parse(line)).toMatchObject({ actor: { id: name } });
  });

  it('L11 has a fault, and no more, where a line is nested too deep to be written again', async () => {
    const deep = `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    expect(readLine(deep)).toBeNull();
    const report = await verifyLines([...(await linesOfLog()).slice(0, 2), deep]);
    expect([report.ok, report.faults.length]).toEqual([false, 1]);
  });

  it('L12 has no place for objects of other kinds: members are chosen by name, and made again', () => {
    const actor = { ...ANONYMOUS, toJSON: () => 'forged', ['__proto__x']: 1 };
    const parts = { actor, secret: 'hunter2' } as Parameters<typeof eventOf>[1];
    const { line } = link(eventOf(1, parts), LOG, BEGINNING);
    expect(line).not.toMatch(/forged|hunter2|proto/);
    expect(readLine(line)).not.toBeNull();
  });

  it('L14 is of one process: a second one has a log of its own, and they verify side by side', async () => {
    const folder = await makeFolder();
    const first = await ownLog(folder);
    const second = await ownLog(folder);
    expect(second.log).not.toBe(first.log);
    for (const { log, isOwner } of [first, second]) {
      const writer = writerOf(folder, { log, isOwner });
      writer.add(eventOf(1));
      await writer.close();
    }
    await first.release();
    await second.release();
    expect(await verifyLogs(folder)).toMatchObject({ ok: true, events: 2, logs: [{ events: 1 }, { events: 1 }] });
    const third = await ownLog(folder);
    expect([first.log, second.log]).toContain(third.log);
    await third.release();
  });

  it('L14 is no longer that of an owner who was taken for dead, wherever it was paused', async () => {
    const folder = await makeFolder();
    const first = await ownLog(folder);
    let pauses = 0;
    // Paused right after it has looked whose the log is.
    const isOwner = (): Promise<boolean> => ((pauses -= 1) >= 0 ? Promise.resolve(true) : first.isOwner());
    const late = writerOf(folder, { log: first.log, head: first.head, isOwner });
    late.add(eventOf(1));
    await late.sync();
    const lock = `${folder}/${first.log}.lock`;
    // Its process is on another machine, and has been silent for a minute.
    const record = JSON.parse(readFileSync(`${lock}/1`, 'utf8')) as object;
    writeFileSync(`${lock}/1`, JSON.stringify({ ...record, host: 'elsewhere', space: 'elsewhere' }));
    utimesSync(`${lock}/1`, new Date(Date.now() - 60_000), new Date(Date.now() - 60_000));
    const next = await ownLog(folder);
    expect([next.log, next.head.seq, next.isFenced]).toEqual([first.log, 1, true]);
    const writer = writerOf(folder, next);
    writer.add(eventOf(3));
    await writer.sync();
    late.add(eventOf(2));
    pauses = 1;
    await expect(late.sync()).rejects.toThrow('moved or removed');
    await expect(late.sync()).rejects.toThrow('taken over');
    writer.add(eventOf(4));
    await writer.close();
    await late.close();
    await first.release();
    await next.release();
    expect(await verifyLogs(folder)).toMatchObject({ ok: true, events: 3 });
    expect(readLines(folder).map((line) => /event\d/.exec(line)?.[0])).toEqual(['event1', 'event3', 'event4']);
  });

  it('L14 says of lines after the end of a file that an owner wrote them who had lost the log', async () => {
    const folder = await makeFolder();
    const writer = writerOf(folder);
    writer.add(eventOf(1));
    await writer.sync();
    const next = writerOf(folder, { head: writer.head() });
    next.add(eventOf(4));
    next.add(eventOf(5));
    await next.close();
    writer.add(eventOf(2));
    writer.add(eventOf(3));
    await writer.close();
    const report = await verifyLogs(folder, { heads: [next.head()] });
    const text =
      '2 lines after event 1 were written by an owner that had lost the log: no event of the log is lost or changed';
    expect(report).toMatchObject({ ok: false, events: 3, count: 1, faults: [{ seq: 2, kind: 'late', text }] });
    // Whatever else is there is no such line.
    const [file = ''] = logFiles(folder);
    const lines = readFileSync(file, 'utf8').split('\n');
    writeFileSync(file, [lines[0], edited(lines[1] ?? ''), ''].join('\n'));
    expect((await verifyLogs(folder)).faults.map(({ kind }) => kind)).toEqual(['edited', 'order']);
  });

  it('L15 goes on through a thousand files, and after the oldest were taken away', async () => {
    const folder = await makeFolder();
    const writer = writerOf(folder, { fileBytes: 1 });
    for (let n = 1; n <= 1_000; n += 1) {
      writer.add(eventOf(n));
      await writer.sync();
    }
    await writer.close();
    expect(logFiles(folder)).toHaveLength(1_000);
    expect(await verifyLogs(folder)).toMatchObject({ ok: true, events: 1_000 });
    const oldest = logFiles(folder).slice(0, 400);
    const { seq = 0, hash: end = '' } = readLine(readFileSync(oldest[399] ?? '', 'utf8').trimEnd()) ?? {};
    for (const path of oldest) rmSync(path);
    expect(await verifyLogs(folder)).toMatchObject({ ok: false, faults: [{ kind: 'missing', seq: 1 }] });
    expect(await verifyLogs(folder, { after: { seq, hash: end } })).toMatchObject({ ok: true, events: 600 });
    // Another log of the folder still begins at its first event.
    const other = writerOf(folder, { log: 'another', fileBytes: 1 });
    for (let n = 1; n <= 2; n += 1) {
      other.add(eventOf(n));
      await other.sync();
    }
    await other.close();
    expect(await verifyLogs(folder, { after: { seq, hash: end } })).toMatchObject({ ok: true, events: 602 });
    for (const path of logFiles(folder)) if (path.endsWith('another.000000000000001.jsonl')) rmSync(path);
    const faults = [{ log: 'another', kind: 'missing', seq: 1 }];
    expect(await verifyLogs(folder, { after: { seq, hash: end } })).toMatchObject({ ok: false, faults });
  });

  it('L18 goes by its numbers, not by clocks', async () => {
    const folder = await makeFolder();
    const writer = writerOf(folder);
    const day = 86_400_000;
    for (const [n, at] of [5 * day, 4 * day, 6 * day, 0].entries()) writer.add(eventOf(n, { at: instantOf(at) }));
    await writer.close();
    expect(readLines(folder).map((line) => readLine(line)?.seq)).toEqual([1, 2, 3, 4]);
    expect(readLines(folder)[3]).toContain(formatInstant(instantOf(0)));
    expect((await verifyLogs(folder)).ok).toBe(true);
  });

  it('L19 is for its owner alone, as are its folders', async () => {
    const { folder } = await writeLog(3);
    for (const path of logFiles(folder)) expect(statSync(path).mode & 0o777).toBe(0o600);
    const owned = await ownLog(folder);
    expect(statSync(`${folder}/${LOG}.lock`).mode & 0o777).toBe(0o700);
    await owned.release();
  });
});

describe('any single act on a log', () => {
  const act = fc.oneof(
    fc.record({ kind: fc.constant('byte' as const), at: fc.nat(), by: fc.integer({ min: 1, max: 255 }) }),
    fc.record({ kind: fc.constant('remove' as const), at: fc.nat(), by: fc.integer({ min: 1, max: 5 }) }),
    fc.record({ kind: fc.constant('move' as const), at: fc.nat(), by: fc.integer({ min: 1, max: EVENTS - 1 }) }),
    fc.record({ kind: fc.constant('cut' as const), at: fc.nat(), by: fc.constant(1) }),
  );

  it('is found: a byte changed, events removed or moved, the end cut off', async () => {
    const { head } = await written;
    const lines = await linesOfLog();
    const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
    await fc.assert(
      fc.asyncProperty(act, async ({ kind, at, by }) => {
        const folder = await logOf([]);
        const [file = ''] = logFiles(folder);
        if (kind === 'byte') {
          const changed = Buffer.from(bytes);
          const place = at % bytes.length;
          changed[place] = ((changed[place] ?? 0) + by) % 256;
          writeFileSync(file, changed);
        } else if (kind === 'cut') writeFileSync(file, bytes.subarray(0, at % bytes.length));
        else {
          const all = [...lines];
          const from = at % EVENTS;
          const [moved = ''] = all.splice(from, kind === 'move' ? 1 : by);
          if (kind === 'move') all.splice((from + by) % EVENTS, 0, moved);
          writeFileSync(file, all.map((line) => `${line}\n`).join(''));
        }
        expect((await verifyLogs(folder, { heads: [head] })).ok).toBe(false);
        rmSync(folder, { recursive: true });
      }),
      testRuns({ usual: 300, deep: 200_000 }),
    );
  });
});
