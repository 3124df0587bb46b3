// What counts as a line of a log, and what does not; and what is said of lines that do not follow one another.
import { hash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { BEGINNING, type Head, link, readLine } from '../../../server/audit/chain.js';
import { type ChainCheck, checkChain, type Fault } from '../../../server/audit/check-chain.js';
import { canonicalJson } from '../../../server/json/canonical-json.js';
import { eventOf } from '../../support/audit-log.js';

const LOG = 'thelog';
const digestOf = (text: string): string => `sha256:${hash('sha256', text)}`;

const DEEP = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;

/** A line as an event would be written, with other members, or without some. */
function lineOf(members: Readonly<Record<string, unknown>> = {}): string {
  const body = { access: null, log: LOG, previous: BEGINNING.hash, seq: 1, time: '', ...members };
  return canonicalJson({ hash: digestOf(canonicalJson(body)), ...body });
}

describe('the beginning of a log', () => {
  it('is before the first event, and nobody can move it', () => {
    expect(BEGINNING).toEqual({ seq: 0, hash: `sha256:${'0'.repeat(64)}` });
    expect(Object.isFrozen(BEGINNING)).toBe(true);
  });
});

describe('a line', () => {
  it('names the event before it, its own number and its hash, in the order of names', () => {
    const previous = { seq: 7, hash: digestOf('seven') };
    const { line, head } = link(eventOf(1), LOG, previous);
    const { hash: stated, ...rest } = JSON.parse(line) as Record<string, unknown>;
    expect(rest).toMatchObject({ id: 'event1', log: LOG, previous: previous.hash, seq: 8 });
    expect(line).toBe(canonicalJson({ ...rest, hash: stated }));
    expect(head).toEqual({ seq: 8, hash: digestOf(canonicalJson(rest)) });
    expect(stated).toBe(head.hash);
  });

  it('is read with what the chain depends on, and as a value', () => {
    const line = lineOf();
    const { hash: stated } = JSON.parse(line) as { readonly hash: string };
    expect(readLine(line)).toEqual({
      ...{ seq: 1, log: LOG, previous: BEGINNING.hash, hash: stated, digest: stated },
      value: JSON.parse(line) as object,
    });
    const changed = line.replace('"time":""', '"time":"now"');
    const read = readLine(changed);
    expect(read?.hash).toBe(stated);
    expect(read?.digest).toBe(digestOf(changed.replace(`"hash":"${stated}",`, '')));
    expect(read?.digest).not.toBe(stated);
  });

  it('may hold names and lists that sort otherwise as numbers, and a name that is empty', () => {
    expect(readLine(lineOf({ grants: Array.from({ length: 12 }, (_, i) => `g${String(i)}`) }))).not.toBeNull();
    expect(readLine(lineOf({ '': { '': 1 }, lists: [[2, 1], [{ a: 1, b: { c: null } }]] }))).not.toBeNull();
  });

  it.each<readonly [string, string]>([
    ['nothing', ''],
    ['no JSON', '{"access":'],
    ['a list', '[1]'],
    ['null', 'null'],
    ['a number', '1'],
    ['a space', lineOf().replace('"log":', '"log": ')],
    ['a line end at its end', `${lineOf()}\n`],
    ['a member twice', lineOf().replace('"log":', '"log":"x","log":')],
    ['another escape', lineOf().replace(LOG, '\\u0074helog')],
    ['members in another order', JSON.stringify({ time: '', ...(JSON.parse(lineOf()) as object) })],
    ['members in another order within one', lineOf({ actor: 0 }).replace('"actor":0', '"actor":{"b":1,"a":1}')],
    ['members in another order within a list', lineOf({ lost: 0 }).replace('"lost":0', '"lost":[1,{"b":1,"a":1}]')],
    ['no number', lineOf().replace('"seq":1,', '')],
    ['a number as a text', lineOf({ seq: '1' })],
    ['a number before the first', lineOf({ seq: 0 })],
    ['half a number', lineOf({ seq: 1.5 })],
    ['a number that is not exact', lineOf({ seq: 2 ** 53 })],
    ['no log', lineOf({ log: 1 })],
    ['no hash before it', lineOf({ previous: null })],
    ['no hash', lineOf({ hash: 1 })],
    ['more levels than can be written again', lineOf({ deep: 0 }).replace('"deep":0', `"deep":${DEEP}`)],
  ])('is none with %s', (_, text) => {
    expect(readLine(text)).toBeNull();
  });
});

/** What is reported where a check takes these steps. */
function faultsOf(act: (check: ChainCheck) => void, after: Head = BEGINNING): readonly Omit<Fault, 'log'>[] {
  const faults: Fault[] = [];
  act(checkChain(LOG, { report: (fault) => faults.push(fault), after }));
  expect(faults.map(({ log }) => log)).toEqual(faults.map(() => LOG));
  return faults.map(({ log: _, ...fault }) => fault);
}

/** So many lines that follow one another. */
function chainOf(count: number, log = LOG): readonly string[] {
  let head = BEGINNING;
  return Array.from({ length: count }, (_, i) => {
    const linked = link(eventOf(i + 1), log, head);
    head = linked.head;
    return linked.line;
  });
}

describe('lines of a log', () => {
  const lines = chainOf(6);
  const [one = '', two = '', three = '', four = '', five = ''] = lines;
  const taking =
    (...texts: readonly (string | null)[]) =>
    (check: ChainCheck): void => {
      for (const text of texts) check.line(text);
    };

  it('are fine where each follows the one before, and the last is the head', () => {
    const heads: (Head | null)[] = [];
    const faults = faultsOf((check) => {
      heads.push(check.head());
      for (const line of lines) {
        expect(check.line(line)).toEqual(readLine(line));
        heads.push(check.head());
      }
    });
    expect(faults).toEqual([]);
    expect(heads).toEqual([null, ...lines.map((line, i) => ({ seq: i + 1, hash: readLine(line)?.hash }))]);
  });

  it('follow the event that the log goes on after', () => {
    const head = { seq: 2, hash: readLine(two)?.hash ?? '' };
    expect(faultsOf(taking(three, four), head)).toEqual([]);
    const text = 'event 3 does not follow the event before it: one of them was replaced';
    expect(faultsOf(taking(three, four), { seq: 2, hash: 'other' })).toEqual([{ seq: 3, kind: 'broken', text }]);
  });

  it('are each found that was changed, and the one after it', () => {
    const changed = two.replace('"status":400', '"status":200');
    expect(faultsOf(taking(one, changed, three))).toEqual([
      { seq: 2, kind: 'edited', text: 'event 2 was changed: its hash does not match' },
      { seq: 3, kind: 'broken', text: 'event 3 does not follow the event before it: one of them was replaced' },
    ]);
  });

  it('are missed by their numbers', () => {
    expect(faultsOf(taking(one, three, four))).toEqual([{ seq: 2, kind: 'missing', text: 'event 2 is missing' }]);
    expect(faultsOf(taking(one, four, five))).toEqual([{ seq: 2, kind: 'missing', text: 'events 2 to 3 are missing' }]);
  });

  it('are found twice, and out of order', () => {
    expect(faultsOf(taking(one, two, two, three))).toEqual([
      { seq: 2, kind: 'order', text: 'event 2 comes after event 2' },
    ]);
    expect(faultsOf(taking(one, two, one))).toEqual([{ seq: 1, kind: 'order', text: 'event 1 comes after event 2' }]);
  });

  it('belong to one log', () => {
    const foreign = chainOf(1, 'another');
    expect(faultsOf(taking(...foreign))).toEqual([{ seq: 1, kind: 'foreign', text: 'event 1 belongs to another log' }]);
  });

  it('take the place of one event where they are none, or are too long', () => {
    for (const text of ['no line', null]) {
      const faults = faultsOf((check) => {
        check.line(one);
        expect(check.line(text)).toBeNull();
        check.line(three);
        expect(check.head()).toEqual({ seq: 3, hash: readLine(three)?.hash });
      });
      expect(faults).toEqual([{ seq: 2, kind: 'malformed', text: 'the line after event 1 is not an event' }]);
    }
  });

  it('may be elsewhere, and nothing is said of what follows them', () => {
    const faults = faultsOf((check) => {
      check.skip(4);
      check.line(five);
      expect(check.head()?.seq).toBe(5);
    });
    expect(faults).toEqual([]);
    const early = (check: ChainCheck): void => {
      check.skip(2);
      check.line(four);
    };
    expect(faultsOf(early)).toEqual([{ seq: 3, kind: 'missing', text: 'event 3 is missing' }]);
  });

  it('end in the middle', () => {
    const faults = faultsOf((check) => {
      check.line(one);
      check.torn('a.jsonl', 17);
    });
    const text = 'a.jsonl ends with an incomplete line (17 bytes)';
    expect(faults).toEqual([{ seq: 2, kind: 'torn', text }]);
  });
});

describe('lines after the end of a file', () => {
  const [one = '', two = '', three = ''] = chainOf(3);
  const [other = ''] = chainOf(1, 'another');

  it('are those of an owner that had lost the log, if the next file goes on without them', () => {
    const late = (count: number) =>
      faultsOf((check) => {
        check.begin(2);
        check.line(one);
        for (let n = 0; n < count; n += 1) expect(check.isLate(two)).toBe(true);
        check.begin(null);
        check.line(two);
        check.begin(null);
      });
    const of = (what: string): string =>
      `${what} written by an owner that had lost the log: no event of the log is lost or changed`;
    expect(late(0)).toEqual([]);
    expect(late(1)).toEqual([{ seq: 2, kind: 'late', text: of('a line after event 1 was') }]);
    expect(late(2)).toEqual([{ seq: 2, kind: 'late', text: of('2 lines after event 1 were') }]);
  });

  it('are none of them before the end, in the last file, or if no owner wrote them', () => {
    const faults = faultsOf((check) => {
      check.begin(3);
      check.line(one);
      expect(check.isLate(two)).toBe(false);
      check.line(two);
      expect(check.isLate(three)).toBe(true);
      const edited = three.replace('"status":400', '"status":200');
      expect([edited, other, 'no line', null].map(check.isLate)).toEqual([false, false, false, false]);
      check.begin(null);
      expect(check.isLate(three)).toBe(false);
      check.begin(null);
    });
    // The one that is late, and not those beside it.
    expect(faults).toMatchObject([{ seq: 3, kind: 'late', text: expect.stringMatching(/^a line after event 2 was /) }]);
  });
});
