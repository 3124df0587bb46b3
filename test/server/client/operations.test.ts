// The client's table matches the routes: each operation for actors has the same method and path, and the client's types
// come from the same schemas of arguments and answers. The client loads nothing of the server.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import {
  ACTOR_SCHEMA,
  AGGREGATE_SCHEMA,
  COUNT_SCHEMA,
  PAGE_SCHEMA,
  PERMISSIONS_SCHEMA,
} from '../../../server/api/answer-schemas.js';
import { DECIDED_SCHEMA } from '../../../server/api/ask-schema.js';
import { CHANGES_SCHEMA } from '../../../server/api/changes-schema.js';
import { BATCH_SCHEMA, DELETED_SCHEMA, PUT_SCHEMA, writtenSchema } from '../../../server/api/command-schema.js';
import { EXPLAINED_SCHEMA } from '../../../server/api/explain-schema.js';
import { HELD_SCHEMA, HOLDERS_SCHEMA, VISIBLE_SCHEMA } from '../../../server/api/held-schema.js';
import { RECORD_SCHEMAS } from '../../../server/api/record-schema.js';
import type { TypeOf } from '../../../server/api/schema.js';
import { type AnswerOf, type OperationName, OPERATIONS } from '../../../server/client/operations.js';
import { declaredRoutes } from '../../support/api-description.js';
import { fromRoot } from '../../support/root.js';

const ANSWERS = {
  listChanges: CHANGES_SCHEMA,
  queryRecords: PAGE_SCHEMA,
  countRecords: COUNT_SCHEMA,
  aggregateRecords: AGGREGATE_SCHEMA,
  getNamespace: RECORD_SCHEMAS.namespace,
  getResourceTemplate: RECORD_SCHEMAS['resource-template'],
  getResource: RECORD_SCHEMAS.resource,
  getProcessTemplate: RECORD_SCHEMAS['process-template'],
  getProcessRun: RECORD_SCHEMAS['process-run'],
  putNamespace: PUT_SCHEMA,
  putResourceByName: writtenSchema('resource'),
  runBatch: BATCH_SCHEMA,
  whoami: ACTOR_SCHEMA,
  listPermissions: PERMISSIONS_SCHEMA,
  decide: DECIDED_SCHEMA,
  explain: EXPLAINED_SCHEMA,
  listHolders: HOLDERS_SCHEMA,
  listHeld: HELD_SCHEMA,
  listVisible: VISIBLE_SCHEMA,
  changeNamespace: writtenSchema('namespace'),
  archiveNamespace: writtenSchema('namespace'),
  restoreNamespace: writtenSchema('namespace'),
  createResourceTemplate: writtenSchema('resource-template'),
  changeResourceTemplate: writtenSchema('resource-template'),
  archiveResourceTemplate: writtenSchema('resource-template'),
  restoreResourceTemplate: writtenSchema('resource-template'),
  moveResourceTemplate: writtenSchema('resource-template'),
  deleteResourceTemplate: DELETED_SCHEMA,
  versionResourceTemplate: writtenSchema('resource-template'),
  createResource: writtenSchema('resource'),
  changeResource: writtenSchema('resource'),
  archiveResource: writtenSchema('resource'),
  restoreResource: writtenSchema('resource'),
  moveResource: writtenSchema('resource'),
  deleteResource: DELETED_SCHEMA,
  copyResource: writtenSchema('resource'),
  createProcessTemplate: writtenSchema('process-template'),
  changeProcessTemplate: writtenSchema('process-template'),
  archiveProcessTemplate: writtenSchema('process-template'),
  restoreProcessTemplate: writtenSchema('process-template'),
  moveProcessTemplate: writtenSchema('process-template'),
  deleteProcessTemplate: DELETED_SCHEMA,
  versionProcessTemplate: writtenSchema('process-template'),
  createProcessRun: writtenSchema('process-run'),
  changeProcessRun: writtenSchema('process-run'),
  archiveProcessRun: writtenSchema('process-run'),
  restoreProcessRun: writtenSchema('process-run'),
  moveProcessRun: writtenSchema('process-run'),
  deleteProcessRun: DELETED_SCHEMA,
  copyProcessRun: writtenSchema('process-run'),
} satisfies Readonly<Record<OperationName, object>>;

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
type Differing = {
  readonly [Name in OperationName]: Same<AnswerOf<Name>, TypeOf<(typeof ANSWERS)[Name]>> extends true ? never : Name;
}[OperationName];
/** Does not compile where the client has the answer of an operation otherwise. */
const NONE_DIFFERS: [Differing] extends [never] ? true : Differing = true;

describe('the operations of the client', () => {
  const routes = declaredRoutes().filter(({ access }) => !['public', 'health', 'admin', 'status'].includes(access));

  it('are those of the routes', () => {
    const ofClient = Object.entries(OPERATIONS).map(([name, { method, path }]) => `${name} ${method} ${path}`);
    expect(ofClient.sort()).toEqual(
      routes.map(({ operationId, method, path }) => `${operationId} ${method} ${path}`).sort(),
    );
  });

  it('answer what the routes declare', () => {
    expect(NONE_DIFFERS).toBe(true);
    const answers = new Map<string, object>(Object.entries(ANSWERS));
    for (const { operationId, output } of routes) {
      for (const { schema } of Object.values(output)) expect(schema).toEqual(answers.get(operationId));
    }
  });

  it('are sent again as it is safe: what changes nothing the second time, what creates with a key, nothing else', () => {
    for (const { operationId, method, access, input } of routes) {
      const { again } = new Map<string, { readonly again: string }>(Object.entries(OPERATIONS)).get(operationId) ?? {
        again: '',
      };
      const isKeyed = input.headers?.includes('idempotency-key') === true;
      // A change by name that its client made conditional does not succeed twice, unless it has a key.
      const mayBeKeyed = input.optional?.includes('idempotency-key') === true;
      const expected = mayBeKeyed
        ? 'keyed'
        : method !== 'PATCH' && (method !== 'POST' || access === 'visibility' || access === 'ask')
          ? 'safe'
          : isKeyed
            ? 'keyed'
            : 'once';
      expect([operationId, again]).toEqual([operationId, expected]);
    }
  });
});

describe('bailiwick/client', () => {
  it('loads its own files alone: no package, nothing of the server or the engine', () => {
    const seen = new Set<string>();
    const visit = (file: string): void => {
      if (seen.has(file)) return;
      seen.add(file);
      const text = readFileSync(file, 'utf8');
      for (const [, name = ''] of text.matchAll(/(?:from|import)\s*\(?['"]([^'"]+)['"]/g)) {
        expect(name).toMatch(/^\.\/[a-z-]+\.js$/);
        visit(join(dirname(file), name));
      }
    };
    visit(fromRoot('dist/server/client/index.js'));
    expect([...seen].map((file) => file.replace(/^.*\//, '')).sort()).toEqual([
      'batch.js',
      'client.js',
      'errors.js',
      'http.js',
      'index.js',
      'operation-of.js',
      'operations.js',
      'pause.js',
      'send.js',
      'transport.js',
    ]);
  });
});
