// From texts to the integers of the table and back. A hash leads to a candidate; only the text decides whether it is the one.
import { describe, expect, it } from '@jest/globals';
import { type Identity } from '../../../engine/index.js';
import { makeMarks, scanPath } from '../../../engine/model/scan-path.js';
import { type DecisionTable, ROW } from '../../../engine/table/columns.js';
import { holdingsOf, identityOf, pathOf, placeOf, recordsOf, rowOf, TOGETHER } from '../../../engine/table/locate.js';
import { firstSlot, packIdentity, recordBits } from '../../../engine/table/slots.js';
import { policyOf } from '../oracle/worlds.js';
import { ADA, grant, load } from '../table-world.js';
import { tableOf } from './table-of.js';

const PATHS = ['/a', '/a/b', '/a/b/c', '/ab', '/ab/c', '/b', '/b/a', '/b/a/b', '/b/a/bcd', `/${'x'.repeat(63)}`];
const OTHERS = [
  '/',
  '/c',
  '/a/a',
  '/a/a/a',
  '/a/c',
  '/a/bc',
  '/a/b/c/d',
  '/ab/c/c',
  '/b/a/b/c',
  '/b/a/bce',
  `/${'x'.repeat(62)}`,
];

function tableOfPaths(): DecisionTable {
  return tableOf(
    load(
      policyOf(
        [],
        PATHS.map((path) => grant(path)),
      ),
    ),
  );
}

function rowOfText(table: DecisionTable, text: string): number {
  const marks = makeMarks();
  scanPath(text, marks);
  return rowOf(table, text, marks);
}

const parentOf = (path: string): string => path.slice(0, path.lastIndexOf('/')) || '/';
/** The nearest at or above it. */
const nearest = (path: string): string => (path === '/' || PATHS.includes(path) ? path : nearest(parentOf(path)));

describe('a path', () => {
  it('is found at its row, or below the nearest row above it', () => {
    const table = tableOfPaths();
    for (const path of [...PATHS, ...OTHERS]) {
      const row = rowOfText(table, path);
      expect([path, pathOf(table, row < 0 ? ~row : row), row >= 0]).toEqual([
        path,
        nearest(path),
        nearest(path) === path,
      ]);
      const place = table.rows[ROW.words * (row < 0 ? ~row : row) + ROW.place] ?? 0;
      const marks = makeMarks();
      scanPath(path, marks);
      expect([path, placeOf(table, path, marks)]).toEqual([path, row < 0 ? place | 1 : place]);
    }
  });

  it('is told by its text from any other whose hash is the same', () => {
    for (const path of OTHERS.slice(1)) {
      for (let row = 0; row <= PATHS.length; row += 1) {
        const table = tableOfPaths();
        const { pathSlots: slots } = table;
        const marks = makeMarks();
        marks.hashes[0] = table.starts.paths;
        scanPath(path, marks);
        const hash = marks.hashes[marks.depth] ?? 0;
        // As if the other had this hash: it stands in the first free slot that a search for the path meets.
        let slot = firstSlot(hash, slots);
        while (slots[slot] !== 0) slot = (slot + 1) % slots.length;
        slots[slot] = (hash & ~recordBits(PATHS.length + 1)) | row;
        if (slots[slot] === 0) continue;
        const found = rowOf(table, path, marks);
        expect([path, row, pathOf(table, ~found)]).toEqual([path, row, nearest(path)]);
      }
    }
  });
});

const SUBJECTS = ['a', 'b', 'ab', 'abc', 'abcd', 'x'.repeat(254), 'x'.repeat(255), '\u{1d49c}', '\u0161', 'aa'];
const STRANGERS = ['', 'ba', 'abd', 'abcc', 'b\0', `${'x'.repeat(254)}y`, 'x'.repeat(256), 'A', '\u0162'];
const identityOfSubject = (subject: string): Identity => ({ provider: 'orcid', subject });

function tableOfIdentities(): DecisionTable {
  return tableOf(
    load(
      policyOf(
        [],
        SUBJECTS.map((subject) =>
          grant('/a', { principal: { kind: 'identity', identity: identityOfSubject(subject) } }),
        ),
      ),
    ),
  );
}

describe('an identity', () => {
  const table = tableOfIdentities();
  const records = SUBJECTS.map((subject) => recordsOf(table, [identityOfSubject(subject)], 0)[0] ?? 0);

  it('is found at a record of its own, from which it is read again, with the principals that it holds', () => {
    expect(new Set(records).size).toBe(SUBJECTS.length);
    expect(records.map((record) => identityOf(table, record))).toEqual(SUBJECTS.map(identityOfSubject));
    for (const record of records) expect(table.identities[holdingsOf(table, record)]).toBe(1);
    // The empty holdings.
    expect([holdingsOf(table, 0), table.identities[0]]).toEqual([0, 0]);
  });

  it('is found among any others of an actor, from any of them on', () => {
    const all = [...SUBJECTS, ...STRANGERS, ...SUBJECTS].map(identityOfSubject);
    const expected = [...records, ...STRANGERS.map(() => 0), ...records];
    for (let from = 0; from < all.length; from += 1) {
      const found = Array.from(recordsOf(table, all, from)).slice(0, Math.min(TOGETHER, all.length - from));
      expect(found).toEqual(expected.slice(from, from + TOGETHER));
    }
  });

  it('is told by its text from any other whose hash is the same', () => {
    const words = new Int32Array(128);
    for (const identity of [
      ...STRANGERS.slice(1).map(identityOfSubject),
      ...SUBJECTS.map((subject) => ({ provider: 'github', subject })),
      { provider: 'nobody', subject: 'a' },
    ]) {
      for (const record of records) {
        const forged = tableOfIdentities();
        const { identities, identitySlots: slots, starts } = forged;
        if (identity.subject.length > 255) continue;
        const hash = packIdentity(identity, words, { at: 0, start: starts.identities });
        let slot = firstSlot(hash, slots);
        while (slots[slot] !== 0) slot = (slot + 1) % slots.length;
        slots[slot] = (hash & ~recordBits(identities.length)) | record;
        expect([identity, record, recordsOf(forged, [identity], 0)[0]]).toEqual([identity, record, 0]);
      }
    }
    expect(recordsOf(table, [ADA], 0)[0]).toBe(0);
  });
});
