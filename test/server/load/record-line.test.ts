// What a line of a dataset may contain, what it becomes, and what is reported about a wrong one.
import { describe, expect, it } from '@jest/globals';
import { makeDigestCounter, type DigestCounter } from '../../../server/load/digest-counter.js';
import { LOAD_LIMITS } from '../../../server/limits/records.js';
import { readRecordLine, type RowResult } from '../../../server/load/record-line.js';

const ID = '01900000-0000-7000-8000-00000000000a';

function read(value: unknown, count: DigestCounter = makeDigestCounter()): RowResult {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return readRecordLine({ number: 7, bytes: Buffer.from(text, 'utf8') }, { count, schemas: 'checked' });
}

function faultOf(result: RowResult): string {
  return result.ok ? 'read' : `${result.fault.code} ${result.fault.pointer}`;
}

const resource = { family: 'resource', namespace: '/a', name: 'x' };

describe('a line is read', () => {
  it.each<[string, unknown, object]>([
    [
      'of a resource',
      { ...resource, id: ID.toUpperCase(), template: ID.toUpperCase() },
      { id: ID, given: true, path: '/a/', template: ID, properties: '{}', state: null },
    ],
    [
      'of a namespace, which is named by its path',
      { family: 'namespace', namespace: 'a/b/' },
      { namespace: '/a/b', path: '/a/b/', name: '/a/b' },
    ],
    ['of a namespace that repeats its path', { family: 'namespace', namespace: '/a', name: '/a' }, { name: '/a' }],
    [
      'of a process run without a name',
      { family: 'process-run', namespace: '/a' },
      { name: null, state: 'pending', parameters: '{}', resources: '{}' },
    ],
    [
      'of a process template',
      {
        family: 'process-template',
        namespace: '/a',
        name: 'p',
        version: '1',
        schema: { type: 'object' },
        slots: [{ name: 's', template: ID }],
      },
      { slots: `[{"name":"s","template":"${ID}","required":false}]`, schema: '{"type":"object"}' },
    ],
    [
      'with nulls for what it leaves out',
      { ...resource, description: null, template: null, createdAt: null, archivedAt: null },
      { description: null, createdAt: null },
    ],
    [
      'with instants of any offset',
      { ...resource, createdAt: '2030-01-01T01:00:00+01:00' },
      { createdAt: '2030-01-01T00:00:00.000Z' },
    ],
  ])('%s', (_, value, expected) => {
    const result = read(value);
    expect(result).toMatchObject({ ok: true, row: expected });
  });

  it('with white space around it, a carriage return at its end for one', () => {
    expect(faultOf(read(` ${JSON.stringify(resource)}\r`))).toBe('read');
  });
});

