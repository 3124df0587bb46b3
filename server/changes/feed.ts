// The feed of changes, for everybody who reads it in this process (docs/feed.md). It gives the next changes that a
// reader may see, first of all what has changed in what it may see; and it tells those who follow when there may be
// more.
import {
  canonicalize,
  FAMILIES,
  type Family,
  formatInstant,
  type Instant,
  type NamespacePath,
  type Visible,
} from '../../engine/index.js';
import type { Database } from '../db/database.js';
import { sql } from '../db/sql.js';
import { CHANGES_LIMITS } from '../limits/changes.js';
import type { Clock, Logger } from '../ports.js';
import { ApiProblem } from '../problem.js';
import { rowPredicate, type RowPredicate } from '../query/row-predicate.js';
import { type NewsWatch, watchEvery } from '../watch.js';
import { type ChangeKind, changeKind } from './change-kinds.js';
import { type ChangeRow, changesStatement, headStatement, type HeadRow } from './change-statement.js';
import { type CursorOwner, makeCursors, type Place } from './cursor.js';
import { makeKeptViews } from './kept-views.js';
import {
  feedState,
  numberChanges,
  removeChanges,
  removeViews,
  type FeedState,
  type Retention,
} from './number-changes.js';
import { partOf, type RightsChange, rightsChange, type View } from './view.js';

export interface FeedOptions {
  readonly db: Database;
  /** The store's secret for sealing cursors. */
  readonly cursorKey: Uint8Array;
  /** Defaults to `CHANGES_LIMITS`. */
  readonly retention?: Retention;
}

/** A change of a record, or of what the reader may see. */
export type ChangeItem =
  | ({ readonly cursor: string; readonly time: string; readonly change: 'rights' } & RightsChange)
  | {
      readonly cursor: string;
      readonly time: string;
      readonly change: Exclude<ChangeKind, 'departed'>;
      readonly family: Family;
      readonly id: string;
      readonly namespace: NamespacePath;
      readonly revision: number;
      /** Of `moved`: where the record was; null if the reader may not see that. */
      readonly from?: NamespacePath | null;
      /** Of `moved`: the record is where the reader may not see it any more. */
      readonly left?: true;
    };

export interface ReadChanges {
  readonly view: View;
  readonly at: Instant;
  readonly owner: CursorOwner;
  /** Null begins at the present end of the feed. */
  readonly after: string | null;
  readonly limit: number;
  readonly signal?: AbortSignal;
}

export interface Changes {
  readonly items: readonly ChangeItem[];
  /** The cursor to go on from. */
  readonly next: string;
  /** Whether there are more now. */
  readonly isFull: boolean;
}

export interface Feed {
  /** Throws `query.cursor` and `changes.expired`. */
  readonly read: (asked: ReadChanges) => Promise<Changes>;
  /** Calls the listener whenever there may be something new. Returns a way to end that. */
  readonly follow: (listener: () => void) => () => void;
  /** Something was written by this process. */
  readonly hear: () => void;
  /** What the last look found; null before the first. */
  readonly state: () => FeedState | null;
  /** Looks for what others have changed from now on, until the result is called. */
  readonly start: (ports: { readonly clock: Clock; readonly log: Logger }) => () => Promise<void>;
}

/** The channel on which a gateway says that the feed goes on. */
const CHANNEL = 'bailiwick_changes';

export function makeFeed({ db, cursorKey, retention = CHANGES_LIMITS }: FeedOptions): Feed {
  const cursors = makeCursors(cursorKey);
  const views = makeKeptViews(db);
  const listeners = new Set<() => void>();
  let watch: NewsWatch | null = null;
  let listening: Promise<{ readonly close: () => Promise<void> } | null> | null = null;
  let state: FeedState | null = null;
  let looked = -Infinity;
  let removed = 0;
  const tell = (): void => {
    for (const listener of [...listeners]) listener();
  };

  /** Everything that was pending when this was called has its place afterwards, or as much as one step takes. */
  const number = async (): Promise<number> => {
    const numbered = await numberChanges(db, CHANGES_LIMITS.numbered);
    if (numbered > 0) {
      tell();
      await db.rows(sql`SELECT pg_notify(${CHANNEL}::text, ${''}::text)`);
    }
    return numbered;
  };

  const tidy = async (clock: Clock): Promise<void> => {
    const gone = await removeChanges(db, retention, clock.now());
    removed += gone;
    if (gone === 0) await removeViews(db, retention, clock.now());
    // The embedded engine has no autovacuum, and would step over every row that there ever was.
    if (db.kind !== 'embedded' || removed < CHANGES_LIMITS.removedBeforeTidying) return;
    removed = 0;
    await db.knex.raw('VACUUM changes_pending, changes');
  };

  const look = async (clock: Clock, isNews: boolean): Promise<void> => {
    const isIdle = listeners.size === 0;
    if (isIdle && !isNews && performance.now() - looked < CHANGES_LIMITS.idleLook) return;
    looked = performance.now();
    const before = state?.position ?? 0;
    state = await feedState(db);
    if (state.position !== before) tell();
    if (state.isPending) {
      removed += await number();
      state = await feedState(db);
    }
    await tidy(clock);
  };

  return {
    read: async (asked) => {
      const { view, at, owner, after, limit, signal } = asked;
      const place = after === null ? null : cursors.open(after, owner);
      const part = partOf(view, owner);
      const rights = place === null || place.view === view.digest ? null : await changedRights(views, place, asked);
      await views.keep(view, at);
      if (place === null) {
        const head = await headOf(db, number, signal);
        return { items: [], next: cursors.seal({ ...head, view: view.digest }, owner), isFull: false };
      }
      const seal = (at_: Pick<Place, 'position' | 'mark'>): string =>
        cursors.seal({ position: at_.position, mark: at_.mark, view: view.digest }, owner);
      const first: readonly ChangeItem[] =
        rights === null ? [] : [{ cursor: seal(place), time: formatInstant(at), change: 'rights', ...rights }];
      if (part.size === 0) return { items: first, next: seal(await headOf(db, number, signal)), isFull: false };
      const found = await readRows(db, { predicates: predicatesOf(part), after: place, limit }, { number, signal });
      const { rows } = found;
      const last = rows.at(-1);
      const isFull = rows.length >= limit;
      const end = isFull && last !== undefined ? { position: Number(last.position), mark: last.own_mark } : found.head;
      return { items: [...first, ...rows.map((row) => itemOf(row, seal))], next: seal(end), isFull };
    },
    follow: (listener) => {
      listeners.add(listener);
      // Announcements of others are listened to from the first follower on.
      listening ??= db.listen(CHANNEL, () => watch?.hear()).catch(() => null);
      return () => {
        listeners.delete(listener);
      };
    },
    hear: () => {
      if (listeners.size > 0) watch?.hear();
    },
    state: () => state,
    start: ({ clock, log }) => {
      let isFailing = false;
      const own = (watch = watchEvery(CHANGES_LIMITS.look, async (why, signal) => {
        try {
          await look(clock, why !== 'poll');
          isFailing = false;
        } catch (error) {
          if (!isFailing && !signal.aborted) log.warn({ error }, 'the feed of changes does not go on');
          isFailing = true;
        }
      }));
      return async () => {
        await (await listening)?.close();
        listening = null;
        await own.stop();
      };
    },
  };

  async function changedRights(
    kept: ReturnType<typeof makeKeptViews>,
    place: Place,
    { view, owner }: ReadChanges,
  ): Promise<RightsChange | null> {
    const before = await kept.find(place.view);
    if (before === null) throw expired(VIEW_GONE);
    const change = rightsChange(partOf({ sets: before }, owner), partOf(view, owner));
    if (change !== null && change.gained.length + change.lost.length > CHANGES_LIMITS.regions) throw expired(TOO_MUCH);
    return change;
  }
}

