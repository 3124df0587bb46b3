// The operations of the API as the client knows them, one line each. The types of their arguments and answers come from
// the same schemas that the routes use. These are imported only as types, so nothing of the server is loaded.
import type {
  ACTOR_SCHEMA,
  AGGREGATE_SCHEMA,
  COUNT_SCHEMA,
  PAGE_SCHEMA,
  PERMISSIONS_SCHEMA,
} from '../api/answer-schemas.js';
import type { DecideBody, DECIDED_SCHEMA } from '../api/ask-schema.js';
import type {
  BatchBody,
  BATCH_SCHEMA,
  BY_NAME_SCHEMA,
  COPY_SCHEMAS,
  CREATE_SCHEMAS,
  DELETED_SCHEMA,
  MadeFamily,
  MOVE_SCHEMA,
  PATCH_SCHEMAS,
  PUT_BODY_SCHEMA,
  PUT_SCHEMA,
  VERSION_SCHEMAS,
  WrittenSchema,
} from '../api/command-schema.js';
import type { CHANGES_SCHEMA } from '../api/changes-schema.js';
import type { EXPLAINED_SCHEMA } from '../api/explain-schema.js';
import type {
  HELD_SCHEMA,
  HOLDERS_SCHEMA,
  VISIBLE_SCHEMA,
  VisibleBody,
  WhatCanBody,
  WhoCanBody,
} from '../api/held-schema.js';
import type { TypeOf } from '../api/schema.js';
import type { AggregateEnvelope, CountEnvelope, Family, QueryEnvelope, Records } from './queries.js';

/**
 * The arguments of an operation: the open part of its path, its query parameters, its body, and what its headers say.
 */
export interface Arguments {
  readonly id?: string;
  /** The path of a namespace, with its leading slash. */
  readonly path?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
  /** The revision that the change applies to: `If-Match`. */
  readonly revision?: number;
  /** `Idempotency-Key`. Defaults to a new key, so that the request can be repeated. */
  readonly idempotencyKey?: string;
  /** Only creates: `If-None-Match: *`. */
  readonly onlyNew?: boolean;
}

export interface ClientOperation<Asked extends Arguments, Answer> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  /**
   * `safe`: repeating it changes nothing. `keyed`: a create, which happens once per key. `once`: never repeated
   * automatically.
   */
  readonly again: 'safe' | 'keyed' | 'once';
  /** Only for their types; never present at run time. */
  readonly types?: { readonly asked: Asked; readonly answer: Answer };
}

