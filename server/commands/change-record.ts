// Changes of an existing record: a merge patch, archiving, restoring. The record is found by its id or, for a
// namespace, by its path. The decision is made for where it is, then the record is locked. Of two changes at once, one
// waits for the other, and then has the wrong revision.
import { canonicalize } from '../../engine/index.js';
import type { Json } from '../api/dataset-schema.js';
import { isRecordId } from '../api/record-schema.js';
import { askedOf } from '../audit/event.js';
import { sql, type Fragment } from '../db/sql.js';
import { isNamed, storedPath } from '../db/tables.js';
import { COMMAND_LIMITS } from '../limits/records.js';
import { ApiProblem } from '../problem.js';
import { referencesOf, resourcesOf } from '../records/content.js';
import { judgedPart } from '../templates/judge-record.js';
import { isIds } from '../templates/judge-slots.js';
import {
  type AtOnce,
  type Command,
  type GivenName,
  Moved,
  type Perform,
  type Rule,
  type Session,
  type Touched,
} from './command.js';
import { mergePatch } from './merge-patch.js';
import { assertRoom, holdReferences, judgeByTemplate } from './references.js';
import { access, mayRead, mustAllow, mustWriteRecord, notFound, nothingThere } from './rules.js';
import {
  type Assigned,
  byId,
  byPath,
  instant,
  lockRecord,
  type StoredRecord,
  type RecordPlace,
  readGround,
  readRecord,
  readStored,
  updateRecord,
} from './stored.js';
import { asksForUniqueNames, assertFree, type Claim, holdClaim } from './unique-names.js';

/** Which record is changed, and the revision that it must have, as an entity tag. */
export type Target = Touched & { readonly ifMatch: string };

/** A merge patch of the right shape. Null removes a member; the shape refuses null where nothing can be removed. */
export interface RecordPatch {
  readonly name?: string | null;
  readonly description?: string | null;
  readonly properties?: Json | null;
  readonly parameters?: Json | null;
  readonly template?: string | null;
  readonly resources?: Readonly<Record<string, string | null>> | null;
  readonly state?: string;
}

export function changeRecord(target: Target, patch: RecordPatch): Command {
  const { name, template } = patch;
  return change(target, {
    verb: 'change',
    gives: name !== undefined || template !== undefined ? { name, template } : null,
    refersTo: referencesOf(target.family, {
      ...(isRemade(patch) ? { template: patch.template } : {}),
      resources: referredTo(patch),
    }).map(({ id }) => id),
    documents: (session, place) => documentsFor(session, place, patch),
    claim: (session, place, record) => claimOf(session, { place, record, patch }),
    assign: (session, place, record) => assignedBy(session, { place, record, patch }),
  });
}

export function archiveRecord(target: Target): Command {
  return change(target, {
    verb: 'archive',
    assign: ({ at }) => assigned([sql`archived_at = GREATEST(x.updated_at, ${instant(at)})`]),
  });
}

/** Leaves a record unchanged if it is not archived. */
export function restoreRecord(target: Target): Command {
  return change(target, {
    verb: 'restore',
    gives: {},
    claim: (_, place, record) =>
      Promise.resolve(record.archived && isMarked(place, record) ? claimed(place, record, record.name) : null),
    assign: (_session, _place, { archived }) =>
      archived ? assigned([sql`archived_at = NULL`]) : Promise.resolve(null),
  });
}

interface Change {
  readonly verb: 'change' | 'archive' | 'restore';
  /** What the record is called afterwards, if that changes. */
  readonly gives?: Pick<GivenName, 'name' | 'template'> | null;
  readonly refersTo?: readonly string[];
  /** More columns that `assign` needs. */
  readonly documents?: (session: Session, place: RecordPlace) => readonly Fragment[];
  /** The name that the record has afterwards, if it must be unique and may not be so yet. */
  readonly claim?: (session: Session, place: RecordPlace, record: StoredRecord) => Promise<Claim | null>;
  /** Null if nothing changes. */
  readonly assign: (session: Session, place: RecordPlace, record: StoredRecord) => Promise<Assigned | null>;
}

function assigned(columns: readonly Fragment[]): Promise<Assigned> {
  return Promise.resolve({ columns, dependsOn: [] });
}

