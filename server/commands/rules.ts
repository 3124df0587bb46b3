// What the policy must allow, as rules that hold now and again before COMMIT. A denial is answered as documented. By
// path it is 403 with the step. By id it is the same 404 as for a missing record, if the actor may neither read nor
// write it.
import {
  type AccessStep,
  canonicalize,
  type Family,
  type NamespacePath,
  type Request,
  ROOT,
  type Verdict,
} from '../../engine/index.js';
import { askedOf } from '../audit/event.js';
import { isRecordId } from '../api/record-schema.js';
import { ApiProblem } from '../problem.js';
import { locateStatement } from '../query/find-record.js';
import type { RequestJudge, Prepared, Rule, Session } from './command.js';

/** An access to something in the namespace, with the namespace as context. */
export function access(family: Family, action: 'read' | 'write', namespace: NamespacePath): Request {
  return { kind: 'access', scope: `${family}:${action}`, context: namespace, target: namespace };
}

export function mayRead(judge: RequestJudge, family: Family, namespace: NamespacePath): boolean {
  return judge(access(family, 'read', namespace)) === 'allow';
}

/** Refuses with 403 and the step at which the request fails. */
export function mustAllow(request: Request): Rule {
  return (judge) => {
    const verdict = judge(request);
    if (verdict !== 'allow') throw new ApiProblem('authz.denied', { step: verdict });
  };
}

/** An access beside the one that the command is about: a refusal is recorded as one of this access. */
export function alsoAllow(request: Request): NonNullable<Prepared['also']> {
  return { asked: askedOf(request), rule: mustAllow(request) };
}

/** A record that is changed in place. `namespace` is null if there is no such record. */
export function mustWriteRecord(family: Family, namespace: NamespacePath | null): Rule {
  return (judge) => {
    // Decided even if there is no record, so that it takes the same time.
    const write = judge(access(family, 'write', namespace ?? ROOT));
    const read = judge(access(family, 'read', namespace ?? ROOT));
    if (namespace === null) throw notFound('no record of the family');
    if (write === 'allow') return;
    throw read === 'allow' ? new ApiProblem('authz.denied', { step: write }) : notFound(write);
  };
}

interface Sides {
  /** Null if there is no such record. */
  readonly source: NamespacePath | null;
  readonly destination: NamespacePath;
}

/** Read at the source, then write at the destination. Being allowed the first never implies the second. */
export function mustCopy(family: Family, { source, destination }: Sides): Rule {
  return (judge) => {
    const read = judge(access(family, 'read', source ?? ROOT));
    const write = judge(access(family, 'write', destination));
    if (source === null) throw notFound('no record of the family');
    if (read !== 'allow') throw notFound(read);
    if (write !== 'allow') throw new ApiProblem('authz.denied', { step: 'destination_write', because: causeOf(write) });
  };
}

/**
 * As for a copy, and write at the source, too. Without read there, a record could be moved to where the actor may read
 * it.
 */
export function mustMove(family: Family, sides: Sides): Rule {
  const copy = mustCopy(family, sides);
  const { source } = sides;
  return (judge) => {
    const write = judge(access(family, 'write', source ?? ROOT));
    const read = judge(access(family, 'read', source ?? ROOT));
    if (source !== null && read === 'allow' && write !== 'allow') throw new ApiProblem('authz.denied', { step: write });
    copy(judge);
  };
}

function causeOf(verdict: Exclude<Verdict, 'allow'>): AccessStep {
  if (verdict === 'source_read' || verdict === 'destination_write') throw new TypeError('an access, not a copy');
  return verdict;
}

/** The namespace of the record with that id, and nothing else about it; null if the family has no such record. */
export async function locate(session: Session, family: Family, id: string): Promise<NamespacePath | null> {
  if (!isRecordId(id)) throw notFound('no id');
  const [row] = await session.rows<{ readonly path: string | null }>(locateStatement({ family, id }));
  const stored = canonicalize(row?.path);
  return stored.ok ? stored.path : null;
}

/** For a command on a missing record. Its rule refuses it. */
export function nothingThere(rule: Rule): Prepared {
  return { asked: null, rule, look: () => Promise.reject(notFound('no record of the family')) };
}

/** `reason` is only for the log. */
export function notFound(reason: string): ApiProblem {
  return new ApiProblem('record.not_found', { reason });
}
