// A copy of a resource or of a process run into another namespace: what the source holds, except what the request
// states, under a new id. The copy is judged like any new record of its namespace: it must be able to use its template
// and, for a run, its resources.
import { lineageOf, type NamespacePath } from '../../engine/index.js';
import type { Json } from '../api/dataset-schema.js';
import { storedPath } from '../db/tables.js';
import { sql } from '../db/sql.js';
import { ApiProblem } from '../problem.js';
import { contentOf, type Reference, referencesOf } from '../records/content.js';
import { judgedPart } from '../templates/judge-record.js';
import { type Command, type Done, Moved, type Session } from './command.js';
import { insertNew } from './create-record.js';
import { assertOpen, assertRoom, holdReferences, judgeByTemplate } from './references.js';
import { locate, mustCopy, notFound, nothingThere } from './rules.js';
import { byId, readGround } from './stored.js';

export interface Copying {
  /** Of the copy. */
  readonly id: string;
  readonly family: 'resource' | 'process-run';
  readonly source: string;
  readonly destination: NamespacePath;
  readonly name: string | null | undefined;
  readonly properties: Json | undefined;
}

export function copyRecord(copying: Copying): Command {
  const { family, source, destination } = copying;
  return {
    operation: `${family}.copy`,
    record: source,
    prepare: async (session) => {
      const namespace = await locate(session, family, source);
      const rule = mustCopy(family, { source: namespace, destination });
      if (namespace === null) return nothingThere(rule);
      const asked = { source: namespace, destination, family };
      return { asked, rule, perform: (within) => copy(within, { ...copying, namespace }) };
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

/** `namespace` is where the source was found. */
async function copy(session: Session, copying: Copying & { readonly namespace: NamespacePath }): Promise<Done> {
  const { family, destination: namespace } = copying;
  const [source] = await session.rows<Source>(
    sql`SELECT x.path, x.archived_at IS NOT NULL AS archived, x.name, x.description, x.properties, x.template, x.parameters, x.resources
      FROM records AS x WHERE ${byId(family, copying.source)}`,
  );
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
  const ground = await readGround(session, { namespaces: lineageOf(namespace), ids });
  assertOpen(ground, namespace);
  if (source.archived) throw new ApiProblem('record.archived');
  assertRoom(fields);
  holdReferences(session, references.map(toDestination), { ...ground, namespace });
  const template = ground.records.get(source.template ?? '');
  if (template !== undefined) {
    const value = fields[judgedPart(family)];
    await judgeByTemplate(session, template, { family, value, pointer: '/destination' });
  }
  const copiedFrom = family === 'resource' ? copying.source.toLowerCase() : null;
  return insertNew(session, { id: copying.id, family, namespace, content: contentOf(family, fields), copiedFrom });
}

/** The body does not name the references of the source: it is the destination that cannot use them. */
function toDestination(reference: Reference): Reference {
  return { ...reference, pointer: '/destination' };
}
