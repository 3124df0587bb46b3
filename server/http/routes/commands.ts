// The writes: everything that makes, changes, moves or deletes a record of any family. This file reads what a
// request says, without a policy or a store. What the commands do is in server/commands.
import { canonicalize, FAMILIES, type Family, type NamespacePath, ROOT } from '../../../engine/index.js';
import {
  BY_NAME_SCHEMA,
  COPY_SCHEMAS,
  type CopyBody,
  CREATE_SCHEMAS,
  type CreateBody,
  DELETED_SCHEMA,
  EMPTY_SCHEMA,
  type MadeFamily,
  MOVE_SCHEMA,
  PATCH_SCHEMAS,
  patchShape,
  PUT_BODY_SCHEMA,
  PUT_SCHEMA,
  VERSION_SCHEMAS,
  type VersionFields,
  writtenSchema,
} from '../../api/command-schema.js';
import type { RecordFields } from '../../api/dataset-schema.js';
import { RECORD_SCHEMAS } from '../../api/record-schema.js';
import { bodyShape, shapeOf } from '../../api/body-shape.js';
import { archiveRecord, changeRecord, restoreRecord, type Target } from '../../commands/change-record.js';
import type { Command } from '../../commands/command.js';
import { copyRecord } from '../../commands/copy-record.js';
import { createRecord } from '../../commands/create-record.js';
import { deleteRecord } from '../../commands/delete-record.js';
import type { Executor } from '../../commands/execute.js';
import { moveRecord } from '../../commands/move-record.js';
import { putByName } from '../../commands/put-by-name.js';
import { putNamespace } from '../../commands/put-namespace.js';
import { versionTemplate } from '../../commands/version-template.js';
import { ApiProblem, inputProblem, type ProblemCode } from '../../problem.js';
import { contentFault } from '../../records/content.js';
import { type CommandRoute, commandRoute, type CommandRequest } from '../command-route.js';
import { misshapen } from '../message.js';
import { namespaceOfPath } from '../namespace-in.js';
import { jsonBody, type MediaType, type Output, required } from '../route.js';
import { collectionOf, words } from './names.js';

const PATCHES: readonly MediaType[] = Object.freeze(['application/merge-patch+json', 'application/json']);

const MADE: readonly MadeFamily[] = FAMILIES.filter((family) => family !== 'namespace');

export function makeCommandRoutes(execute: Executor): readonly CommandRoute[] {
  return [
    ...namespaceRoutes(execute),
    // Before the routes of `{id}`, which its path would match.
    byNameRoute(execute),
    ...MADE.flatMap((family) => [
      createRoute(execute, family),
      patchRoute(execute, family),
      ...lifecycleRoutes(execute, family),
      deleteRoute(execute, family),
      moveRoute(execute, family),
    ]),
    copyRoute(execute, 'resource'),
    copyRoute(execute, 'process-run'),
    versionRoute(execute, 'resource-template'),
    versionRoute(execute, 'process-template'),
  ];
}

/** Problems of commands that change an existing record. */
const CHANGE_PROBLEMS: readonly ProblemCode[] = ['record.archived', 'record.conflict', 'record.precondition'];
/** Of those families whose names may be unique. */
const NAMED: ReadonlySet<Family> = new Set(['resource', 'process-run']);
const NEW_PROBLEMS: readonly ProblemCode[] = [
  ...(['namespace.invalid', 'namespace.not_found', 'record.archived', 'idempotency.in_progress'] as const),
  ...(['record.conflict', 'record.name_taken', 'reference.not_found', 'record.invalid'] as const),
  'idempotency.key_reused',
];

const THERE = { type: 'application/json', schema: PUT_SCHEMA, headers: ['ETag'] } as const;

function namespaceRoutes(execute: Executor): readonly CommandRoute[] {
  const put = commandRoute<RecordFields>(execute, {
    method: 'PUT',
    path: '/api/v1/namespaces{path}',
    operationId: 'putNamespace',
    summary: 'Create a namespace below one that exists',
    problems: ['namespace.invalid', 'namespace.not_found', 'record.archived', 'record.conflict'],
    body: jsonBody(bodyShape<RecordFields>(PUT_BODY_SCHEMA), { description: 'Beamline AMX' }),
    output: { 200: THERE, 201: THERE },
    commandOf: ({ part, body, newId }) => putNamespace({ id: newId, namespace: namespaceOfPath(part), fields: body }),
  });
  return [put, patchRoute(execute, 'namespace'), ...lifecycleRoutes(execute, 'namespace')];
}

