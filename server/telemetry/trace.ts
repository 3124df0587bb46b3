// W3C Trace Context: a request belongs to the trace that its sender began, or else to a new one. The same is true of
// requests that the gateway sends because of it. A value that is not exactly in the right format is replaced, so
// nothing else that a client sends gets into a log or a request.
import { randomBytes } from 'node:crypto';

/** A part of a trace that happens here. */
export interface TraceSpan {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits that nobody else has. */
  readonly spanId: string;
  /** Whether anybody else knows of it: the sender, or who records it. */
  readonly isKnown: boolean;
  /** Headers for every request that is sent because of it. */
  readonly headers: TraceHeaders;
  /** Call this once, when the work is over. */
  readonly end: (result: SpanResult) => void;
}

/** The outcome of a request: only names of ours, and nothing of what it asked for. */
export interface SpanResult {
  /** `other` if the route does not have this method. */
  readonly method: string;
  /** The path as the route declares it. */
  readonly route: string | null;
  /** Null if the client went away before its answer. */
  readonly status: number | null;
  readonly requestId: string;
  readonly snapshot: string | null;
  /** The code of the problem. */
  readonly code: string | null;
  readonly step: string | null;
}

export type TraceHeaders = Readonly<Partial<Record<'traceparent' | 'tracestate', string>>>;

/** What a sender states about the trace that its request belongs to. */
export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  /** Two hex digits. Only the defined bits are kept: whether it is sampled, and whether its id is random. */
  readonly flags: string;
  /** Empty if there is none. */
  readonly state: string;
}

const PARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const KNOWN_FLAGS = 0b11;
const MOST_MEMBERS = 32;
const MOST_CHARACTERS = 512;
const MEMBER = /^(?:[a-z0-9][a-z0-9_*/@-]{0,255})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/** Null if the header is absent or cannot be used; its `tracestate` is then ignored, too. */
export function readTraceParent(header: string | undefined, state: string | undefined): TraceParent | null {
  if (header === undefined) return null;
  const [, version = 'ff', traceId = '', spanId = '', flags = '', more = ''] = PARENT.exec(header) ?? [];
  // A later version may append more to what this one says.
  if (version === 'ff' || (version === '00' && more !== '')) return null;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  const known = Number.parseInt(flags, 16) & KNOWN_FLAGS;
  return { traceId, spanId, flags: `0${String(known)}`, state: readState(state) };
}

function readState(text = ''): string {
  if (text.length > MOST_CHARACTERS) return '';
  const members = text
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '');
  const keys = new Set(members.map((member) => member.slice(0, member.indexOf('='))));
  const isValid =
    members.length <= MOST_MEMBERS && keys.size === members.length && members.every((one) => MEMBER.test(one));
  return isValid ? members.join(',') : '';
}

/** Begins the gateway's own part of a trace. */
export type BeginSpan = (parent: TraceParent | null) => TraceSpan;

const unrecorded = (): void => undefined;

const TRACE_BYTES = 16;
const SPAN_BYTES = 8;
const POOL_SPANS = 256;
const NOT_SAMPLED = '00';

/** Spans that nobody records. They pass on what they were given, under ids of their own. */
export function makeUnrecordedSpans(): BeginSpan {
  let pool = Buffer.alloc(0);
  let at = 0;
  const hex = (bytes: number): string => {
    if (at + bytes > pool.length) {
      pool = randomBytes((TRACE_BYTES + SPAN_BYTES) * POOL_SPANS);
      at = 0;
    }
    at += bytes;
    return pool.toString('hex', at - bytes, at);
  };
  return (parent) => {
    const traceId = parent?.traceId ?? hex(TRACE_BYTES);
    const spanId = hex(SPAN_BYTES);
    const traceparent = `00-${traceId}-${spanId}-${parent?.flags ?? NOT_SAMPLED}`;
    const state = parent?.state ?? '';
    return {
      traceId,
      spanId,
      isKnown: parent !== null,
      headers: { traceparent, ...(state === '' ? {} : { tracestate: state }) },
      end: unrecorded,
    };
  };
}
