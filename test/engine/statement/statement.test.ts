// Signed statements: one spelling, and every way to make one count that should not.
import { describe, expect, it, test } from '@jest/globals';
import fc from 'fast-check';
import {
  decodeEnvelope,
  decodeStatement,
  encodeEnvelope,
  encodeStatement,
  type Envelope,
  type Expected,
  instantOf,
  judgeStatement,
  type Keyring,
  preAuthEncoding,
  type PublicationStatement,
  STATEMENT_LIMITS,
  type StatementReport,
} from '../../../engine/index.js';
import { makeKey, signedBy, signedBytes, type TestKey, verifyByNode } from './keys.js';

const DAY = 24 * 60 * 60 * 1000;
const NOW = instantOf(Date.UTC(2027, 0, 1));
const [ana, ben, eve] = [makeKey(), makeKey(), makeKey()];
const OURS: PublicationStatement = {
  snapshot: `sha256:${'ab'.repeat(32)}`,
  policy: 'facility',
  environment: 'production',
  generation: 7,
  issued: instantOf(NOW - DAY),
  expires: instantOf(NOW + DAY),
};
const EXPECTED: Expected = { snapshot: OURS.snapshot, policy: 'facility', at: NOW };

function ring(threshold: number, ...keys: readonly TestKey[]): Keyring {
  return {
    threshold,
    keys: keys.map(({ publicKey, keyId }, index) => ({ name: `key-${String(index)}`, keyId, publicKey })),
  };
}

function judge(envelope: Envelope, keyring: Keyring, expected: Partial<Expected> = {}): StatementReport {
  return judgeStatement(envelope, { keyring, verify: verifyByNode }, { ...EXPECTED, ...expected });
}

const codes = (report: StatementReport): readonly string[] => report.faults.map(({ code }) => code);
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

