import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, it, test } from '@jest/globals';
import { parseStrictJson, pointerTo } from '../../../server/json/strict-json.js';
import { stopCpu } from '../../support/cpu-time.js';

const LIMITS = { depth: 32 };

function parsed(input: string | Uint8Array): unknown {
  const result = parseStrictJson(input, LIMITS);
  return result.ok ? { value: result.value } : { code: result.fault.code, pointer: result.fault.pointer };
}

function nested(depth: number): string {
  return '['.repeat(depth) + ']'.repeat(depth);
}

describe('parseStrictJson accepts what JSON.parse accepts', () => {
  test.each([
    '{}',
    '[]',
    'null',
    'true',
    '0',
    '-0',
    '1.5e-3',
    '0.1e1',
    '"x"',
    ' \t\r\n{ "a" : [ 1 , { "b" : ":{[" } ] } ',
    '{"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]}',
    '{"":{"":1}}',
    '"\\u00e9 \\ud83d\\ude00 \\\\ \\" \\/"',
    '9007199254740991',
    '-9007199254740991',
    '{"a\\\\":1,"a":2}',
    '{"a\\"":1,"a":2}',
    '"\uffff\u202e"',
    '{"hasOwnProperty":1,"toString":2,"__defineGetter__":3}',
    '1e-400',
    '6.02e23',
    '1.8e16',
    '1e300',
    '18000000000000000',
    '-602000000000000000000000',
    '[9007199254740992, 12345678901234567000]',
    '{"a":12345678901234567.5}',
    '"9007199254740993"',
  ])('%s', (text) => {
    const value: unknown = JSON.parse(text);
    expect(parsed(text)).toEqual({ value });
    expect(parsed(Buffer.from(text))).toEqual({ value });
  });

  it('reads a view into a larger buffer', () => {
    const all = Buffer.from('xx{"a":1}yy');
    expect(parsed(new Uint8Array(all.buffer, all.byteOffset + 2, 7))).toEqual({ value: { a: 1 } });
  });
});

describe('input that is not JSON is reported with its place', () => {
  test.each([
    ['', 'it is empty'],
    [' \n', 'it is empty'],
    ['{', 'it ends too early, at line 1, column 2: a key in double quotes, or `}`, is missing'],
    ['{"a":1,}', 'a key in double quotes is expected at line 1, column 8'],
    ["{'a':1}", 'a key in double quotes, or `}`, is expected at line 1, column 2'],
    ['{"a" 1}', 'a colon is expected at line 1, column 6'],
    ['{"a":1 "b":2}', 'a comma or `}` is expected at line 1, column 8'],
    ['[1,\n  2,\n  ]', 'a value is expected at line 3, column 3'],
    ['[1 2]', 'a comma or `]` is expected at line 1, column 4'],
    ['[01]', 'a value is expected at line 1, column 2'],
    ['[NaN]', 'a value is expected at line 1, column 2'],
    ['{}{}', 'the end is expected at line 1, column 3'],
    ['"a\tb"', 'an escape, or a character that needs none, is expected at line 1, column 3'],
    ['"a\\x"', 'an escape, or a character that needs none, is expected at line 1, column 3'],
    ['{"a":"b', 'it ends too early, at line 1, column 8: the double quote that closes a string is missing'],
    ['[[1]', 'it ends too early, at line 1, column 5: a comma or `]` is missing'],
    ['\ufeff{}', 'a value is expected at line 1, column 1'],
  ])('%j: %s', (text, words) => {
    const result = parseStrictJson(text, LIMITS);
    expect(result.ok ? null : result.fault).toEqual({
      code: 'request.malformed',
      pointer: '',
      message: `not JSON: ${words}`,
    });
  });

  it('finds a place in whatever JSON.parse refuses, in linear time', () => {
    const whole = '{"a":[1,-2.5e3,"x\\u0041",true,null,{"b":[]}],"c":{}}';
    for (let cut = 0; cut < whole.length; cut += 1) {
      for (const text of [whole.slice(0, cut), `${whole.slice(0, cut)}#${whole.slice(cut + 1)}`]) {
        const result = parseStrictJson(text, LIMITS);
        if (result.ok) expect(JSON.parse(text)).toEqual(result.value);
        else
          expect(result.fault.message).toMatch(
            /^not JSON: (it is empty|.* is (?:missing|expected at line 1, column \d+))$/,
          );
      }
    }
    const cpu = stopCpu();
    parseStrictJson(`[${'1,'.repeat(400_000)}]`, LIMITS);
    expect(cpu()).toBeLessThan(2_000);
  });

  it('says where a line ends as it counts them', () => {
    for (const [text, place] of [
      ['\n\n x', 'line 3, column 2'],
      ['[\n', 'line 2, column 1'],
      ['[1\n2]', 'line 2, column 1'],
      ['[\r\n1,\n]\n', 'line 3, column 1'],
    ] as const) {
      expect(parseStrictJson(text, LIMITS)).toMatchObject({
        fault: { message: expect.stringContaining(`at ${place}`) },
      });
    }
  });

  it('finds it in blanks about as fast as it reads them', () => {
    const blanks = '\n'.repeat(1_000_000);
    const costOf = (text: string): number => {
      const cpu = stopCpu();
      for (let times = 0; times < 5; times += 1) parseStrictJson(text, LIMITS);
      return cpu();
    };
    const costs = Array.from({ length: 3 }, () => [costOf(`[${blanks}]`), costOf(`[${blanks}x`)] as const);
    const [reading, refusing] = [0, 1].map((which) => Math.min(...costs.map((cost) => cost[which] ?? 0)));
    expect(refusing).toBeLessThan(6 * (reading ?? 0));
  });
});

