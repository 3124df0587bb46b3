// Requests that the gateway itself sends, to addresses that its settings lead to: bounded in bytes and time, in clear text only
// within this machine, never redirected and never decompressed. Nothing that a client sends chooses where they go.
import { lookup as systemLookup } from 'node:dns';
import { type IncomingMessage, request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { BlockList, isIP, type LookupFunction } from 'node:net';

export interface OutgoingRequest {
  /** One that `urlFault` has no fault of. */
  readonly url: string;
  /** POST of a form where there is one, else GET. */
  readonly form?: URLSearchParams;
  readonly headers?: Readonly<Partial<Record<string, string>>>;
  /** Of the answer's body. */
  readonly maxBytes: number;
  /** For all of it, in milliseconds. */
  readonly timeout: number;
}

export interface OutgoingAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** Why there is no answer, in fixed words; what the system says is the cause. */
export class OutgoingError extends Error {
  override readonly name = 'OutgoingError';
}

/** Every status but a redirection is an answer. Rejects with `OutgoingError`. */
export async function send(request: OutgoingRequest): Promise<OutgoingAnswer> {
  const fault = urlFault(request.url);
  if (fault !== null) throw new OutgoingError(`the address ${fault}`);
  const response = await open(request).catch((error: unknown) => {
    throw new OutgoingError(isTimeout(error) ? TOO_SLOW : 'cannot be reached', { cause: error });
  });
  const status = response.statusCode ?? 0;
  try {
    if (status >= 300 && status < 400 && status !== NOT_MODIFIED) throw new OutgoingError(REDIRECTED);
    if ((response.headers['content-encoding'] ?? 'identity') !== 'identity') throw new OutgoingError(ENCODED);
    return { status, headers: response.headers, body: await readAll(response, request.maxBytes) };
  } catch (error) {
    response.destroy();
    if (error instanceof OutgoingError) throw error;
    throw new OutgoingError(isTimeout(error) ? TOO_SLOW : 'did not finish its answer', { cause: error });
  }
}

const NOT_MODIFIED = 304;
const TOO_SLOW = 'did not answer in time';
const REDIRECTED = 'answers with a redirect, which is not followed';
const ENCODED = 'answers with compressed data, which is not read';

/** What is wrong with an address, as the end of a sentence; null where requests may be sent to it. */
export function urlFault(text: string): string | null {
  if (!URL.canParse(text)) return 'must be a URL such as `https://id.example.org/`';
  const { protocol, hostname, username, password, hash } = new URL(text);
  if (username !== '' || password !== '') return 'must not hold a user or a password';
  if (hash !== '') return 'must not have a fragment';
  if (protocol === 'https:' || (protocol === 'http:' && isLoopbackHost(hostname))) return null;
  return 'must begin with `https://`; `http://` is for this machine only, as in `http://127.0.0.1:9000/`';
}

export function isLoopbackUrl(text: string): boolean {
  return isLoopbackHost(new URL(text).hostname);
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

function isLoopbackHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '');
  return host === 'localhost' || isLoopbackAddress(host);
}

function isLoopbackAddress(address: string): boolean {
  const version = isIP(address);
  return version !== 0 && LOOPBACK.check(address, version === 4 ? 'ipv4' : 'ipv6');
}

function open({ url, form, headers = {}, timeout }: OutgoingRequest): Promise<IncomingMessage> {
  const body = form?.toString();
  const isPlain = new URL(url).protocol === 'http:';
  const options: RequestOptions = {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      Accept: 'application/json',
      'Accept-Encoding': 'identity',
      'User-Agent': 'bailiwick',
      ...(body === undefined
        ? {}
        : { 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Length': Buffer.byteLength(body) }),
      ...headers,
    },
    agent: false,
    signal: AbortSignal.timeout(timeout),
    // `localhost` may lead elsewhere, and what goes there in clear text must not.
    ...(isPlain ? { lookup: loopbackLookup } : {}),
  };
  return new Promise((resolve, reject) => {
    const request = (isPlain ? httpRequest : httpsRequest)(url, options, resolve);
    request.on('error', reject);
    request.end(body);
  });
}

const loopbackLookup: LookupFunction = (hostname, options, callback) => {
  systemLookup(hostname, { ...options, all: true }, (error, found) => {
    const ours = error === null ? found.filter(({ address }) => isLoopbackAddress(address)) : [];
    const [first] = ours;
    if (first === undefined) callback(error ?? new Error('not an address of this machine'), '', 0);
    else if (options.all === true) callback(null, ours);
    else callback(null, first.address, first.family);
  });
};

function readAll(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  return new Promise((resolve, reject) => {
    response.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxBytes) reject(new OutgoingError(`answers with more than ${String(maxBytes)} bytes`));
      else chunks.push(chunk);
    });
    response.once('end', () => {
      resolve(Buffer.concat(chunks));
    });
    response.once('error', reject);
  });
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && (error.name === 'TimeoutError' || isTimeout(error.cause));
}
