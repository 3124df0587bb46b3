// What the names of an AuthZEN request mean here (docs/authzen.md "What the names mean"): the natural meaning, or that of
// the vocabulary in the settings. What has no meaning is null, and the answer to it is no.
import {
  canonicalize,
  type Family,
  type Identity,
  isFamily,
  makeIdentity,
  type NamespacePath,
  type Policy,
  type Request,
  ROOT,
  type ScopeName,
} from '../../../engine/index.js';
import { isRecordId } from '../../api/record-schema.js';
import type { ReportedAnswer } from '../../audit/cite.js';
import type { Database } from '../../db/database.js';
import { namespaceOfRecord } from '../../query/find-record.js';
import type { AuthzenVocabulary } from '../../asking/vocabulary.js';
import type { Entity, EvaluationRequest } from './authzen-request.js';

export interface WordsOptions {
  readonly db: Database;
  /** Null: every name has its natural meaning. */
  readonly vocabulary: AuthzenVocabulary | null;
}

/** What the ids of a type of resource are. */
export type ResourceKind =
  | { readonly kind: 'namespace' }
  | { readonly kind: 'records'; readonly family: Family }
  | { readonly kind: 'named'; readonly ids: ReadonlyMap<string, NamespacePath>; readonly isWhole: boolean };

export interface AuthzenWords {
  /** Null if a part means nothing. */
  readonly meaningOf: (
    asked: EvaluationRequest,
    call: { readonly policy: Policy; readonly gone: AbortSignal },
  ) => Promise<{ readonly identity: Identity; readonly request: Extract<Request, { kind: 'access' }> } | null>;
  readonly identityOf: (subject: Entity) => Identity | null;
  /** The provider that a type of subject stands for. */
  readonly providerOf: (type: string) => string | null;
  readonly scopeOf: (action: string, resourceType: string, policy: Policy) => ScopeName | null;
  /** The names of actions on such a resource, with their scopes, sorted. */
  readonly actionsOn: (resourceType: string, policy: Policy) => readonly (readonly [name: string, scope: ScopeName])[];
  readonly placeOf: (resource: Entity, gone: AbortSignal) => Promise<NamespacePath | null>;
  /** For the audit log: the record that a resource is, whether there is one or not. */
  readonly named: (resource: Entity) => Pick<ReportedAnswer, 'records'>;
  readonly kindOf: (resourceType: string) => ResourceKind | null;
  /** The context of the access; null if it names no namespace. */
  readonly contextOf: (from: unknown, target: NamespacePath) => NamespacePath | null;
  /** What every event about such a request has. */
  readonly told: Pick<ReportedAnswer, 'vocabulary'>;
  /** The event of a question whose parts mean nothing. */
  readonly meaningless: (operation: ReportedAnswer['operation']) => ReportedAnswer;
}

const SEGMENT = /^[a-z0-9._~-]{1,63}$/;

export function makeWords({ db, vocabulary }: WordsOptions): AuthzenWords {
  const { subjects = null, resources = null, actions = null } = vocabulary ?? {};
  const told = vocabulary === null ? {} : { vocabulary: vocabulary.digest };
  const familyOf = (type: string): Family | null => {
    if (resources === null) return isFamily(type) && type !== 'namespace' ? type : null;
    const word = resources.get(type);
    return word?.kind === 'store' ? word.family : null;
  };
  const providerOf = (type: string): string | null => (subjects === null ? type : (subjects.get(type) ?? null));
  const identityOf = ({ type, id }: Entity): Identity | null => {
    const provider = providerOf(type);
    const read = provider === null ? null : makeIdentity(provider, id);
    return read?.ok === true ? read.identity : null;
  };
  const actionsOn: AuthzenWords['actionsOn'] = (type, policy) => {
    if (actions !== null) return [...actions].sort(([a], [b]) => (a < b ? -1 : 1));
    const family = resources === null ? familyOf(type) : null;
    return policy.scopes
      .filter((scope) => family === null || scope.startsWith(`${family}:`))
      .map((scope) => [scope, scope]);
  };
  const scopeOf: AuthzenWords['scopeOf'] = (action, type, { scopes }) => {
    const known = (text: string | undefined): ScopeName | null => scopes.find((scope) => scope === text) ?? null;
    if (actions !== null) return known(actions.get(action));
    const family = resources === null ? familyOf(type) : null;
    const scope = family !== null && /^(?:read|write)$/.test(action) ? `${family}:${action}` : action;
    return family === null || scope.startsWith(`${family}:`) ? known(scope) : null;
  };
  const pathOf = (text: unknown): NamespacePath | null => {
    const read = canonicalize(text);
    return read.ok ? read.path : null;
  };
  const placeOf: AuthzenWords['placeOf'] = async ({ type, id }, gone) => {
    const family = familyOf(type);
    if (family !== null) return isRecordId(id) ? namespaceOfRecord(db, { family, id }, gone) : null;
    if (resources === null) return type === 'namespace' ? pathOf(id) : null;
    const word = resources.get(type);
    if (word?.kind === 'at') return word.path;
    if (word?.kind !== 'ids') return null;
    const known = word.ids.get(id);
    if (known !== undefined || word.under === null || !SEGMENT.test(id)) return known ?? null;
    return pathOf(`${word.under === ROOT ? '' : word.under}/${id}`);
  };
  const contextOf: AuthzenWords['contextOf'] = (from, target) => (from === null ? target : pathOf(from));
  return {
    identityOf,
    providerOf,
    scopeOf,
    actionsOn,
    placeOf,
    contextOf,
    told,
    named: ({ type, id }) => (familyOf(type) !== null && isRecordId(id) ? { records: [id] } : {}),
    kindOf: (type) => {
      const family = familyOf(type);
      if (family !== null) return { kind: 'records', family };
      if (resources === null) return type === 'namespace' ? { kind: 'namespace' } : null;
      const word = resources.get(type);
      if (word?.kind === 'at') return { kind: 'named', ids: new Map(), isWhole: false };
      return word?.kind === 'ids' ? { kind: 'named', ids: word.ids, isWhole: word.under === null } : null;
    },
    meaningOf: async ({ subject, action, resource, from }, { policy, gone }) => {
      const [identity, scope] = [identityOf(subject), scopeOf(action, resource.type, policy)];
      const target = await placeOf(resource, gone);
      const context = target === null ? null : contextOf(from, target);
      if (identity === null || scope === null || target === null || context === null) return null;
      return { identity, request: { kind: 'access', scope, context, target } };
    },
    meaningless: (operation) => ({ operation, decision: { decision: 'deny', step: 'canonicalize' }, ...told }),
  };
}
