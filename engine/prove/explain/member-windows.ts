// When memberships count, by the tables as a file states them.
import type { Instant, Window } from '../../model/instant.js';
import type { PolicyTables } from '../../model/tables.js';

/** The windows of the member edges that have one. */
export function memberWindows({ members: { windows } }: PolicyTables): ReadonlyMap<number, Window> {
  return new Map(
    Array.from(windows?.row ?? [], (edge, i) => [
      edge,
      { from: windows?.from[i] ?? -Infinity, until: windows?.until[i] ?? Infinity },
    ]),
  );
}

/** Whether a membership counts at an instant. */
export function linkWindows(tables: PolicyTables, at: Instant): (edge: number) => boolean {
  const windows = memberWindows(tables);
  return (edge) => {
    const window = windows.get(edge);
    return window === undefined || (window.from <= at && at < window.until);
  };
}
