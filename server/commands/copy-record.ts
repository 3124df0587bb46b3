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
import { type Command, type Done, Moved, type Perform, type Session } from './command.js';
import { insertNew } from './create-record.js';
import { assertOpen, assertRoom, DESTINATION, holdReferences, judgeByTemplate } from './references.js';
import { locate, mustCopy, notFound, nothingThere } from './rules.js';
import { byId, type Ground, readGround } from './stored.js';
import { asksForUniqueNames, assertFree, holdClaim } from './unique-names.js';

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
        return () => copy(within, { ...copying, namespace }, { found, ground });
      };
      return { asked, rule, look };
    },
  };
}

interface Source {
  readonly path: string;
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
    sql`SELECT x.path, x.archived_at IS NOT NULL AS archived, x.name, x.description, x.properties, x.template, x.parameters, x.resources
      FROM records AS x WHERE ${byId(family, source)}`,
  );
}

interface Looked {
  readonly found: Source | undefined;
  /** Only the namespaces. */
  readonly ground: Ground;
}

/** `namespace` is where the source was found. */
async function copy(
  session: Session,
  copying: Copying & { readonly namespace: NamespacePath },
  { found: source, ground }: Looked,
): Promise<Done> {
  const { family, destination: namespace } = copying;
  if (source === undefined) throw notFound('gone before it was copied');
  if (source.path !== storedPath(copying.namespace)) throw new Moved();
  const fields = {
    name: copying.name === undefined ? source.name : copying.name,
    description: source.description,
    properties: copying.properties ?? source.properties,
    template: source.template,
    parameters: source.parameters ?? {},
    resources: source.resources ?? {},
  };
  const references = referencesOf(family, fields);
  const ids = references.map((reference) => reference.id);
  const { records } = ids.length === 0 ? ground : await readGround(session, { namespaces: [], ids });
  const pointer = copying.name === undefined ? DESTINATION : '/name';
  const claim = { family, namespace, name: fields.name, id: null, pointer };
  const isUnique = asksForUniqueNames(session, claim, records.get(source.template ?? ''));
  if (isUnique) holdClaim(session, claim);
  assertOpen(ground, namespace);
  if (source.archived) throw new ApiProblem('record.archived');
  if (isUnique) await assertFree(session, claim);
  assertRoom(fields);
  holdReferences(session, references.map(toDestination), { records, namespace });
  const template = records.get(source.template ?? '');
  if (template !== undefined) {
    const value = fields[judgedPart(family)];
    const uses = family === 'process-run' ? { resources: fields.resources, records } : null;
    await judgeByTemplate(session, template, { family, value, uses, pointer: DESTINATION });
  }
  const copiedFrom = family === 'resource' ? copying.source.toLowerCase() : null;
  return insertNew(session, { id: copying.id, family, namespace, content: contentOf(family, fields), copiedFrom });
}

/**
 * The body does not name the references of the source, so a fault is reported at the destination, which cannot use
 * them.
 */
function toDestination(reference: Reference): Reference {
  return { ...reference, pointer: DESTINATION };
}
