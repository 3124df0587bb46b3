// When each identity last used each grant, by the audit log: the last allowed request of an actor with this identity that cites the grant.
import type { Instant } from '../../engine/index.js';
import { searchLogs } from '../audit/search.js';

/** What of the log was read. Instants are those of its first and last event; null if it has none. */
export interface LogUsage {
  readonly events: number;
  readonly from: string | null;
  readonly until: string | null;
  /** Events that cite more grants than they name: those may have been used later than the rows say. */
  readonly shortened: number;
}

export interface LastUses {
  readonly usage: LogUsage;
  readonly lastUse: (identity: string, grant: string) => string | null;
  /** Lines that are no events, or do not verify. */
  readonly damaged: number;
}

/** Events at or after the instant are left out. Rejects if the folder cannot be read. */
export async function readLastUses(folder: string, at: Instant): Promise<LastUses> {
  const uses = new Map<string, Map<string, string>>();
  let [from, until, events, shortened]: [string | null, string | null, number, number] = [null, null, 0, 0];
  const { malformed, unverified } = await searchLogs(folder, { until: at }, (found) => {
    for (const { event } of found) {
      const { time, outcome, subject, grants = [], grantsOmitted, actor } = event;
      events += 1;
      if (from === null || time < from) from = time;
      if (until === null || time > until) until = time;
      // Whoever asks about others uses none of their rights.
      if (outcome !== 'allowed' || subject !== undefined) continue;
      if (grantsOmitted !== undefined) shortened += 1;
      for (const identity of actor.identities) {
        const own = uses.get(identity) ?? new Map<string, string>();
        uses.set(identity, own);
        for (const grant of grants) if (time > (own.get(grant) ?? '')) own.set(grant, time);
      }
    }
    return Promise.resolve();
  });
  return {
    usage: { events, from, until, shortened },
    lastUse: (identity, grant) => uses.get(identity)?.get(grant) ?? null,
    damaged: malformed + unverified,
  };
}
