// A client of the feed's stream over a real connection: it gives the events as they come.
import { Agent, type IncomingMessage, request as httpRequest } from 'node:http';

export interface StreamEvent {
  /** `message` unless the stream says so. */
  readonly event: string;
  readonly id: string | null;
  readonly data: Readonly<Record<string, unknown>> | null;
}

export interface EventStreamClient {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** Everything that came by now. */
  readonly text: () => string;
  /** All events with data. */
  readonly events: () => readonly StreamEvent[];
  /** The id that a browser would send when it comes back. */
  readonly lastId: () => string;
  /** Waits until something holds of what came. */
  readonly until: (holds: (events: readonly StreamEvent[]) => boolean, milliseconds?: number) => Promise<void>;
  /** Resolves once the other side has ended it. */
  readonly ended: Promise<void>;
  readonly close: () => void;
}

export interface StreamAsked {
  readonly key?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export function openStream(
  port: number,
  { key, path = '/api/v1/changes', headers = {} }: StreamAsked,
): Promise<EventStreamClient> {
  const request = httpRequest({
    ...{ host: '127.0.0.1', port, path, method: 'GET', agent: new Agent() },
    headers: {
      accept: 'text/event-stream',
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...headers,
    },
  });
  return new Promise((resolve, reject) => {
    request.on('error', reject);
    request.on('response', (response) => {
      let text = '';
      const waiting = new Set<() => void>();
      response.setEncoding('utf8');
      response.on('data', (part: string) => {
        text += part;
        for (const look of [...waiting]) look();
      });
      response.on('error', () => undefined);
      const ended = new Promise<void>((end) => {
        response.once('close', end);
      });
      const events = (): readonly StreamEvent[] => eventsIn(text).filter(({ data }) => data !== null);
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        text: () => text,
        events,
        lastId: () => eventsIn(text).findLast(({ id }) => id !== null)?.id ?? '',
        ended,
        until: (holds, milliseconds = 20_000) =>
          new Promise((done, fail) => {
            const look = (): void => {
              if (!holds(events())) return;
              clearTimeout(timer);
              waiting.delete(look);
              done();
            };
            const timer = setTimeout(() => {
              waiting.delete(look);
              fail(new Error(`it did not come: ${text.slice(-500)}`));
            }, milliseconds);
            waiting.add(look);
            look();
          }),
        close: () => {
          request.destroy();
        },
      });
    });
    request.end();
  });
}

/** As https://html.spec.whatwg.org/multipage/server-sent-events.html has it, as far as the gateway uses it. */
function eventsIn(text: string): readonly StreamEvent[] {
  return text
    .split('\n\n')
    .slice(0, -1)
    .map((block) => {
      const fields = new Map(
        block
          .split('\n')
          .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trimStart()]),
      );
      const data = fields.get('data');
      return {
        event: fields.get('event') ?? 'message',
        id: fields.get('id') ?? null,
        data: data === undefined ? null : (JSON.parse(data) as StreamEvent['data']),
      };
    });
}
