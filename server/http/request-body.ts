// A request's body: its framing is checked before a byte is read (identity encoding, media type, size), then the bytes, then
// strict JSON, then the shape that the route declares. The route decides what the value means.
import { memberOf, parseStrictJson } from '../json/strict-json.js';
import { HTTP_LIMITS } from '../limits/http.js';
import { ApiProblem, inputProblem } from '../problem.js';
import { type Incoming, misshapen } from './message.js';
import type { Headers } from './request-head.js';
import type { BodyInput, MediaType, Upload, UploadInput } from './route.js';

/** The one JSON value of the body, of the declared shape, or a problem. */
export async function readJsonBody(
  incoming: Pick<Incoming, 'readBody'>,
  headers: Headers,
  input: BodyInput,
): Promise<unknown> {
  checkCodings(headers);
  if (input.optional === true && !hasBody(headers)) return input.shape.read({});
  checkType(headers, input.types);
  const most = input.maxBytes + (input.carries?.maxBytes ?? 0);
  if (declaredLength(headers) > most) throw new ApiProblem('request.too_large');
  const bytes = await incoming.readBody(most);
  const result = parseStrictJson(bytes, { depth: HTTP_LIMITS.jsonDepth });
  // A body that is not JSON carries nothing, so it gets no extra room.
  if (bytes.length > input.maxBytes + (result.ok ? roomFor(result.value, input) : 0)) {
    throw new ApiProblem('request.too_large');
  }
  if (result.ok) return input.shape.read(result.value);
  const { code, pointer, message } = result.fault;
  throw inputProblem(code, pointer, message);
}

/** Checks the framing now. The bytes are read when the route asks for them. */
export function openUpload(incoming: Incoming, headers: Headers, { types, maxBytes }: UploadInput): Upload {
  checkCodings(headers);
  checkType(headers, types);
  if (declaredLength(headers) > maxBytes) throw new ApiProblem('request.too_large');
  return { read: (onBytes) => incoming.readParts(maxBytes, onBytes) };
}

function checkCodings(headers: Headers): void {
  const encoding = headers.get('content-encoding');
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') throw new ApiProblem('request.encoding');
  checkTransferCoding(headers);
}

function checkType(headers: Headers, types: readonly MediaType[]): void {
  const type = headers.get('content-type');
  if (type === undefined || !types.some((one) => TYPES[one].test(type))) {
    throw new ApiProblem('request.media_type', { title: `The body must be ${types.join(' or ')}` });
  }
}

const TYPES: Readonly<Record<MediaType, RegExp>> = {
  'application/json': mediaType('application/json'),
  'application/merge-patch+json': mediaType('application/merge-patch+json'),
};

function mediaType(name: MediaType): RegExp {
  return new RegExp(String.raw`^${name.replace('+', String.raw`\+`)}[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8"))?$`, 'i');
}

/** How many bytes a body may have above its limit for the text that it carries. Nothing else can use that room. */
function roomFor(body: unknown, { carries }: BodyInput): number {
  if (carries === undefined) return 0;
  const carried = carries.at.reduce(memberOf, body);
  return typeof carried === 'string' ? carries.memberBytes + carried.length : 0;
}

/** Refuses a body on a route that takes none. */
export function readNoBody(headers: Headers): void {
  checkTransferCoding(headers);
  if (hasBody(headers)) throw misshapen('this route takes no body');
}

/** Node only decodes chunks, and passes on any other transfer coding unchanged. */
function checkTransferCoding(headers: Headers): void {
  const coding = headers.get('transfer-encoding');
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') throw new ApiProblem('request.encoding');
}

function hasBody(headers: Headers): boolean {
  return headers.get('transfer-encoding') !== undefined || declaredLength(headers) > 0;
}

/** 0 if no length is declared. Node has already refused anything that is not a number. */
function declaredLength(headers: Headers): number {
  return Number(headers.get('content-length') ?? 0);
}
