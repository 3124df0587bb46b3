// Reads what `decide` is asked about: an actor and a request (docs/cli.md "Requests for decide"). The engine judges whether
// texts are paths or scopes, so that a bad one is denied with its step. The command line and the gateway share this.
import {
  type Identity,
  makeIdentity,
  nearest,
  parseIdentity,
  type RawActor,
  type RawRequest,
  type ScopeName,
} from '../../engine/index.js';
import { isObject, pointerTo } from '../json/strict-json.js';

export interface Question {
  readonly actor: RawActor;
  readonly request: RawRequest;
}

/** Ends the reading of one question. `message` continues a sentence that begins with the place. */
export class QuestionFault extends Error {
  override readonly name = 'QuestionFault';

  /** A JSON pointer into the question. */
  readonly pointer: string;

  constructor(pointer: string, message: string) {
    super(message);
    this.pointer = pointer;
  }
}

export type Fields = Readonly<Record<string, unknown>>;

/** `scopes` are those that the policy knows. Throws `QuestionFault`. */
export function readQuestion({ actor, request }: Fields, scopes: readonly ScopeName[]): Question {
  return { actor: decodeActor(actor, scopes), request: decodeRequest(request) };
}

export function decodeActor(value: unknown, scopes: readonly ScopeName[]): RawActor {
  if (value === 'local') return { kind: 'local' };
  if (!isObject(value)) throw fault('/actor', 'must be an object, or `"local"`');
  const actor = fields(value, '/actor', ['identities', 'credentialScopes', 'namespaceRestrictions']);
  const restrictions = actor['namespaceRestrictions'] ?? null;
  return {
    kind: 'request',
    identities: list(actor['identities'], '/actor/identities').map((item, i) =>
      decodeIdentity(item, pointerTo('/actor/identities', i)),
    ),
    credentialScopes: decodeScopes(actor['credentialScopes'], scopes),
    namespaceRestrictions:
      restrictions === null
        ? null
        : list(restrictions, '/actor/namespaceRestrictions').map((item, i) =>
            text(item, pointerTo('/actor/namespaceRestrictions', i)),
          ),
  };
}

function decodeIdentity(value: unknown, pointer: string): Identity {
  let result;
  if (typeof value === 'string') result = parseIdentity(value);
  else {
    const { provider, subject } = fields(value, pointer, ['provider', 'subject']);
    result = makeIdentity(text(provider, `${pointer}/provider`), text(subject, `${pointer}/subject`));
  }
  if (!result.ok) throw fault(pointer, `is not an identity (${result.fault.replaceAll('_', ' ')})`);
  return result.identity;
}

/** Absent means all. Null is malformed, because nothing empty may ever mean all. */
function decodeScopes(value: unknown, scopes: readonly ScopeName[]): readonly string[] | null {
  if (value === undefined) return null;
  return list(value, '/actor/credentialScopes').map((item, i) => {
    const scope = scopes.find((known) => known === item);
    if (scope === undefined) throw fault(pointerTo('/actor/credentialScopes', i), notAScope(item, scopes));
    return scope;
  });
}

function notAScope(item: unknown, scopes: readonly ScopeName[]): string {
  const meant = typeof item === 'string' ? nearest(item, scopes) : null;
  return meant === null ? 'is not a scope' : `is not a scope; did you mean \`${meant}\`?`;
}

function decodeRequest(value: unknown): RawRequest {
  const kind = fields(value, '/request', null)['kind'];
  switch (kind) {
    case 'access': {
      const request = fields(value, '/request', ['kind', 'scope', 'context', 'target']);
      const target = text(request['target'], '/request/target');
      const context = request['context'] === undefined ? target : text(request['context'], '/request/context');
      return { kind, scope: text(request['scope'], '/request/scope'), context, target };
    }
    case 'create-namespace': {
      const request = fields(value, '/request', ['kind', 'namespace']);
      return { kind, namespace: text(request['namespace'], '/request/namespace') };
    }
    case 'copy': {
      const request = fields(value, '/request', ['kind', 'source', 'destination']);
      const missing = ['source', 'destination'].filter((key) => request[key] === undefined);
      if (missing.length > 0) throw fault('/request', `lacks ${missing.map((key) => `\`${key}\``).join(' and ')}`);
      return {
        kind,
        source: text(request['source'], '/request/source'),
        destination: text(request['destination'], '/request/destination'),
      };
    }
    default:
      throw fault('/request/kind', 'must be `access`, `create-namespace` or `copy`');
  }
}

/** An object with only these keys (null: any keys). A misspelled key must not pass for an absent one. */
export function fields(value: unknown, pointer: string, keys: readonly string[] | null): Fields {
  if (!isObject(value)) throw fault(pointer, 'must be an object');
  if (keys === null) return value;
  const unknown = Object.keys(value).find((key) => !keys.includes(key));
  if (unknown !== undefined) {
    const known = keys.map((key) => `\`${key}\``).join(', ');
    const meant = nearest(unknown, keys);
    const hint = meant === null ? '' : `did you mean \`${meant}\`? `;
    throw fault(pointerTo(pointer, unknown), `is not a known field; ${hint}known here: ${known}`);
  }
  return value;
}

function list(value: unknown, pointer: string): readonly unknown[] {
  if (!Array.isArray(value)) throw fault(pointer, 'must be a list');
  return value;
}

function text(value: unknown, pointer: string): string {
  if (typeof value !== 'string') throw fault(pointer, 'must be a string');
  return value;
}

function fault(pointer: string, message: string): QuestionFault {
  return new QuestionFault(pointer, message);
}