function change(
  target: Target,
  { verb, gives = null, refersTo = [], documents, claim: claiming, assign }: Change,
): Command {
  return {
    operation: `${target.family}.${verb}`,
    ...('id' in target ? { record: target.id } : {}),
    touches: target,
    refersTo,
    ...('id' in target && gives !== null && isNamed(target.family)
      ? { gives: { family: target.family, of: target.id, ...gives } }
      : {}),
    prepare: async (session) => {
      const { place, which, rule, found } = await find(session, target);
      if (place === null) return nothingThere(rule);
      const columnsFor = (within: Session): readonly Fragment[] => documents?.(within, place) ?? [];
      const look = async (within: Session): Promise<Perform> => {
        const record = await lockRecord(within, which, columnsFor(within));
        return async () => {
          if (record === null) throw absent(target);
          if (record.path !== storedPath(place.namespace)) throw new Moved();
          const claim = (await claiming?.(within, place, record)) ?? null;
          if (claim !== null) holdClaim(within, claim);
          // That a record is archived, or its name taken, is reported before a wrong revision.
          if (record.archived && verb !== 'restore') throw new ApiProblem('record.archived');
          if (claim !== null) await assertFree(within, claim);
          if (target.ifMatch !== `"${String(record.revision)}"`) throw new ApiProblem('record.precondition');
          const next = await assign(within, place, record);
          if (next === null) return readRecord(within, place, byId(place.family, record.id));
          return updateRecord(within, { ...place, id: record.id }, next);
        };
      };
      // Whatever is not as the request states is for the usual way to find out. A unique name takes a transaction.
      const atOnce = async (alone: Session): Promise<AtOnce | null> => {
        const more = columnsFor(alone);
        const record = found === null || more.length === 0 ? found : await readStored(alone, which, more);
        if (record === null || target.ifMatch !== `"${String(record.revision)}"`) return null;
        if (record.archived !== (verb === 'restore')) return null;
        if (((await claiming?.(alone, place, record)) ?? null) !== null) return null;
        const next = await assign(alone, place, record);
        if (next === null) return null;
        const { id, revision, archived } = record;
        const changed = { ...place, id, revision, archived, columns: next.columns };
        return { kind: 'change', record: changed, dependsOn: next.dependsOn };
      };
      return { asked: askedOf(access(place.family, 'write', place.namespace)), rule, look, atOnce };
    },
  };
}

interface Sought {
  /** Null if there is no such record. */
  readonly place: RecordPlace | null;
  readonly which: Fragment;
  readonly rule: Rule;
  /** The record that was found by its id. */
  readonly found: StoredRecord | null;
}

async function find(session: Session, target: Target): Promise<Sought> {
  if ('path' in target) {
    const { path: namespace } = target;
    const rule = mustAllow(access('namespace', 'write', namespace));
    return { place: { family: 'namespace', namespace }, which: byPath(namespace), rule, found: null };
  }
  const { family, id } = target;
  if (!isRecordId(id)) throw notFound('no id');
  const which = byId(family, id);
  const found = await readStored(session, which);
  const path = canonicalize(found?.path);
  const place = path.ok ? { family, namespace: path.path } : null;
  return { place, which, rule: mustWriteRecord(family, place?.namespace ?? null), found };
}

function absent(target: Target): ApiProblem {
  return 'path' in target ? new ApiProblem('namespace.not_found') : notFound('gone before it was locked');
}

type Documents = Pick<StoredRecord, 'properties' | 'parameters' | 'resources'>;

interface Patching {
  readonly place: RecordPlace;
  readonly record: StoredRecord;
  readonly patch: RecordPatch;
}

async function assignedBy(session: Session, patching: Patching): Promise<Assigned> {
  const { place, record, patch } = patching;
  const { properties, parameters, resources } = record;
  const stored: Documents = { properties, parameters, resources };
  const next: Documents = {
    ...(patch.properties === undefined ? {} : { properties: merged(stored.properties, patch.properties) }),
    ...(patch.parameters === undefined ? {} : { parameters: merged(stored.parameters, patch.parameters) }),
    ...(patch.resources === undefined ? {} : { resources: mergedResources(stored.resources, patch.resources) }),
  };
  assertRoom({ ...stored, ...next }, patch.description);
  if (isRemade(patch)) assertWhole(session, patching);
  const whole = { ...stored, ...next };
  const { family, namespace } = place;
  const references = referencesOf(
    family,
    isRemade(patch)
      ? { template: patch.template, ...(isIds(whole.resources) ? { resources: whole.resources } : {}) }
      : { resources: referredTo(patch) },
  );
  const part = judgedPart(family);
  const value = isRemade(patch) ? whole[part] : next[part];
  const used = isRemade(patch) ? whole.resources : next.resources;
  const template = judgedBy(patching, value !== undefined || used !== undefined);
  const ids = [...references.map(({ id }) => id), ...(template === null ? [] : [template])];
  const columns = columnsOf(patch, next);
  const { records } = await readGround(session, { namespaces: [], ids });
  holdReferences(session, references, { records, namespace });
  const found = records.get(template ?? '');
  const pointer = isRemade(patch) ? '/template' : '';
  const uses = used === undefined ? null : { resources: used, records };
  if (found !== undefined) await judgeByTemplate(session, found, { family, value, uses, pointer });
  return { columns, dependsOn: [...records.values()] };
}

