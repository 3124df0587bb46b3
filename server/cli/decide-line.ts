// Reads one line of `decide` into a question (docs/cli.md "Requests for decide"). The engine judges whether texts are
// paths or scopes, so that a bad one is denied with its step. A line that is no question at all is an error of the
// line.
import { isUtf8 } from 'node:buffer';
import {
  type Identity,
  type Instant,
  isScopeName,
  makeIdentity,
  nearest,
  parseIdentity,
  parseInstant,
  type RawActor,
  type RawRequest,
} from '../../engine/index.js';
import { parseStrictJson, pointerTo } from '../json.js';
import { CLI_LIMITS } from '../limits/command-line.js';

export type LineId = string | number | null;

export interface LineError {
  readonly code: string;
  readonly message: string;
}

export type DecideLine =
  | {
      readonly ok: true;
      readonly id: LineId;
      readonly actor: RawActor;
      readonly request: RawRequest;
      readonly at: Instant | null;
    }
  | { readonly ok: false; readonly id: LineId; readonly error: LineError };

/**
 * Paths and scopes, which are decided on whatever they hold. `canonicalize` is total (docs/meaning.md "Namespaces"): a
 * path that it refuses is denied at step 1, and an unknown scope is denied at its own step. An invalid identity or id
 * makes the line malformed.
 */
const JUDGED_TEXTS =
  /^\/request\/(?:scope|context|target|namespace|source|destination)$|^\/actor\/namespaceRestrictions\/\d+$/;

/** `at` is null if the line names none. */
export function parseDecideLine(bytes: Uint8Array): DecideLine {
  const mayHoldAnyText = (pointer: string): boolean => JUDGED_TEXTS.test(pointer);
  const parsed = parseStrictJson(bytes, { depth: CLI_LIMITS.requestDepth, isLine: true, mayHoldAnyText });
  if (!parsed.ok) {
    const { code, message, pointer } = parsed.fault;
    return {
      ok: false,
      id: refusedId(bytes, pointer),
      error: { code, message: pointer === '' ? message : `${pointer}: ${message}` },
    };
  }
  const id = idOf(parsed.value);
  try {
    return { ok: true, id, ...decodeLine(parsed.value) };
  } catch (error) {
    if (!(error instanceof LineFault)) throw error;
    return { ok: false, id, error: { code: 'request.schema', message: error.message } };
  }
}

/** Ends the decoding of one line; never leaves this file. */
class LineFault extends Error {}

type Fields = Readonly<Record<string, unknown>>;

function idOf(value: unknown): LineId {
  if (!isObject(value) || !Object.hasOwn(value, 'id')) return null;
  const { id } = value;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}

/** The id of a line that is refused for another reason, so that its answer can be recognized. */
function refusedId(bytes: Uint8Array, pointer: string): LineId {
  if (pointer === '/id') return null;
  const id = idOf(parseLoosely(bytes));
  // An id that would itself be refused, or that contained bytes that are not UTF-8, is not the id that was sent.
  if (id === null || (typeof id === 'string' && id.includes('\ufffd') && !isUtf8(bytes))) return null;
  // A larger number may have been a different one as it was written.
  if (typeof id === 'number' && Number.isInteger(id) && !Number.isSafeInteger(id)) return null;
  return parseStrictJson(JSON.stringify(id), { depth: 1 }).ok ? id : null;
}

function parseLoosely(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8')) as unknown;
  } catch {
    return null;
  }
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function decodeLine(value: unknown): { actor: RawActor; request: RawRequest; at: Instant | null } {
  const line = fields(value, '', ['id', 'actor', 'request', 'at']);
  const { id, at } = line;
  if (id !== undefined && typeof id !== 'string' && typeof id !== 'number') throw fault('/id', 'must be a string');
  return {
    actor: decodeActor(line['actor']),
    request: decodeRequest(line['request']),
    at: at === undefined ? null : decodeInstant(at),
  };
}

function decodeInstant(value: unknown): Instant {
  const instant = parseInstant(value);
  if (instant === null) throw fault('/at', 'must be an RFC 3339 instant with offset, such as `2027-01-01T00:00:00Z`');
  return instant;
}

function decodeActor(value: unknown): RawActor {
  if (value === 'local') return { kind: 'local' };
  if (!isObject(value)) throw fault('/actor', 'must be an object, or `"local"`');
  const actor = fields(value, '/actor', ['identities', 'credentialScopes', 'namespaceRestrictions']);
  const restrictions = actor['namespaceRestrictions'] ?? null;
  return {
    kind: 'request',
    identities: list(actor['identities'], '/actor/identities').map((item, i) =>
      decodeIdentity(item, pointerTo('/actor/identities', i)),
    ),
    credentialScopes: decodeScopes(actor['credentialScopes']),
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

/** Absent means all ten. Null is malformed, because nothing empty may ever mean all. */
function decodeScopes(value: unknown): readonly string[] | null {
  if (value === undefined) return null;
  return list(value, '/actor/credentialScopes').map((item, i) => {
    if (!isScopeName(item)) throw fault(pointerTo('/actor/credentialScopes', i), 'is not a scope');
    return item;
  });
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
function fields(value: unknown, pointer: string, keys: readonly string[] | null): Fields {
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

function fault(pointer: string, message: string): LineFault {
  return new LineFault(`${pointer === '' ? 'the line' : `\`${pointer}\``} ${message}`);
}
