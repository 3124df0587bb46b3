// What a search finds in a log, and what it says that the log does not tell.
import { appendFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { instantOf } from '../../../engine/index.js';
import { BEGINNING, link } from '../../../server/audit/chain.js';
import { askedOf, type EventParts, queryAsked } from '../../../server/audit/event.js';
import { readStored, type Search, searchLogs, type SearchReport } from '../../../server/audit/search.js';
import { eventOf, LOG, logFiles, logOf, readLines, writeLog, writerOf } from '../../support/audit-log.js';
import { pathOf } from '../../support/gateway.js';
import { makeFolder } from '../../support/temp-folder.js';

const LENS = '0190c0de-0000-7000-8000-000000000001';
const OTHER = '0190c0de-0000-7000-8000-000000000002';
const X = pathOf('/labs/x');
const query: Partial<EventParts> = {
  ...{ kind: 'query', operation: 'resource.query', outcome: 'allowed' },
  access: queryAsked({ family: 'resource', context: X, reach: 'exact' }),
};
const read: Partial<EventParts> = {
  ...query,
  access: askedOf({ kind: 'access', scope: 'resource:read', context: X, target: X }),
};
const copy: Partial<EventParts> = { ...read, kind: 'command', operation: 'resource.copy', records: [OTHER] };

type Found = SearchReport & {
  readonly seqs: readonly (readonly [seq: number, shown?: string, fault?: string | null])[];
};

async function search(folder: string, asked: Search): Promise<Found> {
  const seqs: [number, string?, (string | null)?][] = [];
  const report = await searchLogs(folder, asked, (found) => {
    expect(found.length).toBeGreaterThan(0);
    for (const { event, shown, fault } of found)
      seqs.push([event.seq, ...(shown === undefined && fault === null ? [] : [shown, fault])] as [number]);
    return Promise.resolve();
  });
  return { ...report, seqs };
}

async function written(...events: readonly Partial<EventParts>[]): Promise<string> {
  const folder = await makeFolder();
  const writer = writerOf(folder);
  for (const [n, parts] of events.entries()) writer.add(eventOf(n + 1, parts));
  await writer.close();
  return folder;
}

describe('a search for a record', () => {
  it('finds who named it, and counts what does not say which records it showed', async () => {
    const folder = await written(
      { ...read, records: [LENS] },
      { ...read, records: [OTHER] },
      query,
      { ...query, operation: 'resource.count' },
      { ...query, operation: 'resource.aggregate' },
      { ...query, items: 0 },
      { ...query, outcome: 'failed' },
      { ...query, kind: 'refusal' },
      { ...query, records: [OTHER] },
      { ...query, subject: { identities: [], credentialScopes: [], namespaceRestrictions: null } },
      read,
      { ...query, access: undefined as never },
      copy,
      { ...copy, records: [OTHER, LENS] },
      { ...copy, kind: 'refusal' },
      { ...copy, operation: 'resource.create' },
    );
    const found = await search(folder, { record: LENS.toUpperCase() });
    expect(found.seqs).toEqual([[1], [14]]);
    expect(found).toMatchObject({ events: 16, found: 2, malformed: 0, unverified: 0 });
    expect(found.unrecorded).toEqual({ lists: 2, counts: 2, silences: [], begins: [] });
    expect((await search(folder, {})).unrecorded).toMatchObject({ lists: 0, counts: 0 });
    expect((await search(folder, { record: LENS, kinds: ['command'] })).unrecorded).toMatchObject({
      lists: 1,
      counts: 0,
    });
  });

  it('finds what showed it, or may have, and says where nobody can tell', async () => {
    const listed = [{ ids: [LENS] }, { ids: [OTHER] }, { count: 3 }, { count: 1, set: '*' }];
    const lines = readLines(await written(...listed.map(() => query)));
    const folder = await logOf(
      lines.map((line, n) => line.replace('"operation"', `"listed":${JSON.stringify(listed[n])},$&`)),
    );
    const found = await search(folder, { record: LENS });
    expect(found.seqs).toEqual([
      [1, 'yes', 'edited'],
      [4, 'maybe', 'edited'],
    ]);
    const { line } = link({ ...eventOf(1), listed: { count: 1, set: '*' } }, LOG, BEGINNING);
    expect((await search(await logOf([line]), { record: LENS })).seqs).toEqual([[1, 'maybe', 'unreadable']]);
    expect([found.unverified, found.unrecorded]).toEqual([2, { lists: 1, counts: 0, silences: [], begins: [] }]);
  });
});

describe('a search', () => {
  it('matches a request, and the time from an instant on and before another', async () => {
    const { folder } = await writeLog(5);
    const seqsOf = async (asked: Search): Promise<readonly number[]> =>
      (await search(folder, asked)).seqs.map(([seq]) => seq);
    expect(await seqsOf({ request: 'request3' })).toEqual([3]);
    expect(await seqsOf({ since: instantOf(2_000), until: instantOf(4_000) })).toEqual([2, 3]);
    expect(await seqsOf({ namespace: pathOf('/') })).toEqual([]);
  });

  it('says which lines do not verify, and which log begins elsewhere', async () => {
    const lines = readLines((await writeLog(6)).folder);
    const folder = await logOf(['none', ...lines.slice(1).toSpliced(2, 1)]);
    appendFileSync(logFiles(folder)[0] ?? '', '{"half');
    const found = await search(folder, {});
    expect(found.seqs).toEqual([[2], [3], [5, undefined, 'broken'], [6]]);
    expect(found).toMatchObject({ events: 4, found: 4, malformed: 2, unverified: 1 });
    expect(found.unrecorded.begins).toEqual([{ log: LOG, seq: 2 }]);
    expect((await search((await writeLog(3)).folder, {})).unrecorded.begins).toEqual([]);
  });

  it('says of a line that fits in no place, or in another one, that it does not follow', async () => {
    const { line, head } = link(eventOf(1), LOG, BEGINNING);
    const faultsOf = async (...lines: readonly string[]): Promise<unknown> =>
      (await search(await logOf(lines), {})).seqs.map(([, , fault = null]) => fault);
    expect(await faultsOf(line, link(eventOf(2), LOG, head).line)).toEqual([null, null]);
    expect(await faultsOf(line, link(eventOf(2), LOG, { ...head, seq: 5 }).line)).toEqual([null, 'broken']);
    expect(await faultsOf(line, link(eventOf(2), LOG, { ...head, hash: BEGINNING.hash }).line)).toEqual([
      null,
      'broken',
    ]);
    expect(await faultsOf(link(eventOf(1), 'other', BEGINNING).line)).toEqual(['broken']);
  });

  it('finds by a namespace whose scopes an answer listed, and nothing by a time that is none', async () => {
    const listing = { namespace: X, scopes: [] };
    const folder = await written({ held: listing, operation: 'permissions' }, { operation: 'permissions' });
    expect((await search(folder, { namespace: pathOf('/labs') })).seqs).toEqual([[1]]);
    const { line } = link({ ...eventOf(1), time: 'yesterday' }, LOG, BEGINNING);
    for (const asked of [{ until: instantOf(9_000) }, { since: instantOf(-9_000) }])
      expect((await search(await logOf([line]), asked)).seqs).toEqual([]);
  });

  it('says of a line whether it is an event', async () => {
    const [line = ''] = readLines((await writeLog(1)).folder);
    expect(readStored(line)).toMatchObject({ seq: 1, log: LOG });
    for (const text of ['', '{', 'null', '{}', line.replace('"seq"', '"sequence"')])
      expect(readStored(text)).toBeNull();
  });
});
