// Moves a record into another namespace. Its id and content stay, and everybody who reads there reads it from then on.
// So it takes what a copy takes, read at the source and write at the destination, and write at the source as well.
// References keep their rule on both sides: what the record refers to is at or above the destination, and so is the
// record for what refers to it.
import { type Family, isWithin, lineageOf, type NamespacePath } from '../../engine/index.js';
import type { CopyAsked } from '../audit/event.js';
import { sql, type Fragment } from '../db/sql.js';
import { isNamed, storedPath } from '../db/tables.js';
import { ApiProblem } from '../problem.js';
import { orTooLate } from '../query/compile-condition.js';
import { rowPredicate, visibleRows } from '../query/row-predicate.js';
import { type Command, type Done, Moved, type Perform, type Session } from './command.js';
import { assertOpen, holdReferences, referencesOfStored } from './references.js';
import { locate, mustMove, nothingThere } from './rules.js';
import { assertFree, holdClaim } from './unique-names.js';
import {
  byId,
  type DependedOn,
  type Ground,
  lockToMove,
  type StoredRecord,
  readGround,
  updateRecord,
} from './stored.js';

export interface Moving {
  readonly family: CopyAsked['family'];
  readonly id: string;
  readonly ifMatch: string;
  readonly destination: NamespacePath;
}

export function moveRecord(moving: Moving): Command {
  const { family, id, destination } = moving;
  return {
    operation: `${family}.move`,
    record: id,
    touches: { family, id },
    refersLike: id,
    ...(isNamed(family) ? { gives: { family, namespace: destination, of: id } } : {}),
    prepare: async (session) => {
      const source = await locate(session, family, id);
      const rule = mustMove(family, { source, destination });
      if (source === null) return nothingThere(rule);
      const look = async (within: Session): Promise<Perform> => {
        const [record, ground] = await Promise.all([
          lockToMove(within, byId(family, id), [sql`x.resources, x.slots`]),
          readGround(within, { namespaces: lineageOf(destination), ids: [] }),
        ]);
        return () => move(within, { ...moving, source }, { record, ground });
      };
      return { asked: { source, destination, family, moves: true }, rule, look };
    },
  };
}

interface Looked {
  readonly record: StoredRecord | null;
  /** Only the namespaces. */
  readonly ground: Ground;
}

async function move(
  session: Session,
  moving: Moving & { readonly source: NamespacePath },
  { record, ground }: Looked,
): Promise<Done> {
  const { family, destination, ifMatch, source } = moving;
  if (record === null || record.path !== storedPath(source)) throw new Moved();
  const { uniqueName, name, id } = record;
  const claim =
    uniqueName && isNamed(family) ? { family, namespace: destination, name, id, pointer: '/namespace' } : null;
  if (claim !== null) holdClaim(session, claim);
  assertOpen(ground, destination);
  if (record.archived) throw new ApiProblem('record.archived');
  if (claim !== null) await assertFree(session, claim);
  if (ifMatch !== `"${String(record.revision)}"`) throw new ApiProblem('record.precondition');
  const dependsOn = await holdOwn(session, record, moving);
  await assertReachable(session, moving);
  const columns = [sql`path = ${storedPath(destination)}::text`];
  return updateRecord(session, { family, id: record.id, namespace: destination }, { columns, dependsOn });
}

/** The body does not name the references of the record, so a fault is reported at the namespace that cannot use them. */
async function holdOwn(
  session: Session,
  record: StoredRecord,
  { family, destination }: Moving,
): Promise<readonly DependedOn[]> {
  const references = referencesOfStored(family, record).map((one) => ({ ...one, pointer: '/namespace' }));
  const { records } = await readGround(session, { namespaces: [], ids: references.map(({ id }) => id) });
  holdReferences(session, references, { records, namespace: destination });
  return [...records.values()];
}

/**
 * Refuses if a record that the actor may read refers to this one and could not do so any more. Others are not looked
 * for, because the refusal would say that they are there: their reference leads to where their readers may not follow.
 */
async function assertReachable(
  session: Session,
  { family, id, source, destination }: Moving & { readonly source: NamespacePath },
): Promise<void> {
  // What refers to it is at the source or below, so it is below the destination as well.
  if (isWithin(source, destination)) return;
  for (const [referring, refers] of REFERRERS[family]) {
    const visible = session.visible({ family: referring, context: source, reach: 'subtree' });
    if (visible.kind === 'none') continue;
    const rows = visibleRows({ predicate: rowPredicate(visible), family: referring, includeArchived: true }, sql`r.*`);
    const { longestQuery } = session;
    const condition = longestQuery === null ? refers(id) : orTooLate(longestQuery, refers(id));
    const [found] = await session.rows<{ readonly id: string }>(
      sql`SELECT x.id FROM ${rows} AS x WHERE NOT starts_with(x.path, ${storedPath(destination)}::text) AND ${condition} LIMIT 1`,
    );
    if (found === undefined) continue;
    const message = `is not at or above the ${referring} ${found.id}, which refers to this record`;
    throw new ApiProblem('record.referenced', {
      errors: [{ pointer: '/namespace', code: 'record.referenced', message }],
    });
  }
}

type Refers = (id: string) => Fragment;

const byTemplate: Refers = (id) => sql`COALESCE(x.template = ${id}::uuid, FALSE)`;
const bySlots: Refers = (id) =>
  sql`COALESCE(jsonb_path_query_array(x.slots, 'lax $[*].template') @> ${JSON.stringify([id.toLowerCase()])}::jsonb, FALSE)`;
const byResources: Refers = (id) =>
  sql`COALESCE(jsonb_path_query_array(x.resources, 'lax $.*') @> ${JSON.stringify([id.toLowerCase()])}::jsonb, FALSE)`;

/** By family, which families refer to it, and how. */
const REFERRERS: Readonly<Record<CopyAsked['family'], readonly (readonly [Family, Refers])[]>> = Object.freeze({
  'resource-template': [
    ['resource', byTemplate],
    ['process-template', bySlots],
  ],
  resource: [['process-run', byResources]],
  'process-template': [['process-run', byTemplate]],
  'process-run': [],
});
