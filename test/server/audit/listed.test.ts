// The records that an answer showed, as events hold them: sets never leave one out, err as seldom as docs/audit.md says, and have one
// encoding. An encoder made of a string of bits, and the program in docs/audit.md, say the same.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { decodeGaps, encodeGaps } from '../../../server/audit/golomb-set.js';
import { type Listed, listedFault, listedOf, SET_ODDS, showsRecord } from '../../../server/audit/listed.js';
import { prepareEvent, sealEvent } from '../../../server/audit/prepare-event.js';
import { AUDIT_LIMITS } from '../../../server/limits/logs.js';
import { fromRoot } from '../../support/root.js';

const EVENT = 'Zm9vYmFyYmF6cXV4';
const idOf = (n: number): string => `0190c0de-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;
const idsOf = (count: number, from = 0): readonly string[] => Array.from({ length: count }, (_, i) => idOf(from + i));

/** As the page says it, and as slow as that is. */
function slowSet(event: string, ids: readonly string[]): string {
  const numbers = ids
    .map((id) => {
      const first = createHash('sha256').update(`${event}\n${id}`).digest().readBigUInt64BE();
      return (first * BigInt(ids.length) * 10_000_000n) >> 64n;
    })
    .sort((a, b) => Number(a - b));
  const bits = numbers
    .map((number, i) => number - (numbers[i - 1] ?? 0n))
    .map((gap) => `${'1'.repeat(Number(gap / 8_388_608n))}0${(gap % 8_388_608n).toString(2).padStart(23, '0')}`)
    .join('');
  const bytes = bits.match(/.{1,8}/g) ?? [];
  return Buffer.from(bytes.map((byte) => Number.parseInt(byte.padEnd(8, '0'), 2))).toString('base64url');
}

const idList = fc.uniqueArray(fc.uuid(), { minLength: 1, maxLength: 300, size: 'max' });

describe('a list of records', () => {
  it('names up to 16 in full, more as a set, and all with `ids`', () => {
    expect(listedOf(EVENT, '', 'set')).toEqual({ ids: [] });
    expect([{ ids: [] }, { count: 7 }].map((listed) => showsRecord(EVENT, listed, idOf(1)).kind)).toEqual([
      'no',
      'unrecorded',
    ]);
    const few = idsOf(AUDIT_LIMITS.listedPlain);
    expect(AUDIT_LIMITS.listedPlain).toBe(16);
    expect(listedOf(EVENT, [...few].reverse().join(','), 'set')).toEqual({ ids: few });
    expect(listedOf(EVENT, idsOf(17).join(','), 'set')).toEqual({ count: 17, set: slowSet(EVENT, idsOf(17)) });
    expect(listedOf(EVENT, idsOf(500).join(','), 'ids')).toEqual({ ids: idsOf(500) });
    expect(listedOf(EVENT, idsOf(1_001).join(','), 'ids')).toMatchObject({ count: 1_001, set: expect.any(String) });
    expect(listedOf(EVENT, idsOf(500).join(','), 'none')).toEqual({ count: 500 });
  });

  it('is the set of the page, and holds each of its records', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'grapheme-ascii' }), idList, (event, ids) => {
        const listed = listedOf(event, ids.join(','), 'set');
        if (ids.length <= 16) expect(listed).toEqual({ ids: [...ids].sort() });
        else expect(listed).toEqual({ count: ids.length, set: slowSet(event, ids) });
        expect(ids.map((id) => showsRecord(event, listed, id).kind)).toEqual(
          ids.map(() => (ids.length <= 16 ? 'yes' : 'maybe')),
        );
        expect(listedFault(listed)).toBeNull();
      }),
    );
  });

  it('takes about 3.1 bytes for a record', () => {
    const listed = listedOf(EVENT, idsOf(500).join(','), 'set');
    expect('set' in listed && listed.set.length).toBeLessThan(2_150);
    expect('set' in listed && listed.set.length).toBeGreaterThan(2_000);
  });

  it('holds others as seldom as it says: a range of ten million numbers for each record, evenly filled', () => {
    // At the real odds nothing would be seen in a test. The range of a set is `count` times the odds, and a record errs if its
    // number meets one of `count`: so what is checked is that numbers of others are even over the range.
    const ids = idsOf(200);
    const listed = listedOf(EVENT, ids.join(','), 'set');
    const others = idsOf(200_000, 1_000_000);
    expect(others.filter((id) => showsRecord(EVENT, listed, id).kind === 'maybe').length).toBeLessThanOrEqual(2);
    const tenths = new Array<number>(10).fill(0);
    for (const id of others.slice(0, 50_000)) {
      const one = listedOf(id, `${idsOf(16).join(',')},${id}`, 'set');
      if (!('set' in one)) throw new Error('no set');
      const read = decodeGaps(Buffer.from(one.set, 'base64url'), { count: 17, bound: 17 * SET_ODDS });
      if (!read.ok) throw new Error(read.fault);
      const tenth = Math.floor(((read.numbers[8] ?? 0) / (17 * SET_ODDS)) * 10);
      tenths[tenth] = (tenths[tenth] ?? 0) + 1;
      if (tenths.reduce((a, b) => a + b) >= 2_000) break;
    }
    // The ninth of 17 is the middle.
    expect((tenths[4] ?? 0) + (tenths[5] ?? 0)).toBeGreaterThan(1_000);
  });

  it('has one encoding: nothing else is read, and the fault says where', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(40_000_000), { maxLength: 40 }), (numbers) => {
        const sorted = [...numbers].sort((a, b) => a - b);
        const bytes = encodeGaps(sorted);
        const asked = { count: sorted.length, bound: 40_000_001 };
        expect(decodeGaps(bytes, asked)).toEqual({ ok: true, numbers: sorted });
        expect(decodeGaps(Buffer.concat([bytes, Buffer.of(0)]), asked).ok).toBe(false);
        if (bytes.length > 0) expect(decodeGaps(bytes.subarray(0, -1), asked).ok).toBe(false);
      }),
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 24 }), fc.integer({ min: 0, max: 6 }), (bytes, count) => {
        const read = decodeGaps(bytes, { count, bound: 60_000_000 });
        if (read.ok) expect(Buffer.compare(encodeGaps(read.numbers), bytes)).toBe(0);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each<readonly [string, Listed, string]>([
    ['another character', { count: 1, set: 'AA*A' }, '`listed.set` has a character that is not base64url: character 3'],
    [
      'another character first',
      { count: 1, set: '*AAA' },
      '`listed.set` has a character that is not base64url: character 1',
    ],
    ['half a byte', { count: 1, set: 'AAAAB' }, '`listed.set` is not whole bytes: character 5'],
    ['too few bytes', { count: 2, set: 'AAAA' }, '`listed.set` ends before 2 numbers: bit 24'],
    ['an end within a number', { count: 1, set: '____' }, '`listed.set` ends within number 1 of 1: bit 24'],
    ['a number beyond its range', { count: 1, set: 'wAAAAAAA' }, '`listed.set` number 1 is beyond the range: bit 0'],
    ['bits behind the last', { count: 1, set: 'AAAAAA' }, '`listed.set` continues after the last number: bit 24'],
    [
      'a count that was made up',
      { count: 4_000_000_000, set: 'AAAA' },
      '`listed.set` ends before 4000000000 numbers: bit 24',
    ],
  ])('finds %s', (_, listed, fault) => {
    expect(listedFault(listed)).toBe(fault);
    expect(showsRecord(EVENT, listed, idOf(1))).toEqual({ kind: 'unreadable', fault });
  });

  it('takes ids alone, and becomes a set at once where many events wait', () => {
    const parts = {
      ...({
        id: EVENT,
        at: 0,
        kind: 'query',
        requestId: 'r',
        operation: 'resource.query',
        outcome: 'allowed',
      } as const),
      actor: {
        id: 'a',
        kind: 'key',
        fingerprint: null,
        identities: [],
        credentialScopes: [],
        namespaceRestrictions: null,
      } as const,
    };
    const asked = { ...parts, at: parts.at as never };
    const prepared = prepareEvent({ ...asked, shown: idsOf(20).join(',') }, 'ids');
    expect(sealEvent(prepared).listed).toEqual({ ids: idsOf(20) });
    expect(sealEvent(prepared, 'small').listed).toMatchObject({ count: 20, set: expect.any(String) });
    expect(sealEvent(prepareEvent({ ...asked, shown: idsOf(20).join(',') }, 'none'), 'small').listed).toEqual({
      count: 20,
    });
    const plain = prepareEvent(asked, 'ids');
    expect(sealEvent(plain)).toBe(plain);
    expect(() => prepareEvent({ ...asked, shown: 'a name' }, 'set')).toThrow('takes no text of this form');
  });
});

describe('docs/audit.md', () => {
  const page = readFileSync(fromRoot('docs/audit.md'), 'utf8');
  const example = idsOf(3, 10);

  it('has the example to the bit', () => {
    const numbers = decodeGaps(Buffer.from('L1w1TJo2oy45gA', 'base64url'), { count: 3, bound: 3 * SET_ODDS });
    expect(numbers).toEqual({ ok: true, numbers: [3_103_797, 8_124_011, 21_123_806] });
    expect(slowSet(EVENT, example)).toBe('L1w1TJo2oy45gA');
    expect(page).toContain('3103797, 8124011 and 21123806');
    expect(page).toContain('`"listed":{"count":3,"set":"L1w1TJo2oy45gA"}`');
  });
});