function operation<Asked extends Arguments, Answer>(
  line: `${ClientOperation<Asked, Answer>['method']} /${string}`,
  again: ClientOperation<Asked, Answer>['again'],
): ClientOperation<Asked, Answer> {
  const cut = line.indexOf(' ');
  const method = METHODS.find((one) => one === line.slice(0, cut));
  if (method === undefined) throw new TypeError(`no method of ours: ${line}`);
  return Object.freeze({ method, path: line.slice(cut + 1), again });
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** An actor who may write a record but not read it gets its id and revision. */
export type Written<F extends Family> = TypeOf<WrittenSchema<F>>;
/** The families whose records are made in a namespace and found by id. */
export type Made = MadeFamily;
export type Copied = keyof typeof COPY_SCHEMAS;
/** The bodies of writes, by family. */
export type NewRecord<F extends Made> = TypeOf<(typeof CREATE_SCHEMAS)[F]>;
export type Patch<F extends Family> = TypeOf<(typeof PATCH_SCHEMAS)[F]>;
export type CopyTo<F extends Copied> = TypeOf<(typeof COPY_SCHEMAS)[F]>;
/** The families with versions. */
export type Versioned = keyof typeof VERSION_SCHEMAS;
export type NewVersion<F extends Versioned> = TypeOf<(typeof VERSION_SCHEMAS)[F]>;
export type NewNamespace = TypeOf<typeof PUT_BODY_SCHEMA>;
export type MoveTo = TypeOf<typeof MOVE_SCHEMA>;
export type Deleted = TypeOf<typeof DELETED_SCHEMA>;
export type NamedResource = TypeOf<typeof BY_NAME_SCHEMA>;
export type NamespaceThere = TypeOf<typeof PUT_SCHEMA>;

/** How the names of operations call the families. */
export const NAMES = Object.freeze({
  namespace: 'Namespace',
  'resource-template': 'ResourceTemplate',
  resource: 'Resource',
  'process-template': 'ProcessTemplate',
  'process-run': 'ProcessRun',
} as const satisfies Readonly<Record<Family, string>>);

interface ById {
  readonly id: string;
}
interface ByPath {
  readonly path: string;
}
interface Revised {
  readonly revision: number;
}
interface Keyed {
  readonly idempotencyKey?: string;
}
interface With<Body> {
  readonly body: Body;
}

/** The query parameters of the feed: all may be left out. */
interface FeedQuery {
  readonly query: { readonly [Name in 'after' | 'limit' | 'namespace' | 'families']?: string };
}

export const OPERATIONS = Object.freeze({
  listChanges: operation<FeedQuery, TypeOf<typeof CHANGES_SCHEMA>>('GET /api/v1/changes', 'safe'),
  queryRecords: operation<With<QueryEnvelope>, TypeOf<typeof PAGE_SCHEMA>>('POST /api/v1/query', 'safe'),
  countRecords: operation<With<CountEnvelope>, TypeOf<typeof COUNT_SCHEMA>>('POST /api/v1/query/count', 'safe'),
  aggregateRecords: operation<With<AggregateEnvelope>, TypeOf<typeof AGGREGATE_SCHEMA>>(
    'POST /api/v1/query/aggregate',
    'safe',
  ),
  getNamespace: operation<ByPath, Records['namespace']>('GET /api/v1/namespaces{path}', 'safe'),
  getResourceTemplate: operation<ById, Records['resource-template']>('GET /api/v1/resource-templates/{id}', 'safe'),
  getResource: operation<ById, Records['resource']>('GET /api/v1/resources/{id}', 'safe'),
  getProcessTemplate: operation<ById, Records['process-template']>('GET /api/v1/process-templates/{id}', 'safe'),
  getProcessRun: operation<ById, Records['process-run']>('GET /api/v1/process-runs/{id}', 'safe'),
  putNamespace: operation<ByPath & With<NewNamespace>, NamespaceThere>('PUT /api/v1/namespaces{path}', 'safe'),
  changeNamespace: operation<ByPath & Revised & With<Patch<'namespace'>>, Written<'namespace'>>(
    'PATCH /api/v1/namespaces{path}',
    'once',
  ),
  archiveNamespace: operation<ByPath & Revised, Written<'namespace'>>('POST /api/v1/namespaces{path}/archive', 'once'),
  restoreNamespace: operation<ByPath & Revised, Written<'namespace'>>('POST /api/v1/namespaces{path}/restore', 'once'),
  createResourceTemplate: operation<With<NewRecord<'resource-template'>> & Keyed, Written<'resource-template'>>(
    'POST /api/v1/resource-templates',
    'keyed',
  ),
  changeResourceTemplate: operation<ById & Revised & With<Patch<'resource-template'>>, Written<'resource-template'>>(
    'PATCH /api/v1/resource-templates/{id}',
    'once',
  ),
  archiveResourceTemplate: operation<ById & Revised, Written<'resource-template'>>(
    'POST /api/v1/resource-templates/{id}/archive',
    'once',
  ),
  restoreResourceTemplate: operation<ById & Revised, Written<'resource-template'>>(
    'POST /api/v1/resource-templates/{id}/restore',
    'once',
  ),
  moveResourceTemplate: operation<ById & Revised & With<MoveTo>, Written<'resource-template'>>(
    'POST /api/v1/resource-templates/{id}/move',
    'once',
  ),
  deleteResourceTemplate: operation<ById & Revised, Deleted>('DELETE /api/v1/resource-templates/{id}', 'safe'),
  versionResourceTemplate: operation<
    ById & With<NewVersion<'resource-template'>> & Keyed,
    Written<'resource-template'>
  >('POST /api/v1/resource-templates/{id}/versions', 'keyed'),
  createResource: operation<With<NewRecord<'resource'>> & Keyed, Written<'resource'>>(
    'POST /api/v1/resources',
    'keyed',
  ),
  putResourceByName: operation<
    { readonly query: { readonly namespace: string; readonly name: string } } & With<NamedResource> &
      Keyed &
      Pick<Arguments, 'revision' | 'onlyNew'>,
    Written<'resource'>
  >('PUT /api/v1/resources/by-name', 'keyed'),
  changeResource: operation<ById & Revised & With<Patch<'resource'>>, Written<'resource'>>(
    'PATCH /api/v1/resources/{id}',
    'once',
  ),
  archiveResource: operation<ById & Revised, Written<'resource'>>('POST /api/v1/resources/{id}/archive', 'once'),
  restoreResource: operation<ById & Revised, Written<'resource'>>('POST /api/v1/resources/{id}/restore', 'once'),
  copyResource: operation<ById & With<CopyTo<'resource'>> & Keyed, Written<'resource'>>(
    'POST /api/v1/resources/{id}/copies',
    'keyed',
  ),
  moveResource: operation<ById & Revised & With<MoveTo>, Written<'resource'>>(
    'POST /api/v1/resources/{id}/move',
    'once',
  ),
  deleteResource: operation<ById & Revised, Deleted>('DELETE /api/v1/resources/{id}', 'safe'),
  createProcessTemplate: operation<With<NewRecord<'process-template'>> & Keyed, Written<'process-template'>>(
    'POST /api/v1/process-templates',
    'keyed',
  ),
  changeProcessTemplate: operation<ById & Revised & With<Patch<'process-template'>>, Written<'process-template'>>(
    'PATCH /api/v1/process-templates/{id}',
    'once',
  ),
  archiveProcessTemplate: operation<ById & Revised, Written<'process-template'>>(
    'POST /api/v1/process-templates/{id}/archive',
    'once',
  ),
  restoreProcessTemplate: operation<ById & Revised, Written<'process-template'>>(
    'POST /api/v1/process-templates/{id}/restore',
    'once',
  ),
  moveProcessTemplate: operation<ById & Revised & With<MoveTo>, Written<'process-template'>>(
    'POST /api/v1/process-templates/{id}/move',
    'once',
  ),
  deleteProcessTemplate: operation<ById & Revised, Deleted>('DELETE /api/v1/process-templates/{id}', 'safe'),
  versionProcessTemplate: operation<ById & With<NewVersion<'process-template'>> & Keyed, Written<'process-template'>>(
    'POST /api/v1/process-templates/{id}/versions',
    'keyed',
  ),
  createProcessRun: operation<With<NewRecord<'process-run'>> & Keyed, Written<'process-run'>>(
    'POST /api/v1/process-runs',
    'keyed',
  ),
  changeProcessRun: operation<ById & Revised & With<Patch<'process-run'>>, Written<'process-run'>>(
    'PATCH /api/v1/process-runs/{id}',
    'once',
  ),
  archiveProcessRun: operation<ById & Revised, Written<'process-run'>>(
    'POST /api/v1/process-runs/{id}/archive',
    'once',
  ),
  restoreProcessRun: operation<ById & Revised, Written<'process-run'>>(
    'POST /api/v1/process-runs/{id}/restore',
    'once',
  ),
  moveProcessRun: operation<ById & Revised & With<MoveTo>, Written<'process-run'>>(
    'POST /api/v1/process-runs/{id}/move',
    'once',
  ),
  deleteProcessRun: operation<ById & Revised, Deleted>('DELETE /api/v1/process-runs/{id}', 'safe'),
  copyProcessRun: operation<ById & With<CopyTo<'process-run'>> & Keyed, Written<'process-run'>>(
    'POST /api/v1/process-runs/{id}/copies',
    'keyed',
  ),
  runBatch: operation<With<BatchBody> & Keyed, TypeOf<typeof BATCH_SCHEMA>>('POST /api/v1/batch', 'keyed'),
  whoami: operation<Arguments, TypeOf<typeof ACTOR_SCHEMA>>('GET /api/v1/whoami', 'safe'),
  listPermissions: operation<{ readonly query: { readonly namespace: string } }, TypeOf<typeof PERMISSIONS_SCHEMA>>(
    'GET /api/v1/permissions',
    'safe',
  ),
  decide: operation<With<DecideBody>, TypeOf<typeof DECIDED_SCHEMA>>('POST /api/v1/decide', 'safe'),
  explain: operation<With<DecideBody>, TypeOf<typeof EXPLAINED_SCHEMA>>('POST /api/v1/explain', 'safe'),
  listHolders: operation<With<WhoCanBody>, TypeOf<typeof HOLDERS_SCHEMA>>('POST /api/v1/who-can', 'safe'),
  listHeld: operation<With<WhatCanBody>, TypeOf<typeof HELD_SCHEMA>>('POST /api/v1/what-can', 'safe'),
  listVisible: operation<With<VisibleBody>, TypeOf<typeof VISIBLE_SCHEMA>>('POST /api/v1/visible', 'safe'),
});

/** A record as it was read: its id, or the path of a namespace, and its revision. A record itself is one. */
export type At<F extends Family> = {
  readonly revision: number;
} & (F extends 'namespace' ? { readonly namespace: string } : { readonly id: string });

export function nameOf(family: Family, at: At<Family>): Arguments {
  const { revision } = at;
  if (family === 'namespace') return { path: 'namespace' in at ? at.namespace : '', revision };
  return { id: 'id' in at ? at.id : '', revision };
}

export type Operations = typeof OPERATIONS;
export type OperationName = keyof Operations;
export type AskedOf<Name extends OperationName> =
  Operations[Name] extends ClientOperation<infer Asked extends Arguments, unknown> ? Asked : never;
export type AnswerOf<Name extends OperationName> =
  Operations[Name] extends ClientOperation<Arguments, infer Answer> ? Answer : never;
