// W3C Trace Context: what is continued, what is replaced, and that nothing from a client gets through unless it has
// exactly the right format.
import { describe, expect, it, test } from '@jest/globals';
import fc from 'fast-check';
import { makeUnrecordedSpans, readTraceParent } from '../../../server/telemetry/trace.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const GOOD = `00-${TRACE}-${SPAN}-01`;

describe('traceparent', () => {
  it('is read', () => {
    expect(readTraceParent(GOOD, 'a=1, b@c=2')).toEqual({
      traceId: TRACE,
      spanId: SPAN,
      flags: '01',
      state: 'a=1,b@c=2',
    });
  });

  test.each([
    ['not sampled', `00-${TRACE}-${SPAN}-00`, '00'],
    ['flags that nobody has defined', `00-${TRACE}-${SPAN}-ff`, '03'],
    ['a random id', `00-${TRACE}-${SPAN}-02`, '02'],
    ['a later version that says more', `cc-${TRACE}-${SPAN}-01-what-comes`, '01'],
    ['a later version', `01-${TRACE}-${SPAN}-01`, '01'],
  ])('%s', (_, header, flags) => {
    expect(readTraceParent(header, undefined)).toMatchObject({ traceId: TRACE, flags });
  });

  test.each([
    ['none', undefined],
    ['empty', ''],
    ['zeros for the trace', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['zeros for the parent', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['capital letters', GOOD.toUpperCase()],
    ['the version that is none', `ff-${TRACE}-${SPAN}-01`],
    ['more than version 00 has', `${GOOD}-more`],
    ['a later version without a dash', `01-${TRACE}-${SPAN}-01x`],
    ['too short', GOOD.slice(0, -1)],
    ['two of them', `${GOOD}, ${GOOD}`],
    ['white space', ` ${GOOD}`],
    ['a line end', `${GOOD}\n`],
  ])('is replaced: %s', (_, header) => {
    expect(readTraceParent(header, 'a=1')).toBeNull();
  });

  it('gets through in no other form', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.stringMatching(/^[0-9a-f]{2}-[0-9a-f]{30,34}-[0-9a-f]{14,18}-.{1,4}$/)),
        (text) => {
          const parent = readTraceParent(text, text);
          const { headers, traceId } = makeUnrecordedSpans()(parent);
          expect(headers.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-0[0-3]$/);
          if (parent !== null) expect(traceId).toBe(text.slice(3, 35));
        },
      ),
    );
  });
});

describe('tracestate', () => {
  const stateOf = (text: string | undefined): string | undefined => readTraceParent(GOOD, text)?.state;

  test.each([
    ['a=1', 'a=1'],
    ['a=1,,b=2', 'a=1,b=2'],
    ['0tenant@sys-1/x*=v w', '0tenant@sys-1/x*=v w'],
    [undefined, ''],
    ['', ''],
    ['a', ''],
    ['a=1,a=2', ''],
    ['A=1', ''],
    ['a=1=2', ''],
    ['a=ü', ''],
    ['a=\u0000', ''],
    [Array.from({ length: 33 }, (_, n) => `k${String(n)}=1`).join(','), ''],
    [`a=${'1'.repeat(256)},b=${'1'.repeat(254)}`, ''],
  ])('%j goes on as %j', (given, expected) => {
    expect(stateOf(given)).toBe(expected);
  });
});

describe('spans that nobody records', () => {
  const begin = makeUnrecordedSpans();

  it('continue the trace of the sender under an id of their own', () => {
    const span = begin(readTraceParent(GOOD, 'a=1'));
    expect(span.traceId).toBe(TRACE);
    expect(span.spanId).not.toBe(SPAN);
    expect(span.headers).toEqual({ traceparent: `00-${TRACE}-${span.spanId}-01`, tracestate: 'a=1' });
  });

  it('begin traces of their own, each another', () => {
    const spans = Array.from({ length: 1_000 }, () => begin(null));
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1_000);
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(1_000);
    for (const { headers, traceId, spanId } of spans) {
      expect(headers).toEqual({ traceparent: `00-${traceId}-${spanId}-00` });
    }
  });
});
