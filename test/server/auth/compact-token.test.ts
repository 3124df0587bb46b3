// What a token says before its signature is checked: one spelling, strict JSON, and a header of which nothing is unknown. The words of
// a refusal are for the operator's log alone.
import { describe, expect, it, test } from '@jest/globals';
import { isCompact, readCompactToken, refuseOtherSpelling } from '../../../server/auth/compact-token.js';
import { TOKEN_LIMITS } from '../../../server/limits/credentials.js';
import { refusedCredential } from '../../support/refused-credential.js';

const part = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

const HEADER = { alg: 'ES256', kid: 'k1' };
const PAYLOAD = part({ sub: 'alice' });
const token = (header: unknown, payload = PAYLOAD): string => `${part(header)}.${payload}.c2ln`;

function nested(depth: number): unknown {
  return depth === 0 ? 1 : { a: nested(depth - 1) };
}

describe('the form', () => {
  test.each([
    ['', false],
    ['a.b', false],
    ['a.b.c', true],
    ['a.b.c.d', false],
    ['a.b.c.d.e', false],
    ['..', true],
  ])('of %p', (text, is) => {
    expect(isCompact(text)).toBe(is);
  });

  test.each([
    ['a token in its only spelling', token(HEADER), false],
    ['one with padding', `${token(HEADER)}=`, true],
    ['one whose last part has its spare bits at zero', `${part(HEADER)}.${PAYLOAD}.c2k`, false],
    ['one whose last part has other spare bits', `${part(HEADER)}.${PAYLOAD}.c2l`, true],
    ['an encrypted one, with an empty part', `${part(HEADER)}..aXY.Y3Q.dGFn`, false],
    ['an encrypted one with a line end', `${part(HEADER)}..aXY.Y3Q.dGFn\n`, true],
    ['one whose header begins with white space', `${part(' \n{"alg":"ES256"}')}.${PAYLOAD}=.c2ln`, true],
    ['something whose first part only has a brace in it', `${part('x{')}.b=.c`, false],
    ['something of two parts', `${part(HEADER)}.b=`, false],
    ['something without parts', 'a b=', false],
    ['something that begins with a dot', '.b=.c', false],
  ])('%s', (_, text, isRefused) => {
    const otherwise = ['unreadable', 'not a token in its only spelling'];
    expect(
      refusedCredential(() => {
        refuseOtherSpelling(text);
      }),
    ).toEqual(isRefused ? otherwise : null);
  });
});

describe('what a token says', () => {
  it('is its header and its claims, and the payload as it is signed', () => {
    const { claims, ...rest } = readCompactToken(token({ ...HEADER, typ: 'Application/AT+jwt' }));
    expect(rest).toEqual({ algorithm: 'ES256', keyId: 'k1', type: 'at+jwt', payload: PAYLOAD });
    expect([...claims]).toEqual([['sub', 'alice']]);
    expect(readCompactToken(token(HEADER)).type).toBeNull();
    expect(readCompactToken(token({ ...HEADER, typ: 'x-application/jwt' })).type).toBe('x-application/jwt');
  });

  it('is as deep as the limit, and no deeper', () => {
    const { jsonDepth } = TOKEN_LIMITS;
    expect(readCompactToken(token(HEADER, part(nested(jsonDepth)))).payload).toBe(part(nested(jsonDepth)));
    expect(refusedCredential(() => readCompactToken(token(HEADER, part(nested(jsonDepth + 1)))))).toEqual([
      'unreadable',
      'the payload is not strict JSON',
    ]);
  });

  const long = 'k'.repeat(257);
  test.each([
    ['', 'unreadable', 'not a signed token'],
    ['a', 'unreadable', 'not a signed token'],
    [`${part(HEADER)}.${PAYLOAD}`, 'unreadable', 'not a signed token'],
    [`.${PAYLOAD}.c2ln`, 'unreadable', 'not a signed token'],
    [`${part(HEADER)}..c2ln`, 'unreadable', 'not a signed token'],
    [`${part(HEADER)}.${PAYLOAD}.`, 'unreadable', 'not a signed token'],
    [`${token(HEADER)}.c2ln`, 'unreadable', 'not a signed token'],
    [`${token(HEADER)}.`, 'unreadable', 'not a signed token'],
    [`${token(HEADER)}\n`, 'unreadable', 'not a signed token'],
    [token('{'), 'unreadable', 'the header is not strict JSON'],
    [token('{"alg":"ES256","alg":"none","kid":"k1"}'), 'unreadable', 'the header is not strict JSON'],
    [token([HEADER]), 'unreadable', 'the header is not an object'],
    [token('null'), 'unreadable', 'the header is not an object'],
    [token('"alg"'), 'unreadable', 'the header is not an object'],
    [token(HEADER, part('x')), 'unreadable', 'the payload is not strict JSON'],
    [token(HEADER, part([])), 'unreadable', 'the payload is not an object'],
    ...['crit', 'b64', 'cty', 'enc', 'zip', 'jwk', 'jku', 'x5c', 'x5u'].map(
      (name) => [token({ ...HEADER, [name]: null }), 'unusable', `the header has \`${name}\``] as const,
    ),
    [token({ kid: 'k1' }), 'unusable', 'the header has no usable `alg`'],
    [token({ ...HEADER, alg: '' }), 'unusable', 'the header has no usable `alg`'],
    [token({ ...HEADER, alg: 256 }), 'unusable', 'the header has no usable `alg`'],
    [token({ alg: 'ES256' }), 'unusable', 'the header has no usable `kid`'],
    [token({ ...HEADER, kid: 'k 1' }), 'unusable', 'the header has no usable `kid`'],
    [token({ ...HEADER, kid: 'k1\n' }), 'unusable', 'the header has no usable `kid`'],
    [token({ ...HEADER, kid: 'clé' }), 'unusable', 'the header has no usable `kid`'],
    [token({ ...HEADER, kid: long }), 'unusable', 'the header has no usable `kid`'],
    [token({ ...HEADER, typ: null }), 'unusable', 'the header has no usable `typ`'],
    [token({ ...HEADER, typ: ['JWT'] }), 'unusable', 'the header has no usable `typ`'],
  ])('is refused: %s', (text, fault, reason) => {
    expect(refusedCredential(() => readCompactToken(text))).toEqual([fault, reason]);
  });

  it('may have a key id of 256 characters', () => {
    expect(readCompactToken(token({ ...HEADER, kid: long.slice(1) })).keyId).toBe(long.slice(1));
  });
});
