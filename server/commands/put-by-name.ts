// A resource by its name, where its template asks for unique names: created if nobody has the name, and otherwise changed
// to what the request states. Both tell whether there was one, so this takes read and write, whichever it will be.
import { lineageOf, type NamespacePath } from '../../engine/index.js';
import type { RecordFields } from '../api/dataset-schema.js';
import { askedOf } from '../audit/event.js';
import { type Fragment, sql } from '../db/sql.js';
import { ApiProblem } from '../problem.js';
import { contentOf, referencesOf } from '../records/content.js';
import type { Command, Done, Found, Session } from './command.js';
import { insertNew } from './create-record.js';
import { assertOpen, assertRoom, holdReferences, judgeByTemplate } from './references.js';
import { access, alsoAllow, mustAllow } from './rules.js';
import { byId, type Ground, lockRecord, type StoredRecord, readGround, readRecord, updateRecord } from './stored.js';
import { lockNames, toLockByUniqueName } from './unique-names.js';

export interface PuttingByName {
  /** The id of the record if it is created. */
  readonly id: string;
  readonly namespace: NamespacePath;
  readonly name: string;
  readonly fields: RecordFields & { readonly template: string };
  /** The entity tag of the only revision that may be changed; null for any. */
  readonly ifMatch: string | null;
  /** `create`: a record that is already there is left alone. */
  readonly may: 'create' | 'create or change';
}

const FAMILY = 'resource';

export function putByName(putting: PuttingByName): Command {
  const { namespace, name, fields } = putting;
  const write = access(FAMILY, 'write', namespace);
  return {
    operation: `${FAMILY}.put`,
    touches: { family: FAMILY, namespace, name },
    refersTo: [fields.template.toLowerCase()],
    prepare: () =>
      Promise.resolve({
        asked: askedOf(write),
        rule: mustAllow(write),
        also: alsoAllow(access(FAMILY, 'read', namespace)),
        look: async (session) => {
          const [, record, ground] = await Promise.all([
            lockNames(session, [{ family: FAMILY, namespace, name }]),
            lockRecord(session, toLockByUniqueName({ family: FAMILY, namespace, name }), [
              sql`${sameAs(fields)} AS same`,
            ]),
            readGround(session, { namespaces: lineageOf(namespace), ids: [fields.template.toLowerCase()] }),
          ]);
          return () => put(session, putting, { record, ground });
        },
      }),
  };
}

/** Whether the record holds exactly what the request states. */
function sameAs(fields: PuttingByName['fields']): Fragment {
  const { description, properties, template } = contentOf(FAMILY, fields);
  return sql`(x.description IS NOT DISTINCT FROM ${description}::text AND x.properties = ${properties}::jsonb
      AND x.template IS NOT DISTINCT FROM ${template}::uuid)`;
}

interface Looked {
  readonly record: (StoredRecord & { readonly same?: unknown }) | null;
  readonly ground: Ground;
}

async function put(session: Session, putting: PuttingByName, { record, ground }: Looked): Promise<Done> {
  const { id, namespace, name, fields, ifMatch, may } = putting;
  // What is in an archived namespace may still be changed.
  if (record === null) assertOpen(ground, namespace);
  const isExpected =
    record === null ? ifMatch === null : may !== 'create' && (ifMatch ?? tagOf(record)) === tagOf(record);
  if (!isExpected) throw unexpected(record, may);
  assertRoom(fields);
  const template = ground.records.get(fields.template.toLowerCase());
  holdReferences(session, referencesOf(FAMILY, { template: fields.template }), { ...ground, namespace });
  if (template?.uniqueName !== true) throw namesNotUnique();
  const place = { family: FAMILY, namespace } as const;
  if (record?.same === true) return readRecord(session, place, byId(FAMILY, record.id));
  await judge(session, template, fields);
  const content = contentOf(FAMILY, { ...fields, name });
  if (record === null) return insertNew(session, { id, ...place, content, copiedFrom: null }, [template]);
  return updateRecord(
    session,
    { ...place, id: record.id },
    {
      columns: [
        sql`description = ${content.description}::text`,
        sql`properties = ${content.properties}::jsonb`,
        sql`template = ${content.template}::uuid`,
      ],
      dependsOn: [template],
    },
  );
}

function tagOf({ revision }: StoredRecord): string {
  return `"${String(revision)}"`;
}

/** A condition that fails says what is there, which the actor may read. */
function unexpected(record: StoredRecord | null, may: PuttingByName['may']): ApiProblem {
  if (record === null) return new ApiProblem('record.precondition', { title: 'No resource has this name' });
  if (may === 'create') return new ApiProblem('record.precondition', { title: 'A resource has this name already' });
  return new ApiProblem('record.precondition');
}

function judge(session: Session, template: Found, { properties = {} }: RecordFields): Promise<void> {
  return judgeByTemplate(session, template, { family: FAMILY, value: properties, uses: null, pointer: '/template' });
}

function namesNotUnique(): ApiProblem {
  const code = 'record.invalid';
  const message = 'is not a template that asks for unique names (`uniqueName`), so no record can be found by its name';
  return new ApiProblem(code, { errors: [{ pointer: '/template', code, message }] });
}
