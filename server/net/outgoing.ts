// Requests that the gateway itself sends, to addresses that come from its settings. They are bounded in bytes and time,
// never redirected and never decompressed, and use clear text only within this machine. Nothing that a client sends
// decides where they go.
import { lookup as systemLookup } from 'node:dns';
import { type IncomingMessage, request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { eitherSignal } from '../lib/either-signal.js';
import { isLoopbackAddress, isLoopbackHost, type NetworkReach, reachFault } from './addresses.js';

export interface OutgoingRequest {
  /** A URL that passes `urlFault`. */
  readonly url: string;
  /** The form or the text to POST; without one the request is a GET. */
  readonly form?: URLSearchParams;
  readonly text?: string;
  readonly headers?: Readonly<Partial<Record<string, string>>>;
  /** The limit on the answer's body. */
  readonly maxBytes: number;
  /** For the whole exchange, in milliseconds. */
  readonly timeout: number;
  /** How long the other side may say nothing, in milliseconds. Defaults to the whole time. */
  readonly silence?: number;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal?: AbortSignal;
  /** Certificates of the authorities to trust, in PEM form, instead of the system's. */
  readonly ca?: Buffer;
  /** Where names and addresses may lead. Defaults to anywhere. */
  readonly reach?: NetworkReach;
}

export interface OutgoingAnswer {
  /** The address that answered. */
  readonly from: string;
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** Why there is no answer, as a fixed text. The system's error is the cause. */
export class OutgoingError extends Error {
  override readonly name = 'OutgoingError';
}

/** Every status except a redirection counts as an answer. Rejects with `OutgoingError`. */
export async function send(request: OutgoingRequest): Promise<OutgoingAnswer> {
  const chunks: Buffer[] = [];
  const head = await receive(request, (chunk) => chunks.push(chunk));
  return { ...head, body: Buffer.concat(chunks) };
}

/** Like `send`, but hands over the body piece by piece. */
export async function receive(
  request: OutgoingRequest,
  take: (chunk: Buffer) => void,
): Promise<Omit<OutgoingAnswer, 'body'>> {
  const fault = urlFault(request.url);
  if (fault !== null) throw new OutgoingError(`the address ${fault}`);
  const patience = makePatience(request);
  try {
    return await exchange(request, patience, take);
  } finally {
    patience.end();
  }
}

async function exchange(
  request: OutgoingRequest,
  { deadline, signal, renew }: Patience,
  take: (chunk: Buffer) => void,
): Promise<Omit<OutgoingAnswer, 'body'>> {
  const response = await open(request, signal).catch((error: unknown) => {
    if (error instanceof OutgoingError) throw error;
    throw new OutgoingError(deadline.aborted ? TOO_SLOW : 'cannot be reached', { cause: error });
  });
  renew();
  const status = response.statusCode ?? 0;
  const from = response.socket.remoteAddress ?? '';
  try {
    if (status >= 300 && status < 400 && status !== NOT_MODIFIED) throw new OutgoingError(REDIRECTED);
    if ((response.headers['content-encoding'] ?? 'identity') !== 'identity') throw new OutgoingError(ENCODED);
    if (Number(response.headers['content-length'] ?? 0) > request.maxBytes) throw tooMuch(request.maxBytes);
    await readAll(response, request.maxBytes, (chunk) => {
      renew();
      take(chunk);
    });
    return { status, headers: response.headers, from };
  } catch (error) {
    response.destroy();
    if (error instanceof OutgoingError) throw error;
    throw new OutgoingError(deadline.aborted ? TOO_SLOW : 'did not finish its answer', { cause: error });
  }
}

/** How long an answer may take. */
interface Patience {
  readonly deadline: AbortSignal;
  /** The deadline, or nobody waits any more. */
  readonly signal: AbortSignal;
  /** Called when something has arrived. */
  readonly renew: () => void;
  readonly end: () => void;
}

function makePatience({ timeout, silence = timeout, signal: gone }: OutgoingRequest): Patience {
  const late = new AbortController();
  const giveUp = (): void => {
    late.abort();
  };
  const [whole, silent] = [setTimeout(giveUp, timeout), setTimeout(giveUp, silence)];
  const deadline = late.signal;
  const { signal, release } =
    gone === undefined ? { signal: deadline, release: NOTHING } : eitherSignal(deadline, gone);
  return {
    deadline,
    signal,
    renew: () => silent.refresh(),
    end: () => {
      clearTimeout(whole);
      clearTimeout(silent);
      release();
    },
  };
}

const NOTHING = (): void => undefined;

const NOT_MODIFIED = 304;
const TOO_SLOW = 'did not answer in time';
const REDIRECTED = 'answers with a redirect, which is not followed';
const ENCODED = 'answers with compressed data, which is not read';

/** What is wrong with an address, as the end of a sentence; null if requests may be sent to it. */
export function urlFault(text: string): string | null {
  if (!URL.canParse(text)) return 'must be a URL such as `https://id.example.org/`';
  const { protocol, hostname, username, password, hash } = new URL(text);
  if (username !== '' || password !== '') return 'must not hold a user or a password';
  if (hash !== '') return 'must not have a fragment';
  if (protocol === 'https:' || (protocol === 'http:' && isLoopbackHost(hostname))) return null;
  return 'must begin with `https://`; `http://` is for this machine only, as in `http://127.0.0.1:9000/`';
}

/** Like `urlFault`, but also refuses an address that no request may go to. */
export function reachedUrlFault(text: string, reach: NetworkReach): string | null {
  const fault = urlFault(text);
  if (fault !== null) return fault;
  const host = addressIn(text);
  return isIP(host) === 0 || isLoopbackAddress(host) ? null : reachFault(host, reach);
}

function addressIn(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '');
}

export function isLoopbackUrl(text: string): boolean {
  return isLoopbackHost(new URL(text).hostname);
}

function open(
  { url, form, text, headers = {}, ca, reach }: OutgoingRequest,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const body = form?.toString() ?? text;
  const type = form === undefined ? 'text/plain; charset=utf-8' : 'application/x-www-form-urlencoded';
  const { protocol, hostname } = new URL(url);
  const isPlain = protocol === 'http:';
  const faultOf = judgeOf(hostname, { isPlain, reach });
  // An address needs no look-up, so it is judged here.
  const host = addressIn(url);
  const fault = isIP(host) === 0 ? null : faultOf(host);
  if (fault !== null) return Promise.reject(new OutgoingError(fault));
  const options: RequestOptions = {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      Accept: 'application/json',
      'Accept-Encoding': 'identity',
      'User-Agent': 'bailiwick',
      ...(body === undefined ? {} : { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) }),
      ...headers,
    },
    agent: false,
    signal,
    lookup: judgedLookup(faultOf),
  };
  // No environment variable can weaken the check of certificates.
  const secure = { ...options, rejectUnauthorized: true, ...(ca === undefined ? {} : { ca }) };
  return new Promise((resolve, reject) => {
    const request = isPlain ? httpRequest(url, options, resolve) : httpsRequest(url, secure, resolve);
    request.on('error', reject);
    // After `101 Switching Protocols` Node ends the request without a response or an error. Without effect otherwise.
    request.on('close', () => {
      reject(new Error('the connection was closed without an answer'));
    });
    request.end(body);
  });
}

