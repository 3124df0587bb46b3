// Creates a record of one of the four families that live in a namespace.
import { type Family, lineageOf, type NamespacePath } from '../../engine/index.js';
import type { RecordFields } from '../api/dataset-schema.js';
import { askedOf } from '../audit/event.js';
import { contentOf, referencesOf, resourcesOf } from '../records/content.js';
import { judgedPart } from '../templates/judge-record.js';
import type { Command, Done, GivenName, NewRecord, Session } from './command.js';
import { assertOpen, assertRoom, assertUsable, hasRoom, holdReferences, judgeByTemplate } from './references.js';
import { access, mustAllow } from './rules.js';
import { doneOf, type Ground, insertRecord, readGround } from './stored.js';
import { asksForUniqueNames, assertFree, holdClaim, isNamed } from './unique-names.js';

export interface Creation {
  readonly id: string;
  readonly family: Family;
  readonly namespace: NamespacePath;
  readonly fields: RecordFields;
}

export function createRecord(creation: Creation): Command {
  const { id, family, namespace, fields } = creation;
  const write = access(family, 'write', namespace);
  return {
    operation: `${family}.create`,
    ...(isNamed(family) ? { gives: { family, namespace, ...namedBy(fields), makes: id } } : {}),
    prepare: () =>
      Promise.resolve({
        asked: askedOf(write),
        rule: mustAllow(write),
        look: async (session) => {
          const ids = referencesOf(family, fields).map((reference) => reference.id);
          const ground = await readGround(session, { namespaces: lineageOf(namespace), ids });
          return () => create(session, creation, ground);
        },
        atOnce: aloneOf(creation),
      }),
  };
}

/** The record, if it depends on nothing but its namespace. Null if it refers to others, or if anything is to be refused. */
function aloneOf({ id, family, namespace, fields }: Creation): NewRecord | null {
  const { schema = null } = fields;
  if (referencesOf(family, fields).length > 0 || schema !== null || !hasRoom(fields)) return null;
  return { id, family, namespace, content: contentOf(family, fields), copiedFrom: null };
}

function namedBy({ name = null, template = null }: RecordFields): Pick<GivenName, 'name' | 'template'> {
  return { name, template };
}

async function create(session: Session, creation: Creation, ground: Ground): Promise<Done> {
  const { id, family, namespace, fields } = creation;
  const references = referencesOf(family, fields);
  const template = ground.records.get(fields.template?.toLowerCase() ?? '');
  const claim = { family, namespace, name: fields.name ?? null, id: null, pointer: '/name' };
  const isUnique = asksForUniqueNames(session, claim, template);
  if (isUnique) holdClaim(session, claim);
  assertOpen(ground, namespace);
  if (isUnique) await assertFree(session, claim);
  assertRoom(fields);
  holdReferences(session, references, { ...ground, namespace });
  if (fields.schema !== undefined && fields.schema !== null) assertUsable(session, fields.schema);
  if (template !== undefined) {
    const value = fields[judgedPart(family)] ?? {};
    const uses = family === 'process-run' ? { resources: resourcesOf(fields.resources ?? {}), ...ground } : null;
    await judgeByTemplate(session, template, { family, value, uses, pointer: '/template' });
  }
  return insertNew(session, { id, family, namespace, content: contentOf(family, fields), copiedFrom: null });
}

export async function insertNew(session: Session, record: NewRecord): Promise<Done> {
  const written = await insertRecord(session, record);
  if (written === null) throw new TypeError('a record that was not stored');
  return doneOf(record, written);
}