describe('the bytes of a statement', () => {
  it('are canonical JSON of an in-toto statement', () => {
    expect(text(encodeStatement(OURS))).toBe(
      `{"_type":"https://in-toto.io/Statement/v1","predicate":{"environment":"production","expires":"2027-01-02T00:00:00.000Z",` +
        `"generation":7,"issued":"2026-12-31T00:00:00.000Z","policy":"facility"},"predicateType":"urn:bailiwick:publication:v1",` +
        `"subject":[{"digest":{"sha256":"${'ab'.repeat(32)}"}}]}`,
    );
  });

  it('say where the policy comes from, if somebody has said so', () => {
    const source = { commit: 'ab'.repeat(20), repository: 'https://git.example.org/p' };
    for (const one of [source, { ...source, repository: null }]) {
      const bytes = encodeStatement({ ...OURS, source: one });
      expect(text(bytes)).toContain(`"policy":"facility","source":{"commit":"${one.commit}","repository":`);
      expect(decodeStatement(bytes)).toEqual({ ...OURS, source: one });
    }
    const whole = text(encodeStatement({ ...OURS, source }));
    for (const [from, to] of [
      [source.commit, 'ab'],
      [`,"repository":"${source.repository}"`, ''],
      [`"${source.repository}"`, '7'],
      [source.repository, 'a b'],
      ['"commit"', '"more":1,"commit"'],
      [`"source":{"commit":"${source.commit}","repository":"${source.repository}"}`, '"source":null'],
    ] as const)
      expect(decodeStatement(Buffer.from(whole.replace(from, to)))).toBeNull();
  });

  it('say what they were made of', () => {
    const name = fc.stringMatching(/^[a-z0-9][a-z0-9._-]{0,20}$/);
    const time = fc.integer({ min: 0, max: 4e12 });
    const digest = fc
      .uint8Array({ minLength: 32, maxLength: 32 })
      .map((bytes) => `sha256:${Buffer.from(bytes).toString('hex')}`);
    const statement = fc
      .record({
        snapshot: digest,
        policy: name,
        environment: name,
        generation: fc.integer({ min: 1, max: STATEMENT_LIMITS.generation }),
        issued: time,
        lasts: fc.integer({ min: 1, max: 1e11 }),
      })
      .map(({ issued, lasts, ...rest }) => ({
        ...rest,
        issued: instantOf(issued),
        expires: instantOf(issued + lasts),
      }));
    fc.assert(
      fc.property(statement, (one) => {
        expect(decodeStatement(encodeStatement(one))).toEqual(one);
      }),
    );
  });

  const plain = text(encodeStatement(OURS));
  test.each([
    ['spaces', JSON.stringify(JSON.parse(plain), null, 1)],
    ['a line end', `${plain}\n`],
    ['another order', plain.replace(/^\{("_type":"[^"]*"),(.*)\}$/, '{$2,$1}')],
    ['an escape', plain.replace('facility', 'f\\u0061cility')],
    ['another spelling of a number', plain.replace('"generation":7', '"generation":7.0')],
    ['another spelling of an instant', plain.replace('2027-01-02T00:00:00.000Z', '2027-01-02T00:00:00Z')],
    ['a field more', plain.replace('"policy"', '"note":"x","policy"')],
    ['a key twice', plain.replace('"generation":7', '"generation":1,"generation":7')],
    ['a second subject', plain.replace('"subject":[', '"subject":[{"digest":{"sha256":"00"}},')],
    ['another predicate', plain.replace('publication:v1', 'publication:v2')],
    ['an upper-case digest', plain.replace('ab'.repeat(32), 'AB'.repeat(32))],
    ['no generation', plain.replace('"generation":7,', '')],
    ...['0', '-1', '1.5', '"7"', '9007199254740991', '9223372036854775808', '1e3', 'null'].map(
      (value): [string, string] => [`generation ${value}`, plain.replace('"generation":7', `"generation":${value}`)],
    ),
    ['an end before its beginning', plain.replace('2027-01-02', '2026-01-02')],
    ['a BOM', `\ufeff${plain}`],
    ['nothing', ''],
    ['a list', '[]'],
  ])('with %s are refused', (_name, changed) => {
    expect(changed).not.toBe(plain);
    expect(decodeStatement(Buffer.from(changed))).toBeNull();
  });
});

describe('an envelope', () => {
  it('is read as it is written, and signs type and payload with their lengths', () => {
    const envelope = signedBy([ana, ben], encodeStatement(OURS));
    expect(decodeEnvelope(JSON.parse(encodeEnvelope(envelope)))).toEqual({
      ...envelope,
      payload: new Uint8Array(envelope.payload),
      signatures: envelope.signatures.map(({ keyId, bytes }) => ({ keyId, bytes: new Uint8Array(bytes ?? []) })),
    });
    expect(text(preAuthEncoding(envelope))).toBe(signedBytes(envelope.payloadType, envelope.payload).toString());
    expect(text(preAuthEncoding({ payloadType: 'é', payload: Buffer.from('x y') }))).toBe('DSSEv1 2 é 3 x y');
  });

  test.each([
    ['null', null],
    ['a text', 'x'],
    ['no signatures', { payload: '', payloadType: 'x' }],
    ['signatures that are no list', { payload: '', payloadType: 'x', signatures: { length: 1 } }],
    ...['e31', 'e30==', 'e', 'e30= ', 'e3\n0=', '-/-/', '+_+_', '-/-', 'é30=', '====', '-_-_=', '*'].map(
      (payload): [string, unknown] => [
        `a payload that is no base64: ${payload}`,
        { payload, payloadType: 'x', signatures: [] },
      ],
    ),
    ['no payload', { payloadType: 'x', signatures: [] }],
    [
      'too many signatures',
      { payload: '', payloadType: 'x', signatures: Array(STATEMENT_LIMITS.signatures + 1).fill({}) },
    ],
  ])('is refused: %s', (_name, value) => {
    expect(typeof decodeEnvelope(value)).toBe('string');
  });

  it('may be in either alphabet of base64, the URL-safe one padded or not', () => {
    const bytes = Buffer.from([0xfb, 0xff, 0xfe, 0x3e]);
    expect(bytes.toString('base64')).toBe('+//+Pg==');
    for (const payload of ['+//+Pg==', '-__-Pg==', '-__-Pg']) {
      const envelope = decodeEnvelope({ payload, payloadType: 'x', signatures: [] });
      expect(envelope).toEqual({ payload: new Uint8Array(bytes), payloadType: 'x', signatures: [] });
    }
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 70 }), (given) => {
        const standard = Buffer.from(given).toString('base64');
        const urlSafe = standard.replaceAll('+', '-').replaceAll('/', '_');
        for (const payload of [standard, urlSafe, urlSafe.replaceAll('=', '')]) {
          const envelope = decodeEnvelope({ payload, payloadType: 'x', signatures: [] });
          expect(typeof envelope === 'string' ? envelope : envelope.payload).toEqual(given);
        }
      }),
    );
  });

  it('keeps the good signatures beside a malformed one', () => {
    const good = JSON.parse(encodeEnvelope(signedBy([ana], encodeStatement(OURS)))) as { signatures: unknown[] };
    const odd = [
      ...[null, 7, {}, { keyid: 1, sig: 'AAAA' }, { sig: `${'A'.repeat(86)}=` }, { keyid: ana.keyId, sig: '' }],
      ...[{ sig: 'A'.repeat(85) }, { sig: `${'A'.repeat(85)}B` }, { sig: `${'A'.repeat(86)}== ` }, { sig: ['A'] }],
    ];
    const envelope = decodeEnvelope({ ...good, signatures: [...odd, ...good.signatures] });
    if (typeof envelope === 'string') throw new Error(envelope);
    const report = judge(envelope, ring(1, ana));
    expect(report.faults).toEqual([]);
    expect(report.signatures.map(({ reason }) => reason)).toEqual([...odd.map(() => 'malformed'), undefined]);
  });
});

