// Routes for keys that ask about others: each answers its question with a JSON object.
import type { Identity, RawActor } from '../../../engine/index.js';
import type { JsonSchema } from '../../api/schema.js';
import type { ActorCall, ActorRoute, BodyInput, RouteDescription } from '../route.js';

interface AskRoute<Value> extends Omit<RouteDescription, 'method' | 'output'> {
  readonly body: BodyInput<Value>;
  readonly schema: JsonSchema;
  readonly answer: (call: ActorCall, value: Value) => object | Promise<object>;
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
      return { status: 200, json: JSON.stringify(answered) };
    },
  };
}

/** Who has this identity alone, with a credential that narrows nothing. */
export function holderOf(identity: Identity): RawActor {
  return { kind: 'request', identities: [identity], credentialScopes: null, namespaceRestrictions: null };
}
