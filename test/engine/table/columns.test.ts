// The layout of the table: every column has its own bytes of the one buffer, aligned, and no byte is left over.
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { GRANT, layOut, ROW, type TableColumns, type TableSizes } from '../../../engine/table/columns.js';
import { testRuns } from '../../support/test-runs.js';

const NAMES = [
  ...['rows', 'nodes', 'segmentBytes', 'pathSlots', 'identityWords', 'identitySlots', 'principals', 'runWords'],
  ...['runUpper', 'listUpper', 'setWords', 'grants', 'windows', 'pairs', 'idBytes'],
] as const;

const anySizes = fc
  .array(fc.nat(7), { minLength: NAMES.length, maxLength: NAMES.length })
  .map((lengths) => Object.fromEntries(NAMES.map((name, i) => [name, lengths[i] ?? 0])) as unknown as TableSizes);

const columnsOf = (columns: TableColumns): readonly TableColumns[keyof TableColumns][] =>
  Object.values<TableColumns[keyof TableColumns]>({ ...columns });

it('gives every column its own bytes of the buffer, aligned, and leaves none over', () => {
  fc.assert(
    fc.property(anySizes, (sizes) => {
      const { bytes } = layOut(sizes, null);
      const buffer = new ArrayBuffer(bytes);
      const { columns, bytes: again } = layOut(sizes, buffer);
      expect(again).toBe(bytes);
      let end = 0;
      for (const column of columnsOf(columns).toSorted((a, b) => a.byteOffset - b.byteOffset || a.length - b.length)) {
        expect(column.buffer).toBe(buffer);
        expect(column.byteOffset).toBe(end);
        end += column.byteLength;
      }
      expect(end).toBe(bytes);
    }),
    testRuns({ usual: 100, deep: 2000 }),
  );
});

it('gives a column as many entries as its rows have', () => {
  fc.assert(
    fc.property(anySizes, (sizes) => {
      const { columns } = layOut(sizes, new ArrayBuffer(layOut(sizes, null).bytes));
      const lengths = Object.fromEntries(Object.entries(columns).map(([name, { length }]) => [name, length]));
      const { rows, nodes, grants, windows, pairs, principals } = sizes;
      expect(lengths).toEqual({
        ...{ windowFrom: windows, windowUntil: windows, windowGrant: windows },
        ...{ pathSlots: sizes.pathSlots, rows: ROW.words * rows, nodeRow: nodes },
        ...{ identitySlots: sizes.identitySlots, identities: sizes.identityWords },
        ...{ exclusiveFirst: pairs, exclusiveSecond: pairs, runStart: principals, runs: sizes.runWords },
        ...{ listNode: grants, list: GRANT.words * grants, grantFile: grants, grantLine: grants, idStart: grants + 1 },
        ...{ sets: sizes.setWords, runUpper: sizes.runUpper, listUpper: sizes.listUpper },
        ...{ idBytes: sizes.idBytes, segmentBytes: sizes.segmentBytes },
      });
    }),
    testRuns({ usual: 100, deep: 2000 }),
  );
});

it('is counted without memory', () => {
  const sizes = Object.fromEntries(NAMES.map((name) => [name, 2 ** 40])) as unknown as TableSizes;
  const { columns, bytes } = layOut(sizes, null);
  expect(bytes).toBeGreaterThan(2 ** 40);
  expect(columnsOf(columns).every(({ byteLength }) => byteLength === 0)).toBe(true);
});