describe('a statement counts', () => {
  const payload = encodeStatement(OURS);

  it('if as many keys as are needed have signed it', () => {
    expect(judge(signedBy([ana, ben], payload), ring(2, ana, ben))).toEqual({
      signatures: [
        { keyId: ana.keyId, name: 'key-0', ok: true },
        { keyId: ben.keyId, name: 'key-1', ok: true },
      ],
      statement: OURS,
      faults: [],
    });
    expect(judge(signedBy([eve, ben], payload), ring(1, ana, ben)).faults).toEqual([]);
  });

  /** Signatures by keys under the ids that are said. */
  function under(...signed: readonly (readonly [TestKey, string | null])[]): Envelope {
    const { signatures, ...rest } = signedBy(
      signed.map(([key]) => key),
      payload,
    );
    return { ...rest, signatures: signatures.map(({ bytes }, i) => ({ keyId: signed[i]?.[1] ?? null, bytes })) };
  }

  it('by a signature that does not say whose it is, and says whose it was', () => {
    expect(judge(under([ana, null]), ring(1, ben, ana))).toEqual({
      signatures: [{ keyId: ana.keyId, name: 'key-1', ok: true }],
      statement: OURS,
      faults: [],
    });
  });

  it('an empty id is none', () => {
    const { signatures, ...rest } = JSON.parse(encodeEnvelope(under([ana, null]))) as { signatures: object[] };
    const envelope = decodeEnvelope({ ...rest, signatures: signatures.map((one) => ({ ...one, keyid: '' })) });
    expect(envelope).toMatchObject({ signatures: [{ keyId: null }] });
  });

  it('tries every key with every signature at worst, and no signature more often', () => {
    const keys = Array.from({ length: 3 }, makeKey);
    const tried = new Map<string, number>();
    const strangers = under(...Array.from({ length: 5 }, () => [makeKey(), null] as const));
    const report = judgeStatement(
      strangers,
      {
        keyring: ring(1, ...keys),
        verify: (input) => {
          const key = Buffer.from(input.publicKey).toString('hex');
          tried.set(key, (tried.get(key) ?? 0) + 1);
          return verifyByNode(input);
        },
      },
      EXPECTED,
    );
    expect(codes(report)).toEqual(['signature.threshold']);
    expect([...tried.values()]).toEqual([5, 5, 5]);
    expect(STATEMENT_LIMITS.signatures * STATEMENT_LIMITS.keys).toBe(4096);
  });

  const stripped = { ...signedBy([ana], payload), signatures: [] };
  const zero = { ...stripped, signatures: [{ keyId: ana.keyId, bytes: new Uint8Array(64) }] };
  const borrowed = { ...stripped, signatures: signedBy([ana], encodeStatement({ ...OURS, generation: 6 })).signatures };
  const lent = {
    ...stripped,
    signatures: signedBy([eve], payload).signatures.map(({ bytes }) => ({ keyId: ana.keyId, bytes })),
  };
  const malleable = { ...stripped, signatures: [{ keyId: ana.keyId, bytes: plusOrder(signedBy([ana], payload)) }] };
  test.each([
    ['by a signature whose number is too large by the order of the group', malleable, 1, ['wrong']],
    ['without a signature', stripped, 1, []],
    ['by one key twice', signedBy([ana, ana], payload), 2, [undefined, 'duplicate_key']],
    [
      'by one key under its id and that in other letters',
      under([ana, ana.keyId], [ana, ana.keyId.toUpperCase()]),
      2,
      [undefined, 'unknown_key'],
    ],
    [
      'by one key under an id of nobody, or in other letters',
      under([ana, 'x'], [ana, ana.keyId.toUpperCase()]),
      1,
      ['unknown_key', 'unknown_key'],
    ],
    ['by one key under its own id and none', under([ana, ana.keyId], [ana, null]), 2, [undefined, 'duplicate_key']],
    ["by one key under its own id and another's", under([ana, ben.keyId], [ana, ana.keyId]), 2, ['wrong', undefined]],
    [
      'by one key without an id, again and again',
      under([ana, null], [ana, null], [ana, null]),
      2,
      [undefined, 'duplicate_key', 'duplicate_key'],
    ],
    ['by a key that nobody knows, without an id', under([eve, null]), 1, ['unknown_key']],
    ['by a key that nobody knows', signedBy([eve], payload), 1, ['unknown_key']],
    ['by a signature of zeros', zero, 1, ['wrong']],
    ['by a signature of another statement', borrowed, 1, ['wrong']],
    ["by another's signature under a known id", lent, 1, ['wrong']],
    ['by fewer than are needed', signedBy([ana], payload), 2, [undefined]],
  ])('not %s', (_name, envelope, threshold, reasons) => {
    const report = judge(envelope, ring(threshold, ana, ben));
    expect([codes(report), report.statement]).toEqual([['signature.threshold'], null]);
    expect(report.signatures.map(({ reason }) => reason)).toEqual(reasons);
  });

  it('not under another payload type, nor if what was signed is something else', () => {
    expect(codes(judge({ ...signedBy([ana], payload), payloadType: 'application/json' }, ring(1, ana)))).toEqual([
      'signature.threshold',
    ]);
    expect(codes(judge(signedBy([ana], payload, 'application/json'), ring(1, ana)))).toEqual(['statement.type']);
    expect(codes(judge(signedBy([ana], Buffer.from('{}')), ring(1, ana)))).toEqual(['statement.malformed']);
    const spaced = Buffer.from(JSON.stringify(JSON.parse(text(payload)), null, 2));
    expect(codes(judge(signedBy([ana], spaced), ring(1, ana)))).toEqual(['statement.malformed']);
  });

  it('not after a change of any byte', () => {
    const file = encodeEnvelope(signedBy([ana], payload));
    // Under another name it is no id, and a signature needs none.
    const name = file.indexOf('keyid');
    expect(name).toBeGreaterThan(0);
    const accepted: number[] = [];
    for (let at = 0; at < file.length; at += 1) {
      if (at >= name && at < name + 'keyid'.length) continue;
      const changed = Buffer.from(file);
      changed[at] = (changed[at] ?? 0) ^ 1;
      const parsed = parseOrNull(changed.toString());
      const envelope = decodeEnvelope(parsed);
      if (typeof envelope !== 'string' && judge(envelope, ring(1, ana)).faults.length === 0) accepted.push(at);
    }
    expect(accepted).toEqual([]);
  });

  test.each<[string, Partial<Expected>, readonly string[]]>([
    ['of another snapshot', { snapshot: `sha256:${'cd'.repeat(32)}` }, ['statement.subject']],
    ['of another policy', { policy: 'other' }, ['statement.policy']],
    ['for another environment', { environment: 'staging' }, ['statement.environment']],
    ['of an older generation', { minimumGeneration: 8 }, ['statement.generation']],
    ['at its end', { at: OURS.expires }, ['statement.expired']],
    ['well before it is issued', { at: instantOf(OURS.issued - DAY) }, ['statement.not_yet_issued']],
    ['for several reasons', { environment: 'x', at: OURS.expires }, ['statement.environment', 'statement.expired']],
  ])('not %s', (_name, expected, faults) => {
    const report = judge(signedBy([ana], payload), ring(1, ana), expected);
    expect([codes(report), report.statement]).toEqual([faults, OURS]);
  });

  it('up to the edges of what is asked', () => {
    const edges: readonly Partial<Expected>[] = [
      { environment: 'production', minimumGeneration: 7 },
      { at: instantOf(OURS.expires - 1) },
      { at: instantOf(OURS.issued - STATEMENT_LIMITS.clockSkew) },
    ];
    for (const edge of edges) expect(codes(judge(signedBy([ana], payload), ring(1, ana), edge))).toEqual([]);
  });
});

/** The same point with s + L, which some libraries take for the same signature. */
function plusOrder({ signatures }: Envelope): Uint8Array {
  const bytes = Buffer.from(signatures[0]?.bytes ?? []);
  let carry = 0n;
  let order = 2n ** 252n + 27742317777372353535851937790883648493n;
  for (let i = 32; i < 64; i += 1) {
    const sum = BigInt(bytes[i] ?? 0) + (order & 255n) + carry;
    bytes[i] = Number(sum & 255n);
    carry = sum >> 8n;
    order >>= 8n;
  }
  return bytes;
}

function parseOrNull(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}
