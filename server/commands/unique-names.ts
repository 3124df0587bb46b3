// Names that may be taken only once in a namespace, because the template of a record asks for it. A refusal would say
// that a record of that name exists, so only who may read there may give such a name. Whoever makes such a record locks
// the name first. The index of the store has the last word: of two writers at once, one is refused by it and begins
// again (execute.ts).
import type { Family, NamespacePath } from '../../engine/index.js';
import { violates } from '../db/failures.js';
import { sql, type Fragment } from '../db/sql.js';
import { familyCode, IS_NAMED, storedPath, UNIQUE_NAME } from '../db/tables.js';
import { ApiProblem } from '../problem.js';
import type { Found, Session, TouchedName } from './command.js';
import { mayReferTo } from './references.js';
import { access, alsoAllow } from './rules.js';

/** A record that is to have a name which no other record with a unique name has. */
export interface Claim {
  readonly family: Family;
  readonly namespace: NamespacePath;
  /** A run may have none. */
  readonly name: string | null;
  /** The record itself, if it exists already. */
  readonly id: string | null;
  /** Where the body says it. */
  readonly pointer: string;
}

/** Holds that the actor may read where the name is to be unique. */
export function holdClaim(session: Session, { family, namespace }: Claim): void {
  const { rule, asked } = alsoAllow(access(family, 'read', namespace));
  session.hold(rule, asked);
}

/**
 * Throws if another record has the name. The claim must be held. A new record's name is locked, so that its writers come
 * one after the other. Whoever changes a record has locked that, and locks nothing else after it: see lock-in-order.ts.
 */
export async function assertFree(session: Session, claim: Claim): Promise<void> {
  const { family, namespace, name, id, pointer } = claim;
  if (name === null) return;
  const [, [taken]] = await Promise.all([
    id === null ? lockNames(session, [{ family, namespace, name }]) : null,
    session.rows<{ readonly id: string }>(
      sql`SELECT x.id FROM records AS x WHERE ${byUniqueName({ family, namespace, name })}`,
    ),
  ]);
  if (taken === undefined || taken.id === id) return;
  const message = `is the name of the ${family} ${taken.id} in this namespace, and the template asks for unique names`;
  throw new ApiProblem('record.name_taken', { errors: [{ pointer, code: 'record.name_taken', message }] });
}

/** The condition of the unique index. */
export function byUniqueName({
  family,
  namespace,
  name,
}: Pick<Claim, 'family' | 'namespace'> & { readonly name: string }): Fragment {
  return sql`x.family = ${familyCode(family)}::smallint AND x.path = ${storedPath(namespace)}::text AND x.name = ${name}::text
      AND x.unique_name AND x.archived_at IS NULL AND x.family ${IS_NAMED}`;
}

/**
 * The same for a statement that locks. In one of those the planner takes another index that begins with the name for as
 * good while the store is small. So the record is found first, and judged again when it is locked.
 */
export function toLockByUniqueName(named: Parameters<typeof byUniqueName>[0]): Fragment {
  return sql`x.id = (SELECT x.id FROM records AS x WHERE ${byUniqueName(named)} OFFSET 0)
      AND x.path IS NOT DISTINCT FROM ${storedPath(named.namespace)}::text AND x.name IS NOT DISTINCT FROM ${named.name}::text
      AND x.unique_name AND x.archived_at IS NULL`;
}

/** Locks the names themselves, as those that nobody has yet have no row to lock, in an order that all writers keep. */
export async function lockNames(session: Session, names: readonly TouchedName[]): Promise<void> {
  const keys = [...new Set(names.map(({ family, namespace, name }) => `${family} ${namespace} ${name}`))].sort();
  await session.rows(sql`SELECT pg_advisory_xact_lock(hashtextextended(n.key, 1))
    FROM (SELECT u.key FROM unnest(${keys}::text[]) WITH ORDINALITY AS u (key, at) ORDER BY u.at OFFSET 0) AS n`);
}

/** Another writer has taken the name since it was found to be free. */
export function isNameOvertaken(error: unknown): boolean {
  return violates(error, UNIQUE_NAME);
}

/**
 * Whether the template asks for unique names. What an actor may not refer to says nothing: the command is then refused for
 * the reference, whatever the template asks for.
 */
export function asksForUniqueNames(
  session: Session,
  { family, namespace }: Pick<Claim, 'family' | 'namespace'>,
  template: Found | undefined,
): boolean {
  const made = family === 'process-run' ? 'process-template' : 'resource-template';
  return mayReferTo(session.judge, { family: made, namespace }, template) && template?.uniqueName === true;
}
