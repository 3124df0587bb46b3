// Locks what the commands of a batch write in a fixed order, whatever the order of the commands: first the unique names,
// then the records. So of two batches that write the same, one waits for the other, and neither has to be aborted. What a
// command refers to is not waited for, because others are locked by then (`areStill` in stored.ts). If somebody was moving
// it, the commands begin again, and all that they refer to is locked here, too.
import { canonicalize, FAMILIES, type NamespacePath } from '../../engine/index.js';
import { isRecordId } from '../api/record-schema.js';
import { type Fragment, sql } from '../db/sql.js';
import { familyCode, IS_NAMED, outsideIndexes, storedPath } from '../db/tables.js';
import type { Command, GivenName, Session, TouchedName } from './command.js';
import { access } from './rules.js';
import { TO_CHANGE, TO_MOVE, TO_REFER } from './stored.js';
import { referencesOfStored } from './references.js';
import { lockNames } from './unique-names.js';

/**
 * Of what they write, only what the actor may write is locked, so other actors do not wait for it. A command on anything
 * else is refused when its turn comes. `dependsOn` are the ids of records that the actor may refer to.
 */
export async function lockInOrder(
  session: Session,
  commands: readonly Command[],
  dependsOn: ReadonlySet<string>,
): Promise<void> {
  const touched = commands.flatMap(({ touches }) => (touches === undefined ? [] : [touches]));
  const given = commands.flatMap(({ gives }) => (gives === undefined ? [] : [gives]));
  const put = touched.flatMap((one) => ('name' in one ? [one] : [])).filter((one) => mayGive(session, one));
  const names = [...put, ...(await namesOf(session, given)).filter((one) => mayGive(session, one))];
  if (names.length > 0) await lockNames(session, names);
  // Only now, because whoever had a lock may have made the record.
  const named = put.length === 0 ? [] : await holdersOf(session, put);
  const ids = touched.flatMap((one) => ('id' in one && isRecordId(one.id) ? [one.id] : []));
  const paths = touched.flatMap((one) => ('path' in one ? [storedPath(one.path)] : []));
  if (ids.length + paths.length + named.length + dependsOn.size === 0) return;
  const found = await session.rows<Placed>(
    // Each path is looked up by itself, as in `readGround`.
    sql`${placesOf([...ids, ...named])}
      UNION SELECT n.* FROM unnest(${paths}::text[]) AS o (path)
        CROSS JOIN LATERAL (SELECT x.id, x.family, x.path FROM records AS x WHERE x.family = 0 AND x.path = o.path OFFSET 0) AS n`,
  );
  const removed = new Set(commands.filter(removes).map(({ record }) => record?.toLowerCase()));
  const referred = dependsOn.size === 0 ? [] : await referredBy(session, commands);
  const locks = new Map<string, Lock>([...dependsOn, ...referred].map((id) => [id, 'refer']));
  for (const one of found) if (may(session, 'write', one)) locks.set(one.id, removed.has(one.id) ? 'move' : 'change');
  await session.rows(lockStatement(locks));
}

interface Placed {
  readonly id: string;
  /** Its code. */
  readonly family: number;
  readonly path: string;
}

function may({ judge }: Session, action: 'read' | 'write', { family: code, path }: Placed): boolean {
  const family = FAMILIES[code];
  const namespace = canonicalize(path);
  return family !== undefined && namespace.ok && judge(access(family, action, namespace.path)) === 'allow';
}

function placesOf(ids: readonly string[]): Fragment {
  return sql`SELECT x.id, x.family, x.path FROM records AS x WHERE x.id = ANY(${ids}::uuid[]) AND ${outsideIndexes(sql`x`)}`;
}

/** The ids of what the commands say that their records refer to, as far as the actor may read it. */
async function referredBy(session: Session, commands: readonly Command[]): Promise<readonly string[]> {
  const like = commands.flatMap(({ refersLike }) => (refersLike === undefined ? [] : [refersLike])).filter(isRecordId);
  const ids = [...commands.flatMap(({ refersTo = [] }) => refersTo), ...(await referencesLike(session, like))];
  const found = await session.rows<Placed>(placesOf(ids));
  return found.filter((one) => may(session, 'read', one)).map(({ id }) => id);
}

/** The ids of what these records refer to. */
async function referencesLike(session: Session, ids: readonly string[]): Promise<readonly string[]> {
  if (ids.length === 0) return [];
  const found = await session.rows<Parameters<typeof referencesOfStored>[1] & Pick<Placed, 'family'>>(
    sql`SELECT family, template, resources, slots FROM records WHERE id = ANY(${ids}::uuid[])`,
  );
  return found.flatMap(({ family: code, ...record }) => {
    const family = FAMILIES[code];
    return family === undefined ? [] : referencesOfStored(family, record).map(({ id }) => id);
  });
}