describe('a line is refused', () => {
  it.each<[string, unknown, string]>([
    ['that is no JSON', '{"family":', 'request.malformed '],
    ['that is no object', '[]', 'request.schema '],
    [
      'with a key twice',
      '{"family":"resource","n\\u0061me":"x","name":"y","namespace":"/a"}',
      'request.duplicate_key /name',
    ],
    [
      'with a forbidden key',
      '{"family":"resource","namespace":"/a","name":"x","properties":{"__proto__":1}}',
      'request.forbidden_key /properties/__proto__',
    ],
    [
      'with a number that would be rounded',
      '{"family":"resource","namespace":"/a","name":"x","properties":{"n":9007199254740993}}',
      'request.malformed /properties/n',
    ],
    ['with NUL in a text', { ...resource, name: 'a\u0000' }, 'request.invalid_unicode /name'],
    [
      'nested too deeply',
      `{"family":"resource","namespace":"/a","name":"x","properties":{"a":${'['.repeat(40)}${']'.repeat(40)}}}`,
      'request.too_deep ',
    ],
    ['in capitals', { ...resource, namespace: '/Labs' }, 'namespace.invalid /namespace'],
    [
      'of a template whose schema reads another document',
      { family: 'resource-template', namespace: '/a', name: 'x', schema: { properties: { a: { $ref: 'http://x' } } } },
      'record.invalid /schema/properties/a/$ref',
    ],
    [
      'of a template whose schema is none',
      { family: 'process-template', namespace: '/a', name: 'x', schema: { type: 42 } },
      'record.invalid /schema/type',
    ],
    ['of an unknown family', { ...resource, family: 'gadget' }, 'request.schema /family'],
    ['of a family called like a thing of JavaScript', { ...resource, family: 'constructor' }, 'request.schema /family'],
    ['without namespace', { family: 'resource', name: 'x' }, 'request.schema /namespace'],
    ['of a namespace that is no path', { ...resource, namespace: '/A' }, 'namespace.invalid /namespace'],
    ['without name', { family: 'resource', namespace: '/a' }, 'request.schema /name'],
    ['with an empty name', { ...resource, name: '' }, 'request.schema /name'],
    ['with a name of too many bytes', { ...resource, name: '\u5206'.repeat(342) }, 'request.schema /name'],
    ['with an unknown field', { ...resource, colour: 'red' }, 'request.schema /colour'],
    ['with a field of another family', { ...resource, state: 'pending' }, 'request.schema /state'],
    ['with a field that only answers have', { ...resource, revision: 1 }, 'request.schema /revision'],
    ['with an id that is none', { ...resource, id: 'nope' }, 'request.schema /id'],
    ['of a namespace under another name', { family: 'namespace', namespace: '/a', name: '/b' }, 'request.schema /name'],
    ['with a day that does not exist', { ...resource, createdAt: '2030-02-30T00:00:00Z' }, 'request.schema /createdAt'],
    [
      'with an instant that becomes the year 10000',
      { ...resource, archivedAt: '9999-12-31T23:59:59-01:00' },
      'request.schema /archivedAt',
    ],
    [
      'that archives the root',
      { family: 'namespace', namespace: '/', archivedAt: '2030-01-01T00:00:00Z' },
      'request.schema /archivedAt',
    ],
    ['with an unknown state', { family: 'process-run', namespace: '/a', state: 'lost' }, 'request.schema /state'],
    [
      'with a slot that no run can fill',
      { family: 'process-template', namespace: '/a', name: 'p', slots: [{ name: 's' }, { name: 'constructor' }] },
      'request.schema /slots/1/name',
    ],
    [
      'with a slot twice',
      { family: 'process-template', namespace: '/a', name: 'p', slots: [{ name: 's' }, { name: 's' }] },
      'request.schema /slots/1/name',
    ],
    ['with properties that are a list', { ...resource, properties: [] }, 'request.schema /properties'],
  ])('%s', (_, value, expected) => {
    expect(faultOf(read(value))).toBe(expected);
  });

  it('that is not UTF-8, or too long', () => {
    const count = makeDigestCounter();
    expect(
      faultOf(readRecordLine({ number: 1, bytes: Buffer.from([0x7b, 0xff, 0x7d]) }, { count, schemas: 'checked' })),
    ).toBe('request.invalid_unicode ');
    expect(faultOf(readRecordLine({ number: 1, bytes: null }, { count, schemas: 'checked' }))).toBe(
      'request.too_large ',
    );
    expect(
      faultOf(
        readRecordLine(
          { number: 1, bytes: Buffer.alloc(LOAD_LIMITS.lineBytes + 1, 0x20) },
          { count, schemas: 'checked' },
        ),
      ),
    ).toBe('request.too_large ');
  });

  it('that grows too large when its numbers are written out', () => {
    const numbers = (count: number): string =>
      `{"family":"resource","namespace":"/a","name":"x","properties":{"n":[${Array(count).fill('5e-324').join()}]}}`;
    // 328 bytes each in the store, 7 in the line.
    const most = Math.floor(LOAD_LIMITS.recordBytes / 328) - 1;
    expect(faultOf(read(numbers(most)))).toBe('read');
    const refused = read(numbers(most + 2));
    expect(refused).toMatchObject({ fault: { code: 'request.too_large', pointer: '', line: 7 } });
    expect(JSON.stringify(refused)).toContain('when its numbers are written out');
    const nested = `${'['.repeat(20)}${Array(140_000).fill('1e-300').join()}${']'.repeat(20)}`;
    expect(faultOf(read(`{"family":"resource","namespace":"/a","name":"x","properties":{"n":${nested}}}`))).toBe(
      'request.too_large ',
    );
  });

  it.each<[string, string]>([
    ['control characters', '\\u0001'.repeat(174_000)],
    ['backslashes', '\\\\'.repeat(520_000)],
    ['characters of four bytes', '😀'.repeat(262_000)],
  ])('but not for %s, which take no more room than in the line', (_, text) => {
    const line = `{"family":"resource","namespace":"/a","name":"x","properties":{"t":"${text}"}}`;
    expect(Buffer.byteLength(line)).toBeGreaterThan(1_000_000);
    expect(faultOf(read(line))).toBe('read');
  });

  it('with its number and no value of it', () => {
    const result = read({ ...resource, description: 5, name: 'SECRET' });
    expect(result).toMatchObject({ ok: false, fault: { line: 7 } });
    expect(JSON.stringify(result)).not.toContain('SECRET');
  });
});

describe('an id that a line does not give', () => {
  const idOf = (result: RowResult): string => (result.ok ? result.row.id : 'refused');

  it('is a UUID of version 8, the same for the same lines in the same order', () => {
    const ids = (): string[] => {
      const count = makeDigestCounter();
      return [resource, resource, { ...resource, name: 'y' }, { ...resource, id: ID }, resource].map((line) =>
        idOf(read(line, count)),
      );
    };
    const first = ids();
    expect(ids()).toEqual(first);
    expect(new Set(first).size).toBe(5);
    for (const id of first.filter((each) => each !== ID)) {
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    }
  });

  it('does not depend on what the line holds besides family, namespace, name and version', () => {
    expect(idOf(read({ ...resource, properties: { a: 1 } }))).toBe(idOf(read(resource)));
    expect(idOf(read({ ...resource, namespace: '/b' }))).not.toBe(idOf(read(resource)));
  });

  it('of a namespace is one, however often it is described', () => {
    const count = makeDigestCounter();
    const line = { family: 'namespace', namespace: '/a' };
    expect(idOf(read(line, count))).toBe(idOf(read(line, count)));
  });
});

it('counts digests over many more than it begins with', () => {
  const count = makeDigestCounter();
  const digests = Array.from({ length: 5_000 }, (_, index) => {
    const digest = Buffer.alloc(8);
    digest.writeUInt32LE(index % 2, 0);
    digest.writeUInt32LE(Math.floor(index / 2) * 1024, 4);
    return digest;
  });
  expect(digests.map(count)).toEqual(digests.map(() => 0));
  expect(digests.map(count)).toEqual(digests.map(() => 1));
});
