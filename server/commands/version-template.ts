// A new version of a template: a record of its own beside the first, with the same name and what the request does not
// state. It is decided as a copy into the same namespace, because whoever gets it can read what the first one holds.
import { lineageOf, type NamespacePath, ROOT } from '../../engine/index.js';
import type { VersionFields } from '../api/command-schema.js';
import type { DatasetSlot, Json } from '../api/dataset-schema.js';
import { sql } from '../db/sql.js';
import { storedPath } from '../db/tables.js';
import { ApiProblem } from '../problem.js';
import { contentOf, referencesOf } from '../records/content.js';
import { type Command, type Done, Moved, type Perform, type Session } from './command.js';
import { insertNew } from './create-record.js';
import { assertOpen, assertRoom, assertUsable, holdReferences } from './references.js';
import { locate, mustCopy, notFound, nothingThere } from './rules.js';
import { byId, type Ground, readGround } from './stored.js';

export interface Versioning {
  /** The id of the new version. */
  readonly id: string;
  readonly family: 'resource-template' | 'process-template';
  /** The id of the template that it is a version of. */
  readonly source: string;
  readonly fields: VersionFields;
}

export function versionTemplate(versioning: Versioning): Command {
  const { family, source, fields } = versioning;
  return {
    operation: `${family}.version`,
    record: source,
    ...(fields.slots === undefined
      ? { refersLike: source }
      : { refersTo: referencesOf(family, fields).map(({ id }) => id) }),
    prepare: async (session) => {
      const namespace = await locate(session, family, source);
      if (namespace === null) return nothingThere(mustCopy(family, { source: null, destination: ROOT }));
      const sides = { source: namespace, destination: namespace };
      const look = async (within: Session): Promise<Perform> => {
        const [found, ground] = await Promise.all([
          readSource(within, versioning),
          readGround(within, { namespaces: lineageOf(namespace), ids: [] }),
        ]);
        return () => version(within, { ...versioning, namespace }, { found, ground });
      };
      return { asked: { ...sides, family }, rule: mustCopy(family, sides), look };
    },
  };
}

interface Source {
  readonly path: string;
  readonly archived: boolean;
  readonly name: string;
  readonly description: string | null;
  readonly properties: Json;
  readonly version: string | null;
  readonly schema: Json | null;
  readonly slots: readonly DatasetSlot[] | null;
  readonly uniqueName: boolean;
}

async function readSource(session: Session, { family, source }: Versioning): Promise<Source | null> {
  const [row] = await session.rows<Source>(
    sql`SELECT x.path, x.archived_at IS NOT NULL AS archived, x.name, x.description, x.properties, x.version, x.schema, x.slots, x.unique_name AS "uniqueName"
      FROM records AS x WHERE ${byId(family, source)}`,
  );
  return row ?? null;
}

interface Looked {
  readonly found: Source | null;
  /** Only the namespaces. */
  readonly ground: Ground;
}

/** `namespace` is where the template was found. */
async function version(
  session: Session,
  versioning: Versioning & { readonly namespace: NamespacePath },
  { found: source, ground }: Looked,
): Promise<Done> {
  const { id, family, namespace, fields: stated } = versioning;
  if (source === null) throw notFound('gone before it was read');
  if (source.path !== storedPath(namespace)) throw new Moved();
  assertOpen(ground, namespace);
  if (source.archived) throw new ApiProblem('record.archived');
  if (stated.version === source.version) throw sameVersion();
  const { name, description, properties, schema, slots, uniqueName } = source;
  const fields = { name, description, properties, schema, uniqueName, ...(slots === null ? {} : { slots }), ...stated };
  assertRoom(fields);
  const references = referencesOf(family, fields).map((one) =>
    // The body does not name the slots of the source, so a fault is reported where it could.
    stated.slots === undefined ? { ...one, pointer: '/slots' } : one,
  );
  const { records } = await readGround(session, { namespaces: [], ids: references.map(({ id: of }) => of) });
  holdReferences(session, references, { records, namespace });
  if (fields.schema !== null) assertUsable(session, fields.schema);
  return insertNew(session, { id, family, namespace, content: contentOf(family, fields), copiedFrom: null }, [
    ...records.values(),
  ]);
}

function sameVersion(): ApiProblem {
  const code = 'record.invalid';
  const message = 'is the version of the template itself; a new one needs another';
  return new ApiProblem(code, { errors: [{ pointer: '/version', code, message }] });
}
