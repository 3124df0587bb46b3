// Creates a record of one of the four families that live in a namespace.
import { type Family, lineageOf, type NamespacePath } from '../../engine/index.js';
import type { RecordFields } from '../api/dataset-schema.js';
import { askedOf } from '../audit/event.js';
import { isNamed } from '../db/tables.js';
import { contentOf, referencesOf, resourcesOf } from '../records/content.js';
import { judgedPart } from '../templates/judge-record.js';
import type { AtOnce, Command, Done, Found, GivenName, RecordToCreate, Session } from './command.js';
import { assertOpen, assertRoom, assertUsable, holdReferences, judgeByTemplate } from './references.js';
import { access, mustAllow } from './rules.js';
import { type DependedOn, doneOf, type Ground, insertRecord, readGround } from './stored.js';
import { asksForUniqueNames, assertFree, holdClaim } from './unique-names.js';

export interface Creation {
  readonly id: string;
  readonly family: Family;
  readonly namespace: NamespacePath;
  readonly fields: RecordFields;
}

export function createRecord(creation: Creation): Command {
  const { id, family, namespace, fields } = creation;
  const write = access(family, 'write', namespace);
  const ids = referencesOf(family, fields).map((reference) => reference.id);
  return {
    operation: `${family}.create`,
    refersTo: ids,
    ...(isNamed(family) ? { gives: { family, namespace, ...namedBy(fields), makes: id } } : {}),
    prepare: () =>
      Promise.resolve({
        asked: askedOf(write),
        rule: mustAllow(write),
        look: async (session) => {
          const ground = await readGround(session, { namespaces: lineageOf(namespace), ids });
          return () => create(session, creation, ground);
        },
        atOnce: (session) => createAtOnce(session, creation),
      }),
  };
}

function namedBy({ name = null, template = null }: RecordFields): Pick<GivenName, 'name' | 'template'> {
  return { name, template };
}

async function create(session: Session, creation: Creation, ground: Ground): Promise<Done> {
  const { family, namespace, fields } = creation;
  const claim = { family, namespace, name: fields.name ?? null, id: null, pointer: '/name' };
  const isUnique = asksForUniqueNames(session, claim, templateOf(creation, ground));
  if (isUnique) holdClaim(session, claim);
  assertOpen(ground, namespace);
  if (isUnique) await assertFree(session, claim);
  await judge(session, creation, ground);
  return insertNew(session, recordOf(creation), [...ground.records.values()]);
}

/** A unique name must be locked, so it takes a transaction. */
async function createAtOnce(session: Session, creation: Creation): Promise<AtOnce | null> {
  const { family, namespace, fields } = creation;
  const ids = referencesOf(family, fields).map((reference) => reference.id);
  // Without references nothing is read: the statement itself looks whether the namespace is open.
  const ground = await readGround(session, { namespaces: ids.length === 0 ? [] : lineageOf(namespace), ids });
  if (asksForUniqueNames(session, creation, templateOf(creation, ground))) return null;
  await judge(session, creation, ground);
  return { kind: 'create', record: recordOf(creation), dependsOn: [...ground.records.values()] };
}

/** Throws if the record may not be made, whatever its namespace is like. */
async function judge(session: Session, { family, namespace, fields }: Creation, ground: Ground): Promise<void> {
  assertRoom(fields);
  holdReferences(session, referencesOf(family, fields), { ...ground, namespace });
  if (fields.schema !== undefined && fields.schema !== null) assertUsable(session, fields.schema);
  const template = templateOf({ fields }, ground);
  if (template === undefined) return;
  const value = fields[judgedPart(family)] ?? {};
  const uses = family === 'process-run' ? { resources: resourcesOf(fields.resources ?? {}), ...ground } : null;
  await judgeByTemplate(session, template, { family, value, uses, pointer: '/template' });
}

function templateOf({ fields }: Pick<Creation, 'fields'>, { records }: Ground): Found | undefined {
  return records.get(fields.template?.toLowerCase() ?? '');
}

function recordOf({ id, family, namespace, fields }: Creation): RecordToCreate {
  return { id, family, namespace, content: contentOf(family, fields), copiedFrom: null };
}

export async function insertNew(
  session: Session,
  record: RecordToCreate,
  dependsOn: readonly DependedOn[],
): Promise<Done> {
  const written = await insertRecord(session, record, dependsOn);
  if (written === null) throw new TypeError('a record that was not stored');
  return doneOf(201, record, written);
}
