// A client over HTTP. It uses the platform's `fetch` and nothing else.
import { type Client, makeClient } from './client.js';
import { repeating, type Retries, type Sent, type Transport } from './transport.js';

export interface ConnectOptions {
  /** Where the gateway is, such as `https://records.example.org`. */
  readonly url: string;
  /** An API key or another bearer token. A function is called before each request, so that a token can be renewed. */
  readonly token?: string | (() => string | Promise<string>);
  /** Milliseconds for one attempt. Defaults to 30 seconds. */
  readonly timeout?: number;
  /**
   * How often a request is repeated that was refused for now (429, 503) or lost, if repeating is safe. Defaults to 3.
   */
  readonly retries?: number;
  /** Replaces the platform's `fetch`. */
  readonly fetch?: typeof fetch;
}

const TIMEOUT = 30_000;
const RETRIES: Retries = Object.freeze({ most: 3, first: 200, longest: 30_000 });

/** Does not open a connection yet. */
export function connect(options: ConnectOptions): Client {
  const { retries = RETRIES.most } = options;
  return makeClient(repeating(overHttp(options), { ...RETRIES, most: retries }));
}

function overHttp({ url, token, timeout = TIMEOUT, fetch: send = fetch }: ConnectOptions): Transport {
  const base = baseOf(url);
  return async ({ method, path, headers, body, signal }: Sent) => {
    const either = within(timeout, signal);
    try {
      const bearer = typeof token === 'function' ? await unlessAborted(either.signal, token) : token;
      const response = await send(base + path, {
        method,
        headers: headersOf({ ...headers, ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }) }),
        body,
        signal: either.signal,
        // A redirection is an error, so that the token is never sent to another address.
        redirect: 'error',
      });
      const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
      return {
        status: response.status,
        header: (name) => response.headers.get(name),
        text: await response.text(),
        retryAfter: Number.isFinite(seconds) && seconds >= 0 ? seconds : null,
      };
    } finally {
      either.release();
    }
  };
}

/**
 * A signal that is aborted after so many milliseconds, or with another one. `AbortSignal.timeout` is no use behind
 * `AbortSignal.any`: Node 20 forgets it when it collects garbage.
 */
function within(
  milliseconds: number,
  other: AbortSignal | null,
): { readonly signal: AbortSignal; readonly release: () => void } {
  const either = new AbortController();
  const timer = setTimeout(() => {
    either.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
  }, milliseconds);
  const stop = (): void => {
    either.abort(other?.reason);
  };
  if (other?.aborted === true) stop();
  other?.addEventListener('abort', stop);
  return {
    signal: either.signal,
    release: () => {
      clearTimeout(timer);
      other?.removeEventListener('abort', stop);
    },
  };
}

/** What `fetch` would say of a header that cannot be sent has its value in it, and looks like a lost connection. */
function headersOf(headers: Readonly<Record<string, string>>): Headers {
  const sent = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value.trim())) throw new RangeError(`the header ${name} cannot hold its value`);
    sent.append(name, value.trim());
  }
  return sent;
}

async function unlessAborted<T>(signal: AbortSignal, work: () => T | Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const working = work();
  const aborted = new Promise<never>((_, reject) => {
    const stop = (): void => {
      reject(signal.reason instanceof Error ? signal.reason : new Error('aborted', { cause: signal.reason }));
    };
    signal.addEventListener('abort', stop, { once: true });
  });
  return Promise.race([working, aborted]);
}

/** Without a slash at the end. Refuses a credential in the URL, which would appear in every log. */
function baseOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    throw new TypeError('`url` must be an http or https URL');
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new TypeError('`url` must have no user, no password, no query and no fragment');
  }
  return url.href.replace(/\/+$/, '');
}