const GONE = 'Changes after this cursor are not kept any more: read everything again, and go on from a new cursor';
const VIEW_GONE = 'What you could see at this cursor is not known any more: read everything again, and go on from a new cursor';
const TOO_MUCH = 'What you may see has changed in too many places: read everything again, and go on from a new cursor';

function expired(title: string): ApiProblem {
  return new ApiProblem('changes.expired', { title });
}

/** Numbers pending changes and returns how many there were. */
type NumberPending = () => Promise<number>;

/** The place of the feed's end, after everything that has committed by now. */
async function headOf(
  db: Database,
  number: NumberPending,
  signal: AbortSignal | undefined,
): Promise<Pick<Place, 'position' | 'mark'>> {
  for (;;) {
    const [head] = await db.read<HeadRow>(headStatement(), { signal });
    if (head === undefined) throw new TypeError('a store without the head of its feed');
    if (!head.pending) return { position: Number(head.head), mark: head.mark };
    if ((await number()) === 0) return { position: Number(head.head), mark: head.mark };
  }
}

interface Found {
  readonly rows: readonly (ChangeRow & { readonly position: string })[];
  readonly head: Pick<Place, 'position' | 'mark'>;
}

interface Reading {
  readonly number: NumberPending;
  readonly signal: AbortSignal | undefined;
}

/**
 * What was written before the request is in its answer, as far as one step gives places. A replica may not have the
 * place of the cursor yet, so the primary has the last word.
 */
async function readRows(
  db: Database,
  request: Parameters<typeof changesStatement>[0],
  { number, signal }: Reading,
): Promise<Found> {
  const statement = changesStatement(request);
  let rows = await db.readReplica<ChangeRow>(statement, { signal });
  if (rows[0]?.intact !== true) rows = await db.read<ChangeRow>(statement, { signal });
  if (rows[0]?.intact === true && rows[0].pending && rows.length < request.limit && (await number()) > 0) {
    rows = await db.read<ChangeRow>(statement, { signal });
  }
  const [head] = rows;
  if (head === undefined) throw new TypeError('a store without the head of its feed');
  if (!head.intact) throw expired(GONE);
  return {
    rows: rows.filter((row): row is Found['rows'][number] => row.position !== null),
    head: { position: Number(head.head), mark: head.mark },
  };
}

function itemOf(
  { position, own_mark: mark, change, family, id, path, other, revision, at }: Found['rows'][number],
  seal: (place: Pick<Place, 'position' | 'mark'>) => string,
): ChangeItem {
  const kind = changeKind(change);
  return {
    cursor: seal({ position: Number(position), mark }),
    time: at,
    change: kind === 'departed' ? 'moved' : kind,
    family: FAMILIES[family] ?? unknownFamily(),
    id,
    namespace: namespaceOf(path),
    revision,
    ...(kind === 'moved' ? { from: other === null ? null : namespaceOf(other) } : {}),
    ...(kind === 'departed' ? { left: true } : {}),
  };
}

function unknownFamily(): never {
  throw new TypeError('a change of a record of no family');
}

function namespaceOf(stored: string): NamespacePath {
  const read = canonicalize(stored);
  if (!read.ok) throw new TypeError('a visible change at no namespace');
  return read.path;
}

function predicatesOf(part: ReadonlyMap<Family, Visible>): ReadonlyMap<Family, RowPredicate> {
  return new Map([...part].map(([family, visible]) => [family, rowPredicate(visible)]));
}