function patchRoute(execute: Executor, family: Family): CommandRoute {
  const isPlaced = family === 'process-run' || family === 'resource';
  return commandRoute(execute, {
    method: 'PATCH',
    path: recordPath(family),
    operationId: `change${RECORD_SCHEMAS[family].title}`,
    summary: `Change a ${words(family)} by a merge patch`,
    problems: [...problemsOf(family), ...(isPlaced ? (['reference.not_found', 'record.invalid'] as const) : [])],
    header: 'if-match',
    body: {
      ...jsonBody(patchShape(PATCH_SCHEMAS[family]), {
        description: 'Checked in November',
        properties: { checked: true },
      }),
      types: PATCHES,
    },
    output: changedOutput(family),
    commandOf: (said) => {
      assertContent({ name: said.body.name ?? null });
      return changeRecord(targetOf(family, said), said.body);
    },
  });
}

function lifecycleRoutes(execute: Executor, family: Family): readonly CommandRoute[] {
  const route = (verb: 'archive' | 'restore', make: (target: Target) => Command): CommandRoute =>
    commandRoute(execute, {
      method: 'POST',
      path: `${recordPath(family)}/${verb}`,
      operationId: `${verb}${RECORD_SCHEMAS[family].title}`,
      summary: `${verb === 'archive' ? 'Archive' : 'Restore'} a ${words(family)}`,
      problems: problemsOf(family),
      header: 'if-match',
      body: { ...jsonBody(bodyShape<object>(EMPTY_SCHEMA), {}), optional: true },
      output: changedOutput(family),
      commandOf: (said) => {
        const target = targetOf(family, said);
        // The root namespace always has a record, and it is never archived.
        if ('path' in target && target.path === ROOT) throw new ApiProblem('authz.denied', { step: 'canonicalize' });
        return make(target);
      },
    });
  return [route('archive', archiveRecord), route('restore', restoreRecord)];
}

function deleteRoute(execute: Executor, family: MadeFamily): CommandRoute {
  return commandRoute(execute, {
    method: 'DELETE',
    path: recordPath(family),
    operationId: `delete${RECORD_SCHEMAS[family].title}`,
    summary: `Delete an archived ${words(family)} for good`,
    problems: ['record.not_found', 'record.active', 'record.conflict', 'record.precondition'],
    header: 'if-match',
    body: jsonBody(bodyShape<object>(EMPTY_SCHEMA), {}),
    isBare: true,
    output: { 200: { type: 'application/json', schema: DELETED_SCHEMA } },
    commandOf: ({ part, ifMatch }) => deleteRecord({ family, id: part, ifMatch }),
  });
}

function moveRoute(execute: Executor, family: MadeFamily): CommandRoute {
  return commandRoute(execute, {
    method: 'POST',
    path: `${recordPath(family)}/move`,
    operationId: `move${RECORD_SCHEMAS[family].title}`,
    summary: `Move a ${words(family)} into another namespace`,
    problems: [
      ...problemsOf(family),
      ...(['namespace.invalid', 'namespace.not_found', 'record.referenced', 'reference.not_found'] as const),
    ],
    header: 'if-match',
    body: jsonBody(shapeOf(MOVE_SCHEMA), { namespace: '/beamlines/fmx' }),
    output: changedOutput(family),
    commandOf: ({ part, ifMatch, body }) =>
      moveRecord({ family, id: part, ifMatch, destination: namespaceOf(body.namespace, '/namespace') }),
  });
}

function createRoute(execute: Executor, family: MadeFamily): CommandRoute {
  return commandRoute(execute, {
    method: 'POST',
    path: collectionOf(family),
    operationId: `create${RECORD_SCHEMAS[family].title}`,
    summary: `Create a ${words(family)} in a namespace`,
    problems: NEW_PROBLEMS,
    header: 'idempotency-key',
    body: jsonBody(bodyShape<CreateBody>(CREATE_SCHEMAS[family]), EXAMPLES[family]),
    output: madeOutput(family),
    commandOf: ({ body: { namespace, ...fields }, newId }) => {
      const path = namespaceOf(namespace, '/namespace');
      assertContent(fields);
      return createRecord({ id: newId, family, namespace: path, fields });
    },
  });
}

/** Its bytes are counted later. */
const ANY_NAME = /^[\s\S]{1,1024}$/u;

