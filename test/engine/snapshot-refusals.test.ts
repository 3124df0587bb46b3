// What a snapshot that cannot be taken is refused with, to the letter: the code, the field, and for a file that a text tool
// has touched what was done to it.
import { describe, expect, it, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { ENGINE_LIMITS } from '../../engine/limits.js';
import { decodeSnapshot } from '../../engine/snapshot/decode.js';
import { compile, FULL } from './full-policy.js';

const { bytes, text } = compile(FULL);
const body = text.slice(text.indexOf(',"snapshot":') + ',"snapshot":'.length, -1);
const encode = (file: string): Uint8Array => new TextEncoder().encode(file);

/** A file whose seal is right, whatever is under it. */
function sealed(under: string | Uint8Array): Uint8Array {
  const seal = createHash('sha256').update(under).digest('hex');
  return Buffer.concat([encode(`{"seal":"sha256:${seal}","snapshot":`), Buffer.from(under), encode('}')]);
}

type Body = Record<string, unknown> & { grants: Record<string, unknown> };
function changed(change: (parsed: Body) => void): Uint8Array {
  const parsed = JSON.parse(body) as Body;
  change(parsed);
  return sealed(JSON.stringify(parsed));
}

function refusal(given: Uint8Array, limits = ENGINE_LIMITS): string {
  const decoded = decodeSnapshot(given, limits);
  return decoded.ok ? 'taken' : `${decoded.fault.code}: ${decoded.fault.message}`;
}

const BACK = 'its bytes must stay as they were compiled: restore the file, or compile the policy again';
const MARKED = `snapshot.malformed: the file is a snapshot that was given a byte order mark; ${BACK}`;
const ENDED = `snapshot.malformed: the file is a snapshot that was given a line end or a space at its end, as editors do; ${BACK}`;
const OTHER = `snapshot.malformed: the file is a snapshot that was reformatted or cut short; ${BACK}`;
const NONE = 'snapshot.malformed: the file is not a snapshot';
const pretty = JSON.stringify(JSON.parse(text), null, 2);

describe('a file that a text tool has touched', () => {
  test.each<[string, string, string]>([
    ['a byte order mark', `\ufeff${text}`, MARKED],
    ['a byte order mark and a line end', `\ufeff${text}\n`, MARKED],
    ['a line end', `${text}\n`, ENDED],
    ['a line end of Windows', `${text}\r\n`, ENDED],
    ['a carriage return', `${text}\r`, ENDED],
    ['a space', `${text} `, ENDED],
    ['indentation', pretty, OTHER],
    ['indentation and a byte order mark', `\ufeff${pretty}`, OTHER],
    ['white space before it', `  ${text}`, OTHER],
    ['white space before its colon', text.replace('"seal":', '"seal"  :'), OTHER],
    ['white space within', text.replace('{"seal"', '{ \n "seal"'), OTHER],
    ['its end cut off', text.slice(0, -2), OTHER],
    [
      'its last byte cut off, which leaves another that looks like it',
      text.slice(0, -1),
      'snapshot.seal: its content does not match the hash in `seal`: the file is damaged or was changed',
    ],
    ['its end cut off early', text.slice(0, 12), OTHER],
    ['its end replaced', `${text.slice(0, -1)}]`, OTHER],
    ['its members in another order', `{"snapshot":${body},"seal":"${'0'.repeat(71)}"}`, OTHER],
    ['another key between', text.replace(',"snapshot":', ',"snapshop":'), OTHER],
    ['something before it', `x${text}`, NONE],
    ['another first key', text.replace('{"seal"', '{"soul"'), NONE],
    ['nothing of it left', '', NONE],
    ['a byte order mark alone', '\ufeff', NONE],
    ['a line end alone', '\n', NONE],
  ])('with %s', (_, file, expected) => {
    expect(refusal(encode(file))).toBe(expected);
  });

  it('is not what has two of the three bytes of a mark', () => {
    for (const mark of [
      [0xef, 0xbb, 0],
      [0xef, 0, 0xbf],
      [0, 0xbb, 0xbf],
    ])
      expect(refusal(Buffer.concat([Buffer.from(mark), bytes]))).toBe(NONE);
  });
});

describe('a file that is no snapshot of this program', () => {
  const shape = (path: string): string => `snapshot.shape: the file does not have the fields of its format: ${path}`;
  test.each<[string, Uint8Array, string]>([
    [
      'a seal of other bytes',
      encode(text.replace('"full"', '"fool"')),
      'snapshot.seal: its content does not match the hash in `seal`: the file is damaged or was changed',
    ],
    ['no UTF-8', sealed(Buffer.from([0x22, 0xff, 0x22])), 'snapshot.malformed: the file is not UTF-8'],
    [
      'a format to come',
      sealed('{"format":9}'),
      'snapshot.format: the file has format 9, this program reads formats 1 and 2 and 3',
    ],
    ['no JSON', sealed('{'), shape('no object')],
    ['no object', sealed('1'), shape('snapshot')],
    ['null', sealed('null'), shape('snapshot')],
    ['a list', sealed('[]'), shape('snapshot')],
    [
      'a format that is a text',
      changed((one) => Object.assign(one, { format: '3', families: undefined })),
      shape('snapshot.format'),
    ],
    ['a field too many', changed((one) => (one['zzz'] = 1)), shape('snapshot.(one too many)')],
    ['a field too few', changed((one) => delete one['decisions']), shape('snapshot.decisions')],
    ['a field too few further below', changed((one) => delete one.grants['expires']), shape('snapshot.grants.expires')],
    ['a list for an object', changed((one) => (one.grants['expires'] = [1])), shape('snapshot.grants.expires')],
    ...[1, [1.5], ['1'], { length: 0 }].map((at): [string, Uint8Array, string] => [
      `instants ${JSON.stringify(at)}`,
      changed((one) => (one.grants['expires'] = { at, row: [] })),
      shape('snapshot.grants.expires.at'),
    ]),
    ...[1, [-1, 0], [1.5, 0], [2 ** 31, 0], ['1', 0], { length: 0 }].map((line): [string, Uint8Array, string] => [
      `counts ${JSON.stringify(line)}`,
      changed((one) => (one.grants['line'] = line)),
      shape('snapshot.grants.line'),
    ]),
    ['white space', sealed(` ${body}`), 'snapshot.not_canonical: the file is not canonical JSON'],
  ])('%s', (_, file, expected) => {
    expect(refusal(file)).toBe(expected);
  });

  it('what was given as a text or a path', () => {
    const notBytes: unknown[] = [
      text,
      'policy.json',
      [...bytes.subarray(0, 3)],
      { length: 3 },
      null,
      new Uint16Array(3),
    ];
    for (const given of notBytes)
      expect(refusal(given as Uint8Array)).toBe(
        'snapshot.malformed: what was given is not bytes: pass the file as a Uint8Array or a Buffer',
      );
  });

  it('is not one with the largest line that there is', () => {
    expect(refusal(changed((one) => (one.grants['line'] = [2 ** 31 - 1, 7])))).toBe('taken');
  });

  it('larger than the limit, by one byte', () => {
    const limited = (snapshotBytes: number): string => refusal(bytes, { ...ENGINE_LIMITS, snapshotBytes });
    expect(limited(bytes.length)).toBe('taken');
    expect(limited(bytes.length - 1)).toBe('snapshot.too_large: the file is larger than any snapshot may be');
  });
});