describe('parseStrictJson refuses', () => {
  test.each([
    ['', 'request.malformed', ''],
    ['{', 'request.malformed', ''],
    ['{}{}', 'request.malformed', ''],
    ['{} x', 'request.malformed', ''],
    ['{}//c', 'request.malformed', ''],
    ['{}\0', 'request.malformed', ''],
    ['\ufeff{}', 'request.malformed', ''],
    ['{"a":1,}', 'request.malformed', ''],
    ["{'a':1}", 'request.malformed', ''],
    ['01', 'request.malformed', ''],
    ['+1', 'request.malformed', ''],
    ['.5', 'request.malformed', ''],
    ['NaN', 'request.malformed', ''],
    ['"a\nb"', 'request.malformed', ''],
    ['{"a":"b', 'request.malformed', ''],
    ['{"n":9007199254740993}', 'request.malformed', '/n'],
    ['[1,9007199254740993]', 'request.malformed', '/1'],
    ['[-9007199254740993]', 'request.malformed', '/0'],
    ['12345678901234567890', 'request.malformed', ''],
    ['{"a":[{"b":"9007199254740993"},{"c":[0,{"d~/":  9007199254740993 }]}]}', 'request.malformed', '/a/1/c/1/d~0~1'],
    ['[[1e400]]', 'request.malformed', '/0/0'],
    [`[${'9'.repeat(400)}]`, 'request.malformed', '/0'],
    ['{"type":"doc","type":"secret"}', 'request.duplicate_key', '/type'],
    ['{"type":1,"t\\u0079pe":2}', 'request.duplicate_key', '/type'],
    ['{"a":[{"x":1},{"y":{"z":1,"z":1}}]}', 'request.duplicate_key', '/a/1/y/z'],
    ['{"a":1,"b":":","a":1}', 'request.duplicate_key', '/a'],
    ['{"":1,"":1}', 'request.duplicate_key', '/'],
    ['{"1":1,"0":2,"1":3}', 'request.duplicate_key', '/1'],
    ['{"a/b~c":1,"a/b~c":1}', 'request.duplicate_key', '/a~1b~0c'],
    ['{"__proto__":{"namespace":"/b"}}', 'request.forbidden_key', '/__proto__'],
    ['{"a":[{"constructor":{}}]}', 'request.forbidden_key', '/a/0/constructor'],
    ['{"\\u005f_proto__":1}', 'request.forbidden_key', '/__proto__'],
    ['{"prototype":null}', 'request.forbidden_key', '/prototype'],
    ['{"a":"\\u0000"}', 'request.invalid_unicode', '/a'],
    ['["\\ud800"]', 'request.invalid_unicode', '/0'],
    ['["\\udc00\\ud800"]', 'request.invalid_unicode', '/0'],
    ['{"\\udfff":1}', 'request.invalid_unicode', '/\ufffd'],
    ['"\ud800"', 'request.invalid_unicode', ''],
    [nested(33), 'request.too_deep', ''],
    ['{"filter":' + '['.repeat(40_000), 'request.too_deep', ''],
    ['{"a":'.repeat(33) + '1' + '}'.repeat(33), 'request.too_deep', ''],
  ])('case %# as %s at %j', (text, code, pointer) => {
    expect(parsed(text)).toEqual({ code, pointer });
    if (text.isWellFormed()) expect(parsed(Buffer.from(text))).toEqual({ code, pointer });
  });

  test.each([
    ['a byte that is never UTF-8', [0x22, 0xff, 0xfe, 0x22]],
    ['an overlong form', [0x22, 0xc0, 0xaf, 0x22]],
    ['a cut sequence', [0x22, 0xf0, 0x9f, 0x98]],
    ['an encoded surrogate', [0x22, 0xed, 0xa0, 0x80, 0x22]],
  ])('%s', (_, bytes) => {
    expect(parsed(Uint8Array.from(bytes))).toEqual({ code: 'request.invalid_unicode', pointer: '' });
  });

  it('takes nesting at the limit', () => {
    expect(parseStrictJson(nested(32), LIMITS).ok).toBe(true);
  });

  it('more members and items than anything has, before it makes the first', () => {
    const items = (commas: number): string => `[${'0,'.repeat(commas)}0]`;
    expect(parseStrictJson(items(16_000_000), LIMITS).ok).toBe(true);
    expect(parseStrictJson(items(16_000_001), LIMITS)).toMatchObject({
      fault: { code: 'request.malformed', message: 'more than 16000000 members and items' },
    });
    expect(parseStrictJson(`"${','.repeat(16_000_001)}"`, LIMITS).ok).toBe(true);
    // V8 ends the process at a list of so many.
    expect(parsed(Buffer.alloc(268 * 1024 * 1024, ',0').fill('[', 0, 1))).toEqual({
      code: 'request.malformed',
      pointer: '',
    });
  });

  it.each(['[', '{"a":', '[{"a":'])(
    'B08 is called with little of the stack left, in an asynchronous context: %s',
    (open) => {
      const text = `{"where":${open.repeat(40_000)}`;
      // As deep as the stack goes, and back by a tenth of it.
      let deepest = 0;
      const descend = (depth: number, until: number, then: () => unknown): unknown => {
        deepest = Math.max(deepest, depth);
        return depth < until ? [descend(depth + 1, until, then)][0] : then();
      };
      expect(() => descend(0, Infinity, () => null)).toThrow(RangeError);
      const found = new AsyncLocalStorage().run({}, () => descend(0, Math.floor(deepest * 0.9), () => parsed(text)));
      expect(deepest).toBeGreaterThan(2_000);
      expect(found).toMatchObject({ code: 'request.too_deep' });
    },
  );

  it('leaves Object.prototype alone', () => {
    parsed('{"__proto__":{"namespace":"/b"}}');
    expect('namespace' in {}).toBe(false);
  });

  it('is linear in hostile keys and escapes', () => {
    const keys = `{${Array.from({ length: 60_000 }, (_, i) => `"${String(i)}":0`).join(',')},"7":1}`;
    const cpu = stopCpu();
    expect(parsed(keys)).toEqual({ code: 'request.duplicate_key', pointer: '/7' });
    expect(parsed(`"${'\\\\'.repeat(400_000)}"`)).toEqual({ value: '\\'.repeat(400_000) });
    expect(cpu()).toBeLessThan(2_000);
  });
});

it('cuts the keys in a pointer', () => {
  expect(pointerTo('/a', 'k'.repeat(100))).toBe(`/a/${'k'.repeat(64)}`);
});

it('leaves the strings at given places to their reader, and no others', () => {
  const mayHoldAnyText = (pointer: string): boolean => pointer === '/a/1';
  const at = (text: string): unknown => {
    const result = parseStrictJson(text, { ...LIMITS, mayHoldAnyText });
    return result.ok ? result.value : [result.fault.code, result.fault.pointer];
  };
  expect(at('{"a":["x","\\u0000\\ud800"]}')).toEqual({ a: ['x', '\0\ud800'] });
  expect(at('{"a":["\\u0000"]}')).toEqual(['request.invalid_unicode', '/a/0']);
  expect(at('{"a/1":"\\u0000"}')).toEqual(['request.invalid_unicode', '/a~11']);
  expect(at('{"a":["x",{"\\u0000":1}]}')).toEqual(['request.invalid_unicode', '/a/1/\0']);
  expect(at('{"a":["x",9007199254740993]}')).toEqual(['request.malformed', '/a/1']);
});