async function claimOf(session: Session, { place, record, patch }: Patching): Promise<Claim | null> {
  const name = patch.name === undefined ? record.name : patch.name;
  if (isRemade(patch)) {
    const template = patch.template.toLowerCase();
    const { records } = await readGround(session, { namespaces: [], ids: [template] });
    return asksForUniqueNames(session, place, records.get(template)) ? claimed(place, record, name) : null;
  }
  const stays = patch.template === undefined && isMarked(place, record);
  return stays && patch.name !== undefined ? claimed(place, record, name) : null;
}

/** Of a template, the mark says what it asks for. */
function isMarked({ family }: RecordPlace, { uniqueName }: StoredRecord): boolean {
  return uniqueName && isNamed(family);
}

function claimed({ family, namespace }: RecordPlace, { id }: StoredRecord, name: string | null): Claim {
  return { family, namespace, name, id, pointer: '/name' };
}

type Remade = RecordPatch & { readonly template: string };

/**
 * Whether the patch gives the record a template. All of it is then checked as if it were created, and not only what the
 * patch sets.
 */
function isRemade(patch: RecordPatch): patch is Remade {
  return typeof patch.template === 'string';
}

/** The id of the template that judges the change; null if nothing is to be judged, or nothing judges it. */
function judgedBy({ patch, record }: Patching, isJudged: boolean): string | null {
  if (patch.template !== undefined) return patch.template?.toLowerCase() ?? null;
  return isJudged ? record.template : null;
}

/**
 * An actor who may not read the record must send all that its new template judges: a verdict on what is stored would
 * tell about it.
 */
function assertWhole({ judge }: Session, { place: { family, namespace }, patch }: Patching): void {
  if (mayRead(judge, family, namespace)) return;
  const judged = family === 'process-run' ? (['parameters', 'resources'] as const) : (['properties'] as const);
  const missing = judged.filter((part) => patch[part] === undefined);
  if (missing.length === 0) return;
  const code = 'record.invalid';
  const message = `needs ${missing.map((part) => `\`${part}\``).join(' and ')} beside it, because you may not read what the record holds`;
  throw new ApiProblem(code, { errors: [{ pointer: '/template', code, message }] });
}

/**
 * What the patch is merged into. For an actor who may not read the record, this is a record without properties,
 * parameters and resources, so the patch replaces them. The result of a merge, or its size, would reveal them.
 */
function documentsFor(session: Session, { family, namespace }: RecordPlace, patch: RecordPatch): readonly Fragment[] {
  const { properties, parameters, resources } = patch;
  const isMerged = properties !== undefined || parameters !== undefined || resources !== undefined;
  if (!isMerged && !isRemade(patch)) return [];
  return mayRead(session.judge, family, namespace) ? [sql`x.properties, x.parameters, x.resources`] : [];
}

function merged(stored: unknown, patch: Json | null): unknown {
  return patch === null ? {} : mergePatch(stored, patch);
}

function mergedResources(stored: unknown, patch: NonNullable<RecordPatch['resources']> | null): unknown {
  const next = patch === null ? {} : mergePatch(stored, resourcesOf(patch));
  if (Object.keys(next).length > COMMAND_LIMITS.slots) throw new ApiProblem('request.too_large');
  return next;
}

/** Collects only the references that the patch sets. */
function referredTo({ resources }: RecordPatch): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(resources ?? {}).flatMap(([slot, id]) => (id === null ? [] : [[slot, id] as const])),
  );
}

function columnsOf(patch: RecordPatch, { properties, parameters, resources }: Documents): readonly Fragment[] {
  const columns: Fragment[] = [];
  if (patch.name !== undefined) columns.push(sql`name = ${patch.name}::text`);
  if (patch.description !== undefined) columns.push(sql`description = ${patch.description}::text`);
  if (patch.template !== undefined) columns.push(sql`template = ${patch.template?.toLowerCase() ?? null}::uuid`);
  if (patch.state !== undefined) columns.push(sql`state = ${patch.state}::text`);
  if (properties !== undefined) columns.push(sql`properties = ${JSON.stringify(properties)}::jsonb`);
  if (parameters !== undefined) columns.push(sql`parameters = ${JSON.stringify(parameters)}::jsonb`);
  if (resources !== undefined) columns.push(sql`resources = ${JSON.stringify(resources)}::jsonb`);
  return columns;
}
