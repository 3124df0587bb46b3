// A cursor holds the sort values of a record, which may be as large as a line of a dataset. Every `next` in an answer
// can be sent back, whatever it contains (docs/queries.md "Pages").
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { instantOf } from '../../engine/index.js';
import { loadDataset } from '../../server/load/load-dataset.js';
import { HTTP_LIMITS } from '../../server/limits/http.js';
import { QUERY_LIMITS } from '../../server/limits/queries.js';
import { LOAD_LIMITS } from '../../server/limits/records.js';
import type { DatasetText } from '../../server/load/record-line.js';
import { call, openGateway, type TestGateway } from '../support/gateway.js';

let open: TestGateway;
let key: string;

/** Four texts in order, each about as long as a line lets it be. */
const TEXTS: Readonly<Record<string, readonly string[]>> = {
  letters: ['a', 'b', 'c', 'd'].map((last) => 'x'.repeat(900_000) + last),
  // Six bytes each in a line, and one in a cursor.
  controls: ['a', 'b', 'c', 'd'].map((last) => '\u0001'.repeat(170_000) + last),
  quotes: ['a', 'b', 'c', 'd'].map((last) => '"\\'.repeat(255_000) + last),
  signs: ['a', 'b', 'c', 'd'].map((last) => '\u{1f52c}\ufeff'.repeat(145_000) + last),
};

beforeAll(async () => {
  open = await openGateway();
  key = (await open.key()).text;
  const lines = Object.entries(TEXTS).flatMap(([kind, texts]) =>
    texts.map((t, index) => ({
      family: 'resource',
      namespace: `/${kind}`,
      name: `${kind}-${String(index)}`,
      properties: { t },
    })),
  );
  const bytes = lines.map((line) => Buffer.from(JSON.stringify(line)));
  expect(Math.max(...bytes.map(({ length }) => length))).toBeLessThanOrEqual(LOAD_LIMITS.lineBytes);
  const report = await loadDataset(open.db, asLines(bytes), { onConflict: 'report', now: instantOf(0) });
  expect(report).toMatchObject({ faults: [] });
});

afterAll(async () => {
  await open.dispose();
});

async function* asLines(lines: readonly Buffer[]): AsyncGenerator<readonly DatasetText[]> {
  yield await Promise.resolve(lines.map((bytes, index) => ({ number: index + 1, bytes })));
}

/** The names on all pages of one record each, and the length of the longest cursor on the way. */
async function namesOf(body: object): Promise<{ readonly names: readonly unknown[]; readonly longest: number }> {
  const names: unknown[] = [];
  let longest = 0;
  let after: string | null = null;
  do {
    const reply = await call(open.port, { key, body: { ...body, page: { size: 1, after } } });
    expect(reply.status).toBe(200);
    const { items, page } = reply.json as {
      readonly items: readonly { readonly name: string }[];
      readonly page: { readonly next: string | null };
    };
    names.push(...items.map(({ name }) => name));
    longest = Math.max(longest, page.next?.length ?? 0);
    after = page.next;
  } while (after !== null && names.length < 10);
  return { names, longest };
}

describe('records ordered by long texts', () => {
  test.each(Object.keys(TEXTS))('of %s are paged through to the end', async (kind) => {
    const query = { family: 'resource', namespace: `/${kind}`, reach: 'exact', select: ['name'] };
    const expected = [0, 1, 2, 3].map((index) => `${kind}-${String(index)}`);
    const up = await namesOf({ ...query, orderBy: [{ 'properties.t': 'asc' }] });
    expect(up.names).toEqual(expected);
    const bytes = Buffer.byteLength(TEXTS[kind]?.[0] ?? '');
    expect(up.longest).toBeLessThan(Math.ceil(((bytes + 100) * 4) / 3));
  });

  it('are so from the last to the first', async () => {
    const query = { family: 'resource', namespace: '/letters', reach: 'exact', select: ['name'] };
    const { names } = await namesOf({ ...query, orderBy: [{ 'properties.t': 'desc' }] });
    expect(names).toEqual([3, 2, 1, 0].map((index) => `letters-${String(index)}`));
  });

  it('are so by the largest query that a first page answers', async () => {
    const query = (fill: string): object => ({
      ...{ family: 'resource', namespace: '/letters', reach: 'exact', select: ['name'] },
      ...{ where: { name: { ne: fill } }, orderBy: [{ 'properties.t': 'asc' }] },
    });
    const first = JSON.stringify({ ...query(''), page: { size: 1, after: null } }).length;
    const largest = query('n'.repeat(HTTP_LIMITS.bodyBytes - first));
    expect((await namesOf(largest)).names).toHaveLength(4);
    const larger = { ...query('n'.repeat(HTTP_LIMITS.bodyBytes - first + 1)), page: { size: 1, after: null } };
    expect((await call(open.port, { key, body: larger })).json).toMatchObject({ code: 'request.too_large' });
  });
});

it('the limits leave room for the largest cursor that there can be', () => {
  // The texts of a place are parts of one record; whatever else a key adds has less than a KiB.
  const position = LOAD_LIMITS.lineBytes + (QUERY_LIMITS.orderKeys + 1) * 1_024;
  const sealed = 1 + 12 + position + 16;
  expect(Math.ceil((sealed * 4) / 3)).toBeLessThanOrEqual(HTTP_LIMITS.cursorCharacters);
});
