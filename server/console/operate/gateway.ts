// The admin listener as the page asks it. What proves who asks stands in this closure alone: in no storage, no cookie, no
// address and no element, so it is gone with the page.
import type { Problem } from './answers.js';
import { type Refusal, refusalOf, unreachable } from './refusal.js';

export type Told<T> = { readonly kind: 'told'; readonly value: T } | Refusal;

export interface GatewayClient {
  readonly get: <T>(path: string) => Promise<Told<T>>;
  /** A body is sent as JSON; bytes are sent as they are. */
  readonly post: <T>(path: string, body?: object) => Promise<Told<T>>;
  readonly bytes: (path: string) => Promise<Told<Uint8Array>>;
}

/** JSON of the gateway that this page came from. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the one place that takes the gateway's word for a body
const parse: <T>(text: string) => T = JSON.parse;

export function makeGateway(credential: string, onRefused: (refusal: Refusal) => void): GatewayClient {
  const send = async <T>(path: string, init: RequestInit, read: (answer: Response) => Promise<T>): Promise<Told<T>> => {
    const told = await exchange(path, { ...init, credential }, read);
    if (told.kind === 'refused') onRefused(told);
    return told;
  };
  return {
    get: <T>(path: string) => send<T>(path, {}, json),
    post: <T>(path: string, body?: object) => send<T>(path, posting(body), json),
    bytes: (path) => send(path, {}, async (answer) => new Uint8Array(await answer.arrayBuffer())),
  };
}

/** Exchanges the code of a one-time address for a session. */
export function openSession(code: string): Promise<Told<{ readonly session: string }>> {
  return exchange('/session', { ...posting({ code }), credential: null }, (answer) => json(answer));
}

async function json<T>(answer: Response): Promise<T> {
  return parse<T>(await answer.text());
}

function posting(body?: object): RequestInit {
  if (body === undefined) return { method: 'POST' };
  const sent = body instanceof Uint8Array ? Uint8Array.from(body) : JSON.stringify(body);
  return { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: sent };
}

type Init = RequestInit & { readonly credential: string | null };

async function exchange<T>(
  path: string,
  { credential, ...init }: Init,
  read: (answer: Response) => Promise<T>,
): Promise<Told<T>> {
  const headers = new Headers(init.headers);
  if (credential !== null) headers.set('Authorization', `Bearer ${credential}`);
  try {
    const answer = await fetch(path, {
      ...init,
      headers,
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
      referrerPolicy: 'no-referrer',
    });
    if (answer.ok) return { kind: 'told', value: await read(answer) };
    const text = await answer.text();
    return refusalOf(answer.status, text.startsWith('{') ? parse<Problem>(text) : {});
  } catch {
    return unreachable();
  }
}
