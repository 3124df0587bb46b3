// The right answer to a query, found the slow way: `decide` for each record separately, then the evaluator over the
// visible ones.
import {
  type Access,
  decide,
  type Decision,
  type Family,
  isWithin,
  type NamespacePath,
  type ScopeName,
} from '../../engine/index.js';
import { pathOf } from '../engine/oracle/worlds.js';
import { holds, inOrder, type Json } from '../server/query/oracle/evaluate.js';
import type { Asker } from './query-doors.js';
import type { Envelope } from './query-envelopes.js';

export function namespaceOf(record: Json): NamespacePath {
  return pathOf(String(record['namespace']));
}

/** The decision on records of the namespace itself. */
export function mayRead(asker: Asker, scope: ScopeName, namespace: NamespacePath): Decision {
  return decideFrom(asker, { scope, context: namespace, target: namespace });
}

function decideFrom({ policy, actor, at }: Asker, access: Omit<Access, 'kind'>): Decision {
  return decide(policy, { actor, request: { kind: 'access', ...access }, at });
}

type Place = Pick<Envelope, 'family' | 'namespace' | 'reach'>;

/** Whether records of the envelope's family at `target` are visible in its reach (docs/meaning.md "Visibility"). */
export function isOpen(
  asker: Asker,
  { family, namespace, reach = defaultOf(family) }: Place,
  target: NamespacePath,
): boolean {
  if (reach === 'exact' && target !== namespace) return false;
  if (reach === 'subtree' && !isWithin(target, namespace)) return false;
  if (reach === 'lineage' && !isWithin(namespace, target)) return false;
  const context = reach === 'subtree' || family === 'process-run' ? target : namespace;
  return decideFrom(asker, { scope: `${family}:read`, context, target }).decision === 'allow';
}

export function defaultOf(family: Family): 'exact' | 'lineage' {
  return family === 'process-run' ? 'exact' : 'lineage';
}

/** The records that are visible in the envelope's reach, whatever else it asks. */
export function visibleOf(records: readonly Json[], asker: Asker, place: Place): readonly Json[] {
  const known = new Map<NamespacePath, boolean>();
  return records.filter((record) => {
    if (record['family'] !== place.family) return false;
    const target = namespaceOf(record);
    const open = known.get(target) ?? isOpen(asker, place, target);
    known.set(target, open);
    return open;
  });
}

/** The records that the whole envelope asks for, in its order. */
export function expectedOf(records: readonly Json[], asker: Asker, envelope: Envelope): readonly Json[] {
  const visible = visibleOf(records, asker, envelope);
  const asked = visible.filter(
    (record) => (envelope.includeArchived || record['archivedAt'] === null) && holds(envelope.where, record),
  );
  return inOrder(asked, envelope.orderBy);
}
