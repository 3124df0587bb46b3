// The operations of the API as the client knows them, one line each. The types of their arguments and answers come from
// the same schemas that the routes use. These are imported only as types, so nothing of the server is loaded.
import type { ACTOR_SCHEMA, COUNT_SCHEMA, PAGE_SCHEMA, PERMISSIONS_SCHEMA } from '../api/answer-schemas.js';
import type {
  BatchBody,
  BATCH_SCHEMA,
  CopyBody,
  CreateBody,
  PatchBody,
  PUT_SCHEMA,
  WrittenSchema,
} from '../api/command-schema.js';
import type { RecordFields } from '../api/dataset-schema.js';
import type { CountEnvelope, QueryEnvelope } from '../api/query-schema.js';
import type { RECORD_SCHEMAS } from '../api/record-schema.js';
import type { TypeOf } from '../api/schema.js';

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
}

export interface Operation<Asked extends Arguments, Answer> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH';
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
  line: `${Operation<Asked, Answer>['method']} /${string}`,
  again: Operation<Asked, Answer>['again'],
): Operation<Asked, Answer> {
  const cut = line.indexOf(' ');
  const method = METHODS.find((one) => one === line.slice(0, cut));
  if (method === undefined) throw new TypeError(`no method of ours: ${line}`);
  return Object.freeze({ method, path: line.slice(cut + 1), again });
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH'] as const;

/** Records by family, with all their fields. */
export type Records = { readonly [F in keyof typeof RECORD_SCHEMAS]: TypeOf<(typeof RECORD_SCHEMAS)[F]> };
export type Family = keyof Records;

/** An actor who may write a record but not read it gets its id and revision. */
type Written<F extends Family> = TypeOf<WrittenSchema<F>>;

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

export const OPERATIONS = Object.freeze({
  queryRecords: operation<With<QueryEnvelope>, TypeOf<typeof PAGE_SCHEMA>>('POST /api/v1/query', 'safe'),
  countRecords: operation<With<CountEnvelope>, TypeOf<typeof COUNT_SCHEMA>>('POST /api/v1/query/count', 'safe'),
  getNamespace: operation<ByPath, Records['namespace']>('GET /api/v1/namespaces{path}', 'safe'),
  getResourceTemplate: operation<ById, Records['resource-template']>('GET /api/v1/resource-templates/{id}', 'safe'),
  getResource: operation<ById, Records['resource']>('GET /api/v1/resources/{id}', 'safe'),
  getProcessTemplate: operation<ById, Records['process-template']>('GET /api/v1/process-templates/{id}', 'safe'),
  getProcessRun: operation<ById, Records['process-run']>('GET /api/v1/process-runs/{id}', 'safe'),
  putNamespace: operation<ByPath & With<RecordFields>, TypeOf<typeof PUT_SCHEMA>>(
    'PUT /api/v1/namespaces{path}',
    'safe',
  ),
  changeNamespace: operation<ByPath & Revised & With<PatchBody>, Written<'namespace'>>(
    'PATCH /api/v1/namespaces{path}',
    'once',
  ),
  archiveNamespace: operation<ByPath & Revised, Written<'namespace'>>('POST /api/v1/namespaces{path}/archive', 'once'),
  restoreNamespace: operation<ByPath & Revised, Written<'namespace'>>('POST /api/v1/namespaces{path}/restore', 'once'),
  createResourceTemplate: operation<With<CreateBody> & Keyed, Written<'resource-template'>>(
    'POST /api/v1/resource-templates',
    'keyed',
  ),
  changeResourceTemplate: operation<ById & Revised & With<PatchBody>, Written<'resource-template'>>(
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
  createResource: operation<With<CreateBody> & Keyed, Written<'resource'>>('POST /api/v1/resources', 'keyed'),
  changeResource: operation<ById & Revised & With<PatchBody>, Written<'resource'>>(
    'PATCH /api/v1/resources/{id}',
    'once',
  ),
  archiveResource: operation<ById & Revised, Written<'resource'>>('POST /api/v1/resources/{id}/archive', 'once'),
  restoreResource: operation<ById & Revised, Written<'resource'>>('POST /api/v1/resources/{id}/restore', 'once'),
  copyResource: operation<ById & With<CopyBody> & Keyed, Written<'resource'>>(
    'POST /api/v1/resources/{id}/copies',
    'keyed',
  ),
  createProcessTemplate: operation<With<CreateBody> & Keyed, Written<'process-template'>>(
    'POST /api/v1/process-templates',
    'keyed',
  ),
  changeProcessTemplate: operation<ById & Revised & With<PatchBody>, Written<'process-template'>>(
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
  createProcessRun: operation<With<CreateBody> & Keyed, Written<'process-run'>>('POST /api/v1/process-runs', 'keyed'),
  changeProcessRun: operation<ById & Revised & With<PatchBody>, Written<'process-run'>>(
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
  copyProcessRun: operation<ById & With<CopyBody> & Keyed, Written<'process-run'>>(
    'POST /api/v1/process-runs/{id}/copies',
    'keyed',
  ),
  runBatch: operation<With<BatchBody> & Keyed, TypeOf<typeof BATCH_SCHEMA>>('POST /api/v1/batch', 'keyed'),
  whoami: operation<Arguments, TypeOf<typeof ACTOR_SCHEMA>>('GET /api/v1/whoami', 'safe'),
  listPermissions: operation<{ readonly query: { readonly namespace: string } }, TypeOf<typeof PERMISSIONS_SCHEMA>>(
    'GET /api/v1/permissions',
    'safe',
  ),
});

export type Operations = typeof OPERATIONS;
export type OperationName = keyof Operations;
export type AskedOf<Name extends OperationName> =
  Operations[Name] extends Operation<infer Asked extends Arguments, unknown> ? Asked : never;
export type AnswerOf<Name extends OperationName> =
  Operations[Name] extends Operation<Arguments, infer Answer> ? Answer : never;
