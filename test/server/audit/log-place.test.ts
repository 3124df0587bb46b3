// Places in a log from which a reader goes on.
import { appendFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  keptText,
  LogGapError,
  type LogPlace,
  parseKept,
  parsePlace,
  placeText,
  readOn,
  START,
} from '../../../server/audit/log-place.js';
import { type Grown, leafHash, makeGrowth, makeTree, type TreeHash } from '../../../server/signing/merkle.js';
import { LOG, logFiles, readLines, writeLog } from '../../support/audit-log.js';

const EVENTS = 11;
let folder: string;
let lines: readonly string[];
beforeEach(async () => {
  ({ folder } = await writeLog(EVENTS, 1_000));
  lines = readLines(folder);
});

const go = (from: LogPlace, to: number, onLeaf?: (leaf: TreeHash) => void): Promise<LogPlace> =>
  readOn({ folder, log: LOG, from, to, ...(onLeaf && { onLeaf }) });

/** As whoever reads all lines would say it. */
function placeAt(size: number): LogPlace {
  const tree = makeTree();
  for (const line of lines.slice(0, size)) tree.push(leafHash(line));
  const firsts = logFiles(folder).map((path) => Number(path.slice(-21, -6)));
  const file = firsts.findLast((first) => first <= size) ?? 1;
  const { hash } = JSON.parse(lines[size - 1] ?? '') as { readonly hash: string };
  const bytes = lines.slice(file - 1, size).reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
  return { tree: tree.frontier(), hash, file, bytes };
}

describe('a reader that goes on in a log', () => {
  it('comes to the same place from wherever it goes on, with the leaves between', async () => {
    expect(logFiles(folder).length).toBeGreaterThan(2);
    for (let from = 0; from <= EVENTS; from += 1) {
      for (let to = Math.max(1, from); to <= EVENTS; to += 1) {
        const leaves: TreeHash[] = [];
        expect(await go(from === 0 ? START : placeAt(from), to, (leaf) => leaves.push(leaf))).toEqual(placeAt(to));
        expect(leaves).toEqual(lines.slice(from, to).map((line) => leafHash(line)));
      }
    }
    expect(await go(START, 0)).toBe(START);
  });

  it('goes on where the file that it has read to its end was moved away, and only there', async () => {
    const [first = '', second = ''] = logFiles(folder);
    const end = Number(second.slice(-21, -6)) - 1;
    const places = [placeAt(end), placeAt(end - 1)] as const;
    const last = placeAt(EVENTS);
    rmSync(first);
    expect(await go(places[0], EVENTS)).toEqual(last);
    const gap = go(places[1], EVENTS);
    await expect(gap).rejects.toThrow(LogGapError);
    await expect(gap).rejects.toThrow(`the file with event ${String(end)} is not in the folder`);
    await expect(readOn({ folder, log: 'other', from: START, to: 1 })).rejects.toThrow('the file with event 1 is not');
  });

  it('ends where a line is none of the log, was changed, does not follow, or is the last one', async () => {
    const [path = ''] = logFiles(folder);
    const begin = (text: string): void => {
      for (const file of logFiles(folder).slice(1)) renameSync(file, `${file}.away`);
      writeFileSync(path, text);
    };
    begin(`${lines[0] ?? ''}\n`);
    await expect(go(START, 2)).rejects.toThrow('the log ends after event 1');
    begin('none\n');
    await expect(go(START, 1)).rejects.toThrow('the line after event 0 is not an event');
    begin(`${lines[0]?.replace('400', '200') ?? ''}\n`);
    await expect(go(START, 1)).rejects.toThrow('event 1 was changed: its hash does not match');
    begin(`${lines[0] ?? ''}\n${lines[2] ?? ''}\n`);
    await expect(go(START, 2)).rejects.toThrow('event 2 is missing');
    const other = { ...placeAt(1), hash: `sha256:${'0'.repeat(64)}`, bytes: statSync(path).size };
    appendFileSync(path, `${lines[1] ?? ''}\n`);
    await expect(go(other, 2)).rejects.toThrow(LogGapError);
  });

  it('leaves out what an owner wrote after the end of a file who had lost the log', async () => {
    const [path = '', second = ''] = logFiles(folder);
    const last = placeAt(EVENTS);
    appendFileSync(path, `${lines[Number(second.slice(-21, -6)) - 1] ?? ''}\n`);
    expect(await go(START, EVENTS)).toEqual(last);
  });
});

describe('the text of a place', () => {
  it('is read as the place that it is', () => {
    for (let size = 1; size <= EVENTS; size += 1) expect(parsePlace(placeText(placeAt(size)))).toEqual(placeAt(size));
  });

  it('is followed by how the tree has grown, of which no other tree is taken', () => {
    const growths = new Map([2, 5].map((old) => [`${String(old)}=`, makeGrowth({ ...placeAt(old).tree, old })]));
    const kept = { place: placeAt(5), grown: new Map<string, Grown>() };
    for (const line of lines.slice(2, 5)) growths.get('2=')?.push(leafHash(line));
    for (const [witness, growth] of growths) kept.grown.set(witness, growth.grown());
    const text = keptText(kept);
    expect(parseKept(text)).toEqual(kept);
    expect(parseKept(placeText(kept.place))).toEqual({ ...kept, grown: new Map() });
    const [, first = '', second = ''] = text.split('\n');
    for (const other of [first.replace('"size":2', '"size":1'), first.replace('"roots":["', '$&A'), ` ${first}`, 'x'])
      expect(parseKept(text.replace(first, other))?.grown).toEqual(new Map([['5=', kept.grown.get('5=')]]));
    expect(parseKept(text.replace(second, ''))?.grown.size).toBe(1);
    expect(parseKept(`${first}\n`)).toBeNull();
  });

  it('is nothing else', () => {
    const text = placeText(placeAt(3));
    const roots = /\[.*\]/.exec(text)?.[0] ?? '';
    expect(parsePlace(text)).not.toBeNull();
    for (const other of [
      '',
      `${JSON.stringify({ size: null, hash: '', file: null, bytes: null, roots: [] })}\n`,
      ` ${text}`,
      `${text}\n`,
      text.trim(),
      text.replace('"size":3', '"size":03'),
      text.replace('"size":3', '"size":7'),
      text.replace('"size":3', `"size":${'3'.repeat(16)}`),
      text.replace('"file":1', '"file":01'),
      text.replace('"file":1', '"file":one'),
      text.replace(/"bytes":\d+/, '"bytes":-1'),
      text.replace(/"bytes":\d+/, '"bytes":'),
      text.replace('sha256:', 'sha512:'),
      text.replace(/sha256:./, 'sha256:G'),
      text.replace(/sha256:./, 'sha256:'),
      text.replace(roots, '[]'),
      text.replace(roots, roots.replace(',', ',,')),
      text.replace(roots, roots.replace('="', '"')),
    ])
      expect([other, parsePlace(other)]).toEqual([other, null]);
  });
});
