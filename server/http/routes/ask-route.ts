// Routes for keys that ask about others: each answers its question with a JSON object.
import type { Identity, RawActor } from '../../../engine/index.js';
import type { JsonSchema } from '../../api/schema.js';
import type { AskerBounds } from '../../asking/about-others.js';
import { ASK_LIMITS } from '../../limits/http.js';
import { inputProblem } from '../../problem.js';
import type { ActorCall, ActorRoute, BodyInput, RouteDescription } from '../route.js';

interface AskRoute<Value> extends Omit<RouteDescription, 'method' | 'output'> {
  readonly body: BodyInput<Value>;
  readonly schema: JsonSchema;
  /** An object, or its JSON. */
  readonly answer: (call: ActorCall, value: Value) => object | Promise<object | string>;
}

export function askRoute<Value>({ body, schema, answer, ...told }: AskRoute<Value>): ActorRoute {
  return {
    ...told,
    method: 'POST',
    access: 'ask',
    input: { body },
    output: { 200: { type: 'application/json', schema } },
    run: async (call) => {
      const answered = await answer(call, body.shape.asRead(call.body));
      return { status: 200, json: typeof answered === 'string' ? answered : JSON.stringify(answered) };
    },
  };
}

/** The JSON of an answer with one more member, whose elements are JSON already. */
export function withElements(answer: object, member: string, elements: readonly string[]): string {
  return `${JSON.stringify(answer).slice(0, -1)},"${member}":[${elements.join()}]}`;
}

/** Lets texts pass that have room in one answer. Throws `request.too_large` at the first that has none. */
export function makeRoom(place = '/items', message = TOO_MUCH): (text: string) => string {
  let bytes = 0;
  return (text) => {
    bytes += Buffer.byteLength(text);
    if (bytes > ASK_LIMITS.answerBytes) throw inputProblem('request.too_large', place, message);
    return text;
  };
}

const TOO_MUCH = 'the answers have more than 16 MiB together: ask fewer questions at once';

/** What an asker may ask about, without who it is. */
export function reachOf({ actor: { credentialScopes, namespaceRestrictions } }: Pick<ActorCall, 'actor'>): AskerBounds {
  return { credentialScopes, namespaceRestrictions };
}

/** Who has this identity alone, with a credential that narrows nothing. */
export function holderOf(identity: Identity): RawActor {
  return { kind: 'request', identities: [identity], credentialScopes: null, namespaceRestrictions: null };
}