function byNameRoute(execute: Executor): CommandRoute {
  return commandRoute(execute, {
    method: 'PUT',
    path: `${collectionOf('resource')}/by-name`,
    operationId: 'putResourceByName',
    summary: 'Create or change a resource whose template asks for unique names',
    problems: [...NEW_PROBLEMS, 'record.precondition'],
    query: {
      namespace: required('The namespace of the resource, as a canonical path.', '/beamlines/amx'),
      name: required('The name of the resource.', 'lysozyme-7', ANY_NAME),
    },
    optional: ['if-match', 'if-none-match', 'idempotency-key'],
    body: jsonBody(shapeOf(BY_NAME_SCHEMA), {
      template: '0197bc63-6539-7ccb-b217-d1b0f3fab080',
      properties: { kind: 'crystal', resolutionA: 1.8 },
    }),
    output: {
      200: { type: 'application/json', schema: writtenSchema('resource'), headers: ['ETag', 'Idempotency-Replayed'] },
      201: madeOutput('resource')[201],
    },
    commandOf: ({ query, body, ifMatch, onlyNew, newId }) => {
      const namespace = namespaceOf(query.get('namespace') ?? '', '');
      const name = query.get('name') ?? '';
      if (name.includes('\0')) throw misshapen('the query parameter name is a string that no record can hold');
      assertContent({ name });
      return putByName({
        id: newId,
        namespace,
        name,
        fields: body,
        ifMatch: ifMatch === '' ? null : ifMatch,
        may: onlyNew ? 'create' : 'create or change',
      });
    },
  });
}

function copyRoute(execute: Executor, family: 'resource' | 'process-run'): CommandRoute {
  return commandRoute(execute, {
    method: 'POST',
    path: `${recordPath(family)}/copies`,
    operationId: `copy${RECORD_SCHEMAS[family].title}`,
    summary: `Copy a ${words(family)} into another namespace`,
    problems: ['record.not_found', ...NEW_PROBLEMS],
    header: 'idempotency-key',
    body: jsonBody(bodyShape<CopyBody>(COPY_SCHEMAS[family]), { destination: '/beamlines/fmx' }),
    output: madeOutput(family),
    commandOf: ({ part, body: { destination, name, properties }, newId }) => {
      const path = namespaceOf(destination, '/destination');
      assertContent({ name: name ?? null });
      return copyRecord({ id: newId, family, source: part, destination: path, name, properties });
    },
  });
}

function versionRoute(execute: Executor, family: 'resource-template' | 'process-template'): CommandRoute {
  return commandRoute(execute, {
    method: 'POST',
    path: `${recordPath(family)}/versions`,
    operationId: `version${RECORD_SCHEMAS[family].title}`,
    summary: `Make a new version of a ${words(family)}`,
    problems: ['record.not_found', ...NEW_PROBLEMS],
    header: 'idempotency-key',
    body: jsonBody(bodyShape<VersionFields>(VERSION_SCHEMAS[family]), { version: '3', schema: { type: 'object' } }),
    output: madeOutput(family),
    commandOf: ({ part, body, newId }) => {
      assertContent(body);
      return versionTemplate({ id: newId, family, source: part, fields: body });
    },
  });
}

function targetOf(family: Family, { part, ifMatch }: CommandRequest<unknown>): Target {
  return family === 'namespace' ? { family, path: namespaceOfPath(part), ifMatch } : { family, id: part, ifMatch };
}

function namespaceOf(text: string, pointer: string): NamespacePath {
  const named = canonicalize(text);
  if (named.ok) return named.path;
  throw inputProblem('namespace.invalid', pointer, 'is not a namespace path, like /labs/optics');
}

function assertContent(fields: RecordFields): void {
  const fault = contentFault(fields);
  if (fault !== null) throw new ApiProblem('request.schema', { errors: [{ ...fault, code: 'request.schema' }] });
}

function recordPath(family: Family): string {
  return family === 'namespace' ? '/api/v1/namespaces{path}' : `${collectionOf(family)}/{id}`;
}

function problemsOf(family: Family): readonly ProblemCode[] {
  const absent =
    family === 'namespace' ? (['namespace.invalid', 'namespace.not_found'] as const) : (['record.not_found'] as const);
  return [...absent, ...CHANGE_PROBLEMS, ...(NAMED.has(family) ? (['record.name_taken'] as const) : [])];
}

function changedOutput(family: Family): Output {
  return { 200: { type: 'application/json', schema: writtenSchema(family), headers: ['ETag'] } };
}

function madeOutput(family: Family): { readonly 201: Output[number] } {
  const headers = ['ETag', 'Location', 'Idempotency-Replayed'] as const;
  return { 201: { type: 'application/json', schema: writtenSchema(family), headers } };
}

/** From the beamlines of the demo. */
const EXAMPLES = Object.freeze({
  'resource-template': {
    namespace: '/beamlines',
    name: 'crystal',
    version: '2',
    schema: { type: 'object', required: ['resolutionA'], properties: { resolutionA: { type: 'number' } } },
  },
  resource: { namespace: '/beamlines/amx', name: 'lysozyme-7', properties: { kind: 'crystal', resolutionA: 1.8 } },
  'process-template': {
    namespace: '/beamlines',
    name: 'collect',
    version: '1',
    schema: {},
    slots: [{ name: 'sample' }],
  },
  'process-run': { namespace: '/beamlines/amx', name: 'collection 12', parameters: { exposureMs: 20 } },
});