/** What is wrong with an address that a host resolves to; null if nothing is. */
type AddressCheck = (address: string) => string | null;

function judgeOf(
  hostname: string,
  { isPlain, reach }: { isPlain: boolean; reach: NetworkReach | undefined },
): AddressCheck {
  // `localhost` may resolve to another machine, and clear text must not go there.
  if (isPlain || (reach !== undefined && isLoopbackHost(hostname)))
    return (address) => (isLoopbackAddress(address) ? null : 'leads to an address that is not of this machine');
  return (address) => (reach === undefined ? null : reachFault(address, reach));
}

function judgedLookup(faultOf: AddressCheck): LookupFunction {
  return (hostname, options, callback) => {
    systemLookup(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) {
        callback(error, '', 0);
        return;
      }
      const allowed = found.filter(({ address }) => faultOf(address) === null);
      const [first] = allowed;
      const fault = found.map(({ address }) => faultOf(address)).find((one) => one !== null);
      if (first === undefined) callback(new OutgoingError(fault ?? 'leads nowhere'), '', 0);
      else if (options.all === true) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
}

function readAll(response: IncomingMessage, maxBytes: number, take: (chunk: Buffer) => void): Promise<void> {
  let size = 0;
  return new Promise((resolve, reject) => {
    response.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxBytes) reject(tooMuch(maxBytes));
      else take(chunk);
    });
    response.once('end', resolve);
    response.once('error', reject);
  });
}

function tooMuch(maxBytes: number): OutgoingError {
  return new OutgoingError(`answers with more than ${String(maxBytes)} bytes`);
}
