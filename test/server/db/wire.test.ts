// The front's reading of the protocol: whole messages out of any chunks, statement names, statements that one backend
// for many clients cannot run as they are.
import { describe, expect, it, test } from '@jest/globals';
import fc from 'fast-check';
import { classify } from '../../../server/db/embedded/statements.js';
import {
  FrameReader,
  ProtocolError,
  TYPE,
  errorFields,
  errorFrame,
  frame,
  framesOf,
  queryFrame,
  statementName,
  withStatementPrefix,
} from '../../../server/db/embedded/wire.js';
import { stopCpu } from '../../support/cpu-time.js';

function startup(): Buffer {
  const message = Buffer.alloc(8);
  message.writeInt32BE(8, 0);
  message.writeInt32BE(196_608, 4);
  return message;
}

describe('FrameReader', () => {
  it('gives back the messages of any stream, however it is cut', () => {
    const bodies = fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 12 });
    fc.assert(
      fc.property(bodies, fc.array(fc.integer({ min: 1, max: 17 }), { minLength: 1, maxLength: 9 }), (parts, cuts) => {
        const messages = [startup(), ...parts.map((body) => frame(TYPE.query, body))];
        const stream = Buffer.concat(messages);
        const reader = new FrameReader();
        const read: Buffer[] = [];
        for (let at = 0, turn = 0; at < stream.length; turn += 1) {
          const size = cuts[turn % cuts.length] ?? 1;
          for (const message of reader.push(stream.subarray(at, at + size))) {
            if (read.length === 0) reader.startupDone();
            read.push(message);
          }
          at += size;
        }
        expect(read).toEqual(messages);
      }),
    );
  });

  it('joins a large message once, not once per chunk', () => {
    const reader = new FrameReader();
    for (const message of reader.push(startup())) expect(message).toHaveLength(8);
    reader.startupDone();
    const large = frame(TYPE.copyData, Buffer.alloc(64 * 1024 * 1024));
    const cpu = stopCpu();
    let read = 0;
    for (let at = 0; at < large.length; at += 16_384)
      for (const message of reader.push(large.subarray(at, at + 16_384))) read += message.length;
    expect(read).toBe(large.length);
    expect(cpu()).toBeLessThan(2_000); // joined per chunk these would be 128 GiB
  });

  test.each([
    ['a negative length', [-5]],
    ['a length that leaves out itself', [3]],
    ['a startup of a megabyte', [1_000_000]],
  ])('refuses %s', (_, [length]) => {
    const message = Buffer.alloc(16);
    message.writeInt32BE(length ?? 0, 0);
    expect(() => [...new FrameReader().push(message)]).toThrow(ProtocolError);
  });
});

describe('statement names', () => {
  const text = (value: string): Buffer => Buffer.from(`${value}\0`);
  const rest = Buffer.from([0, 0, 0, 0, 0, 0]);
  test.each([
    [
      'Parse',
      frame(TYPE.parse, Buffer.concat([text('list'), text('select 1'), rest])),
      frame(TYPE.parse, Buffer.concat([text('c7_list'), text('select 1'), rest])),
    ],
    [
      'Bind',
      frame(TYPE.bind, Buffer.concat([text('portal'), text('list'), rest])),
      frame(TYPE.bind, Buffer.concat([text('portal'), text('c7_list'), rest])),
    ],
    ['Describe', frame(TYPE.describe, text('Slist')), frame(TYPE.describe, text('Sc7_list'))],
    ['Close', frame(TYPE.close, text('Slist')), frame(TYPE.close, text('Sc7_list'))],
  ])('are prefixed in %s', (_, before, after) => {
    expect(statementName(before)).toBe('list');
    expect(withStatementPrefix(before, 'c7_')).toEqual(after);
  });

  test.each([
    ['an unnamed Parse', frame(TYPE.parse, Buffer.concat([text(''), text('select 1'), rest]))],
    ['the Describe of a portal', frame(TYPE.describe, text('Plist'))],
    ['a Query', queryFrame('select 1')],
  ])('are left alone in %s', (_, message) => {
    expect(statementName(message)).toBeNull();
    expect(withStatementPrefix(message, 'c7_')).toEqual(message);
  });
});

it('reads the fields of an error', () => {
  const [message] = [...framesOf(errorFrame('FATAL', '57P01', 'über'))];
  expect(message && errorFields(message)).toEqual(
    new Map([
      ['S', 'FATAL'],
      ['V', 'FATAL'],
      ['C', '57P01'],
      ['M', 'über'],
    ]),
  );
});

describe('classify', () => {
  test.each([
    ['select 1', { kind: 'plain' }],
    ["select 'copy t from stdin'", { kind: 'plain' }],
    ['copy t from stdin', { kind: 'copy-in' }],
    ['-- a comment\n /* and \n another */ COPY t (a, b)\nFROM  STDIN (format csv);', { kind: 'copy-in' }],
    ["copy t from '/file'", { kind: 'plain' }],
    ['copy t to stdout', { kind: 'plain' }],
    ['copyright', { kind: 'plain' }],
    ['LISTEN Changes', { kind: 'listen', channel: 'changes' }],
    ['listen "My ""own"" channel";', { kind: 'listen', channel: 'My "own" channel' }],
    ['unlisten changes', { kind: 'unlisten', channel: 'changes' }],
    ['unlisten *', { kind: 'unlisten', channel: null }],
    ['set local statement_timeout = 0', { kind: 'plain' }],
    ['set transaction isolation level serializable', { kind: 'plain' }],
    ['set constraints all deferred', { kind: 'plain' }],
    ['deallocate mine', { kind: 'plain' }],
  ])('%j', (sql, expected) => {
    expect(classify(sql)).toEqual(expected);
  });

  test.each([
    'copy t from stdin; select 1',
    'listen a; select 1',
    'unlisten a; select 1',
    'discard all',
    'deallocate all',
    'DEALLOCATE PREPARE ALL',
    'set search_path = x',
    'set session characteristics as transaction read only',
    'reset all',
  ])('refuses %j', (sql) => {
    expect(classify(sql).kind).toBe('refused');
  });
});
