// What the policy has to allow, as rules that hold now and again before COMMIT. A denial is answered as documented: by
// path 403 with the step; by id the same 404 as for a missing record, if the actor may neither read nor write it.
import {
  type AccessStep,
  canonicalize,
  type Family,
  type NamespacePath,
  type Request,
  ROOT,
  type Verdict,
} from '../../engine/index.js';
import { isRecordId } from '../api/record-schema.js';
import { ApiProblem } from '../problem.js';
import { locateStatement } from '../query/find-record.js';
import type { Judge, Prepared, Rule, Session } from './command.js';

/** An access to what is in the namespace, from there. */
export function access(family: Family, action: 'read' | 'write', namespace: NamespacePath): Request {
  return { kind: 'access', scope: `${family}:${action}`, context: namespace, target: namespace };
}

export function mayRead(judge: Judge, family: Family, namespace: NamespacePath): boolean {
  return judge(access(family, 'read', namespace)) === 'allow';
}

/** 403, with the step at which the request fails. */
export function mustAllow(request: Request): Rule {
  return (judge) => {
    const verdict = judge(request);
    if (verdict !== 'allow') throw new ApiProblem('authz.denied', { step: verdict });
  };
}

/** A record that is changed in place. `namespace` is null if there is no such record. */
export function mustWriteRecord(family: Family, namespace: NamespacePath | null): Rule {
  return (judge) => {
    // Decided also where there is nothing, so that it takes as long.
    const write = judge(access(family, 'write', namespace ?? ROOT));
    const read = judge(access(family, 'read', namespace ?? ROOT));
    if (namespace === null) throw notFound('no record of the family');
    if (write === 'allow') return;
    throw read === 'allow' ? new ApiProblem('authz.denied', { step: write }) : notFound(write);
  };
}

export interface Sides {
  /** Null if there is no such record. */
  readonly source: NamespacePath | null;
  readonly destination: NamespacePath;
}

/** Read at the source, then write at the destination: the first is never enough for the second. */
export function mustCopy(family: Family, { source, destination }: Sides): Rule {
  return (judge) => {
    const read = judge(access(family, 'read', source ?? ROOT));
    const write = judge(access(family, 'write', destination));
    if (source === null) throw notFound('no record of the family');
    if (read !== 'allow') throw notFound(read);
    if (write !== 'allow') throw new ApiProblem('authz.denied', { step: 'destination_write', because: causeOf(write) });
  };
}

function causeOf(verdict: Exclude<Verdict, 'allow'>): AccessStep {
  if (verdict === 'source_read' || verdict === 'destination_write') throw new TypeError('an access, not a copy');
  return verdict;
}

/** Where the record of that id is, and nothing else of it; null if there is none of the family. */
export async function locate(session: Session, family: Family, id: string): Promise<NamespacePath | null> {
  if (!isRecordId(id)) throw notFound('no id');
  const [row] = await session.rows<{ readonly path: string | null }>(locateStatement({ family, id }));
  const stored = canonicalize(row?.path);
  return stored.ok ? stored.path : null;
}

/** For a command on a missing record, which its rule refuses. */
export function nothingThere(rule: Rule): Prepared {
  return { asked: null, rule, look: () => Promise.reject(notFound('no record of the family')) };
}

/** `reason` is for the log alone. */
export function notFound(reason: string): ApiProblem {
  return new ApiProblem('record.not_found', { reason });
}