/** Whether others may not begin to refer to its record meanwhile. */
function removes({ operation }: Command): boolean {
  return operation.endsWith('.move') || operation.endsWith('.delete');
}

/** What a record is locked for. */
type Lock = 'move' | 'change' | 'refer';

/** `locks` says by id what each record is locked for. They are locked in the order of their ids. */
function lockStatement(locks: ReadonlyMap<string, Lock>): Fragment {
  return sql`SELECT FROM (
      SELECT o.id, o.why FROM unnest(${[...locks.keys()]}::uuid[], ${[...locks.values()]}::text[]) AS o (id, why) ORDER BY o.id OFFSET 0) AS o
    LEFT JOIN LATERAL (SELECT FROM records AS x WHERE x.id = o.id AND o.why = 'move' OFFSET 0 ${TO_MOVE}) AS m ON TRUE
    LEFT JOIN LATERAL (SELECT FROM records AS x WHERE x.id = o.id AND o.why = 'change' OFFSET 0 ${TO_CHANGE}) AS c ON TRUE
    LEFT JOIN LATERAL (SELECT FROM records AS x WHERE x.id = o.id AND o.why = 'refer' OFFSET 0 ${TO_REFER}) AS r ON TRUE`;
}

function mayGive({ judge }: Session, { family, namespace }: TouchedName): boolean {
  return (['read', 'write'] as const).every((action) => judge(access(family, action, namespace)) === 'allow');
}

/** A record as the store has it, or as an earlier command of the batch leaves it. */
interface Named {
  readonly namespace: NamespacePath;
  readonly name: string | null;
  readonly template: string | null;
}

/**
 * The names that must be unique, as far as they can be told before anything is locked: a record may be renamed until
 * then. The store orders who is missed here.
 */
async function namesOf(session: Session, given: readonly GivenName[]): Promise<readonly TouchedName[]> {
  const stated = given.filter(({ of, name, template }) => of !== undefined || (name !== null && template !== null));
  if (stated.length === 0) return [];
  const [records, templates] = await readNamed(session, stated);
  return stated.flatMap(({ family, of, makes, ...said }) => {
    const before = of === undefined ? undefined : records.get(of.toLowerCase());
    const { namespace = before?.namespace, name = before?.name, template = before?.template } = said;
    if (namespace === undefined) return [];
    const after = { namespace, name: name ?? null, template: template?.toLowerCase() ?? null };
    records.set((makes ?? of ?? '').toLowerCase(), after);
    // A template that is not in the store may be made by this batch.
    const isUnique = after.template !== null && (templates.get(after.template) ?? true);
    return isUnique && after.name !== null ? [{ family, namespace, name: after.name }] : [];
  });
}

/** The records by their ids, and whether templates ask for unique names. */
async function readNamed(
  session: Session,
  given: readonly GivenName[],
): Promise<readonly [Map<string, Named>, ReadonlyMap<string, boolean>]> {
  const ids = given.flatMap(({ of, template }) => [of, template].filter((id) => typeof id === 'string'));
  const rows = await session.rows<Omit<Named, 'namespace'> & { readonly id: string; readonly path: string } & Asks>(
    sql`SELECT x.id, x.path, x.name, x.template, t.id AS "asking", COALESCE(t.unique_name, x.unique_name) AS asks
      FROM records AS x LEFT JOIN LATERAL (SELECT r.id, r.unique_name FROM records AS r WHERE r.id = x.template OFFSET 0) AS t ON TRUE
      WHERE x.id = ANY(${ids.filter(isRecordId)}::uuid[])`,
  );
  const records = rows.flatMap(({ id, path, name, template }) => {
    const namespace = canonicalize(path);
    return namespace.ok ? [[id, { namespace: namespace.path, name, template }] as const] : [];
  });
  return [new Map(records), new Map(rows.map(({ id, asking, asks }) => [asking ?? id, asks]))];
}

interface Asks {
  /** The template of the record. */
  readonly asking: string | null;
  /** Whether that template, or the record itself if it is one, asks for unique names. */
  readonly asks: boolean;
}

/** The ids of those that have these names. */
async function holdersOf(session: Session, names: readonly TouchedName[]): Promise<readonly string[]> {
  const [families, paths, own] = [
    names.map(({ family }) => familyCode(family)),
    names.map(({ namespace }) => storedPath(namespace)),
    names.map(({ name }) => name),
  ];
  const found = await session.rows<{ readonly id: string }>(
    sql`SELECT x.id FROM unnest(${families}::smallint[], ${paths}::text[], ${own}::text[]) AS n (family, path, name)
      CROSS JOIN LATERAL (SELECT r.id FROM records AS r WHERE r.family = n.family AND r.path = n.path AND r.name = n.name
        AND r.unique_name AND r.archived_at IS NULL AND r.family ${IS_NAMED} OFFSET 0) AS x`,
  );
  return found.map(({ id }) => id);
}
