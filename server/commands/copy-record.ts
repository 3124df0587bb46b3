// A copy of a resource or of a process run in another namespace. It holds what the source holds, except what the
// request states, and has a new id. The copy is judged like any new record of its namespace: it must be able to use its
// template and, for a run, its resources.
import { lineageOf, type NamespacePath } from '../../engine/index.js';
import type { Json } from '../api/dataset-schema.js';
import { storedPath } from '../db/tables.js';
import { sql } from '../db/sql.js';
import { ApiProblem } from '../problem.js';
import { contentOf, type Reference, referencesOf } from '../records/content.js';
import { judgedPart } from '../templates/judge-record.js';
import {
  type AtOnce,
  type Command,
  type Done,
  type Found,
  Moved,
  type Perform,
  type RecordToCreate,
  type Session,
} from './command.js';
import { insertNew } from './create-record.js';
import { assertOpen, assertRoom, DESTINATION, holdReferences, judgeByTemplate } from './references.js';
import { locate, mustCopy, notFound, nothingThere } from './rules.js';
import { byId, type Ground, readGround } from './stored.js';
import { asksForUniqueNames, assertFree, type Claim, holdClaim } from './unique-names.js';

export interface Copying {
  /** The id of the copy. */
  readonly id: string;
  readonly family: 'resource' | 'process-run';
  readonly source: string;
  readonly destination: NamespacePath;
  readonly name: string | null | undefined;
  readonly properties: Json | undefined;
}

export function copyRecord(copying: Copying): Command {
  const { id, family, source, destination, name } = copying;
  return {
    operation: `${family}.copy`,
    record: source,
    gives: { family, namespace: destination, name, of: source, makes: id },
    refersLike: source,
    prepare: async (session) => {
      const namespace = await locate(session, family, source);
      const rule = mustCopy(family, { source: namespace, destination });
      if (namespace === null) return nothingThere(rule);
      const asked = { source: namespace, destination, family };
      const look = async (within: Session): Promise<Perform> => {
        const [[found], ground] = await Promise.all([
          readSource(within, copying),
          readGround(within, { namespaces: lineageOf(destination), ids: [] }),
        ]);
        return () => copy(within, { ...copying, namespace }, found, ground);
      };
      return { asked, rule, look, atOnce: (alone) => copyAtOnce(alone, { ...copying, namespace }) };
    },
  };
}

interface Source {
  readonly path: string;
  readonly revision: number;
  readonly archived: boolean;
  readonly name: string | null;
  readonly description: string | null;
  readonly properties: Json;
  readonly template: string | null;
  readonly parameters: Json | null;
  readonly resources: Readonly<Record<string, string>> | null;
}

function readSource(session: Session, { family, source }: Copying): Promise<readonly Source[]> {
  return session.rows<Source>(
    sql`SELECT x.path, x.revision, x.archived_at IS NOT NULL AS archived, x.name, x.description, x.properties, x.template, x.parameters, x.resources
      FROM records AS x WHERE ${byId(family, source)}`,
  );
}

/** `namespace` is where the source was found. */
type CopyingFrom = Copying & { readonly namespace: NamespacePath };

/** What a copy is to be. */
interface Drawn {
  readonly fields: Omit<Source, 'path' | 'revision' | 'archived' | 'parameters' | 'resources'> & {
    readonly parameters: Json;
    readonly resources: Readonly<Record<string, string>>;
  };
  readonly references: readonly Reference[];
  /** What it refers to. */
  readonly records: Ground['records'];
  readonly template: Found | undefined;
  readonly claim: Claim;
  readonly isUnique: boolean;
}

/** `ground` has only the namespaces. */
async function copy(session: Session, copying: CopyingFrom, found: Source | undefined, ground: Ground): Promise<Done> {
  const { source, drawn } = await draw(session, copying, found);
  if (drawn.isUnique) holdClaim(session, drawn.claim);
  assertOpen(ground, copying.destination);
  if (source.archived) throw new ApiProblem('record.archived');
  if (drawn.isUnique) await assertFree(session, drawn.claim);
  await judge(session, copying, drawn);
  return insertNew(session, recordOf(copying, drawn), [...drawn.records.values()]);
}

/** The statement looks whether the source has become another, or is archived. */
async function copyAtOnce(session: Session, copying: CopyingFrom): Promise<AtOnce | null> {
  const [found] = await readSource(session, copying);
  const { source, drawn } = await draw(session, copying, found);
  if (drawn.isUnique) return null;
  await judge(session, copying, drawn);
  const { namespace, source: id } = copying;
  const dependsOn = [{ id, namespace, revision: source.revision }, ...drawn.records.values()];
  return { kind: 'create', record: recordOf(copying, drawn), dependsOn };
}

/** Throws if the source is not where it was found. */
async function draw(
  session: Session,
  { family, namespace, destination, ...copying }: CopyingFrom,
  source: Source | undefined,
): Promise<{ readonly source: Source; readonly drawn: Drawn }> {
  if (source === undefined) throw notFound('gone before it was copied');
  if (source.path !== storedPath(namespace)) throw new Moved();
  const fields = {
    name: copying.name === undefined ? source.name : copying.name,
    description: source.description,
    properties: copying.properties ?? source.properties,
    template: source.template,
    parameters: source.parameters ?? {},
    resources: source.resources ?? {},
  };
  const references = referencesOf(family, fields);
  const { records } = await readGround(session, { namespaces: [], ids: references.map(({ id }) => id) });
  const template = records.get(source.template ?? '');
  const pointer = copying.name === undefined ? DESTINATION : '/name';
  const claim = { family, namespace: destination, name: fields.name, id: null, pointer };
  const isUnique = asksForUniqueNames(session, claim, template);
  return { source, drawn: { fields, references, records, template, claim, isUnique } };
}

async function judge(
  session: Session,
  { family, destination: namespace }: Copying,
  { fields, references, records, template }: Drawn,
): Promise<void> {
  assertRoom(fields);
  holdReferences(session, references.map(toDestination), { records, namespace });
  if (template === undefined) return;
  const value = fields[judgedPart(family)];
  const uses = family === 'process-run' ? { resources: fields.resources, records } : null;
  await judgeByTemplate(session, template, { family, value, uses, pointer: DESTINATION });
}

function recordOf({ id, family, destination: namespace, source }: Copying, { fields }: Drawn): RecordToCreate {
  const copiedFrom = family === 'resource' ? source.toLowerCase() : null;
  return { id, family, namespace, content: contentOf(family, fields), copiedFrom };
}

/**
 * The body does not name the references of the source, so a fault is reported at the destination, which cannot use
 * them.
 */
function toDestination(reference: Reference): Reference {
  return { ...reference, pointer: DESTINATION };
}
