// What a new or changed record depends on: a namespace that accepts records, valid references, and the template that checks it.
import type { Family, NamespacePath } from '../../engine/index.js';
import type { ShapeFault } from '../api/shape-fault.js';
import { sql } from '../db/sql.js';
import { familyCode } from '../db/tables.js';
import { pointerTo } from '../json/strict-json.js';
import { QUERY_LIMITS } from '../limits/queries.js';
import { LOAD_LIMITS } from '../limits/records.js';
import { ApiProblem, type InputFault, type ProblemCode } from '../problem.js';
import { type Reference, referencesOf } from '../records/content.js';
import { isTooLarge } from '../records/stored-bytes.js';
import { judgedPart, requiredText, RIGHT } from '../templates/judge-record.js';
import { isIds, slotFaults, storedSlots } from '../templates/judge-slots.js';
import type { Schema } from '../templates/judgements.js';
import type { Found, RequestJudge, Session } from './command.js';
import { mayRead } from './rules.js';
import type { Ground, StoredRecord } from './stored.js';

/** Checks that the namespace and all above it accept new records. `ground` has those of them that exist. */
export function assertOpen({ namespaces }: Ground, namespace: NamespacePath): void {
  if (!namespaces.has(namespace)) throw new ApiProblem('namespace.not_found');
  for (const { archived } of namespaces.values()) if (archived) throw new ApiProblem('record.archived');
}

/** Where a fault of a copy's references is reported: its body does not name them. */
export const DESTINATION = '/destination';

/**
 * Holds that records of `namespace` may refer to all of these. A record that is absent, archived, elsewhere or
 * invisible gets the same refusal.
 */
export function holdReferences(
  session: Session,
  references: readonly Reference[],
  { records, namespace }: Pick<Ground, 'records'> & { readonly namespace: NamespacePath },
): void {
  session.hold((judge) => {
    const missing = references.filter((one) => !mayReferTo(judge, { ...one, namespace }, records.get(one.id)));
    if (missing.length === 0) return;
    throw refused(
      'reference.not_found',
      missing.map(({ family, pointer }) => ({
        pointer,
        message:
          pointer === DESTINATION
            ? `the copy would refer to a ${family} that you may not read at the destination or above it, or that is archived`
            : `is not the id of a ${family} that you may read, at the namespace or above it and not archived`,
      })),
    );
  });
}

export function referencesOfStored(
  family: Family,
  { template, resources, slots }: Pick<StoredRecord, 'template' | 'resources' | 'slots'>,
): readonly Reference[] {
  return referencesOf(family, {
    template,
    ...(isIds(resources) ? { resources } : {}),
    slots: storedSlots(slots),
  });
}

export function mayReferTo(
  judge: RequestJudge,
  { family, namespace }: Pick<Reference, 'family'> & { readonly namespace: NamespacePath },
  found: Found | undefined,
): boolean {
  // Asked even if there is no record, so that it takes the same time.
  const target = found?.namespace ?? namespace;
  const verdict = judge({ kind: 'access', scope: `${family}:read`, context: namespace, target });
  return found !== undefined && found.family === familyCode(family) && !found.archived && verdict === 'allow';
}

export interface JudgedRecord {
  /** The family of the record. */
  readonly family: Family;
  /** What the schema judges; undefined if it does not change. */
  readonly value: unknown;
  /**
   * What a run uses from now on, by slot, and those of the resources that it did not use before; null if that does not
   * change.
   */
  readonly uses: { readonly resources: unknown; readonly records: Ground['records'] } | null;
  /** Where the body names the template; empty if it does not. */
  readonly pointer: string;
}

/** Throws if the record does not satisfy its template. An actor who may not read the template does not learn why. */
export async function judgeByTemplate(
  session: Session,
  template: Found,
  { family, value, uses, pointer }: JudgedRecord,
): Promise<void> {
  const schema = value === undefined ? null : await schemaOf(session, template);
  const verdict = schema === null ? RIGHT : session.judgements.judge(schema, { value });
  const ofSlots = slotFaultsOf(template, uses);
  if (verdict.kind === 'right' && ofSlots.length === 0) return;
  const judges = family === 'process-run' ? 'process-template' : 'resource-template';
  if (!mayRead(session.judge, judges, template.namespace)) throw new ApiProblem('record.invalid');
  if (verdict.kind === 'unusable') {
    throw refused(
      'record.invalid',
      verdict.faults.map((fault) => ({
        pointer,
        message: `the schema of this template cannot be used: ${fault.pointer} ${fault.message}`,
      })),
    );
  }
  const ofValue = verdict.kind === 'right' ? [] : verdict.faults;
  throw refused(
    'record.invalid',
    [...ofValue.map(({ place, message }) => ({ place: [judgedPart(family), ...place], message })), ...ofSlots].map(
      ({ place, message }) => ({
        pointer: place.reduce<string>(pointerTo, ''),
        message: requiredText(message),
      }),
    ),
  );
}

function slotFaultsOf(template: Found, uses: JudgedRecord['uses']): readonly ShapeFault[] {
  if (uses === null || !isIds(uses.resources)) return [];
  const { resources, records } = uses;
  return slotFaults(storedSlots(template.slots), { resources, templateOf: (id) => records.get(id)?.template });
}

/** By revision, because every change of a template raises it. */
function schemaOf(session: Session, { id, revision }: Found): Promise<Schema | null> {
  return session.judgements.schemaOf(`${id} ${String(revision)}`, async () => {
    const [row] = await session.rows<{ readonly schema: object | null }>(
      sql`SELECT schema FROM records WHERE id = ${id}::uuid`,
    );
    return row?.schema ?? null;
  });
}

/** Throws if the schema of a new template cannot be used. */
export function assertUsable({ judgements }: Session, schema: object): void {
  const verdict = judgements.judge(judgements.schemaFrom(schema), null);
  if (verdict.kind === 'right') return;
  const faults = verdict.kind === 'unusable' ? verdict.faults : [NOT_COMPILED];
  throw refused(
    'record.invalid',
    faults.map(({ pointer, message }) => ({ pointer: `/schema${pointer}`, message })),
  );
}

const NOT_COMPILED = { pointer: '', message: 'takes too long to compile' };

/** Throws if a record is larger than a dataset's records may be. */
export function assertRoom(...documents: readonly unknown[]): void {
  const bytes = Buffer.byteLength(JSON.stringify(documents));
  if (bytes > LOAD_LIMITS.lineBytes || isTooLarge(bytes, documents)) throw new ApiProblem('request.too_large');
}

function refused(code: ProblemCode, faults: readonly Omit<InputFault, 'code'>[]): ApiProblem {
  return new ApiProblem(code, { errors: faults.slice(0, QUERY_LIMITS.errors).map((fault) => ({ ...fault, code })) });
}
