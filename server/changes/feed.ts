// The feed of changes, for everybody who reads it in this process (docs/feed.md): the next changes that a reader may see,
// first of all what has changed in what it may see.
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
import type { ReadOptions } from '../db/prepared.js';
import { type LruCache, makeLruCache } from '../lib/lru-cache.js';
import type { Fragment } from '../db/sql.js';
import { CHANGES_LIMITS } from '../limits/changes.js';
import { ApiProblem } from '../problem.js';
import { rowPredicate, type RowPredicate } from '../query/row-predicate.js';
import { changeKind, type RecordChangeKind } from './change-kinds.js';
import { type FeedRow, changesStatement, headStatement, type HeadRow, settledStatement } from './change-statement.js';
import { type CursorOwner, type FeedPlace, makeCursors } from './cursor.js';
import { type FeedWatch, watchFeed } from './feed-watch.js';
import { type KeptViews, makeKeptViews } from './kept-views.js';
import type { Retention } from './number-changes.js';
import { type FeedView, partOf, type RightsChange, rightsChange } from './view.js';

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
      readonly change: Exclude<RecordChangeKind, 'departed'>;
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
  readonly view: FeedView;
  readonly at: Instant;
  readonly owner: CursorOwner;
  /** Null begins at the present end of the feed. */
  readonly after: string | null;
  readonly limit: number;
  readonly signal?: AbortSignal;
}

export interface FeedPage {
  readonly items: readonly ChangeItem[];
  /** The cursor to go on from. */
  readonly next: string;
  /** Whether there are more now. */
  readonly isFull: boolean;
}

export interface Feed extends Omit<FeedWatch, 'number'> {
  /** Throws `query.cursor` and `changes.expired`. */
  readonly read: (asked: ReadChanges) => Promise<FeedPage>;
}

export function makeFeed({ db, cursorKey, retention = CHANGES_LIMITS }: FeedOptions): Feed {
  const cursors = makeCursors(cursorKey);
  const known = { views: makeKeptViews(db), changes: makeLruCache<Changed>(CHANGES_LIMITS.rememberedRights) };
  const { number, ...watch } = watchFeed(db, retention);
  return {
    ...watch,
    read: async (asked) => {
      const { view, at, owner, after, limit, signal } = asked;
      const asker = owner.actorId;
      const place = after === null ? null : cursors.open(after, owner);
      const part = partOf(view, owner);
      const rights = place === null || place.view === view.digest ? null : await changedRights(known, place, asked);
      await known.views.keep(view);
      const seal = ({ position, mark, since }: Where): string =>
        cursors.seal({ position, mark, since, view: view.digest }, owner);
      // Whoever begins here, or has just gained something, queries what there is now. A replica may answer that, so what it may not have
      // yet comes in the feed, even if it was there before.
      const isQueriedNext = place === null || (rights !== null && rights.gained.length > 0);
      const settled = isQueriedNext ? await settledPlace(db, { signal, asker }) : null;
      const from = place !== null && settled !== null && settled.position < place.position ? settled : place;
      const first: readonly ChangeItem[] =
        from === null || rights === null
          ? []
          : [{ cursor: seal(from), time: formatInstant(at), change: 'rights', ...rights }];
      if (from === null || part.size === 0) {
        return { items: first, next: seal(settled ?? (await headOf(db, { number, signal, asker }))), isFull: false };
      }
      const request = {
        ...{ predicates: predicatesOf(part), after: from, limit },
        ...{ keep: retention.keep, longest: db.longestQuery },
      };
      const { rows, head } = await readRows(db, request, { number, signal, asker });
      const last = rows.at(-1);
      const isFull = rows.length >= limit;
      const end = isFull && last !== undefined ? whereOf(last) : head;
      return { items: [...first, ...rows.map((row) => itemOf(row, seal))], next: seal(end), isFull };
    },
  };
}

type Changed = ReturnType<typeof rightsChange>;

interface KnownChanges {
  readonly views: KeptViews;
  /** Found before: comparing two large views takes long, and a reader may ask again, or have several streams. */
  readonly changes: LruCache<Changed>;
}

/** What has changed in what the reader may see since the cursor; null if nothing has. */
async function changedRights(
  { views, changes }: KnownChanges,
  { view: digest }: FeedPlace,
  { view, owner }: ReadChanges,
): Promise<RightsChange | null> {
  const name = [digest, view.digest, owner.families.join(), owner.namespace].join(' ');
  let change = changes.get(name);
  if (change === undefined) {
    const before = await views.find(digest);
    if (before === null) throw expired(VIEW_GONE);
    change = rightsChange(partOf({ sets: before }, owner), partOf(view, owner), CHANGES_LIMITS.regions);
    changes.put(name, change, name.length + JSON.stringify(change).length);
  }
  if (change === 'too many') throw expired(TOO_MUCH);
  return change;
}

const GONE = 'Changes after this cursor are not kept any more: read everything again, and go on from a new cursor';
const VIEW_GONE =
  'What you could see at this cursor is not known any more: read everything again, and go on from a new cursor';
const TOO_MUCH = 'What you may see has changed in too many places: read everything again, and go on from a new cursor';

function expired(title: string): ApiProblem {
  return new ApiProblem('changes.expired', { title });
}

/** A place without the view under which it was reached. */
type Where = Omit<FeedPlace, 'view'>;

interface Reading extends Pick<FeedWatch, 'number'>, ReadOptions {}

/** Where the feed ends, after what has committed by now, as far as one step gives places. */
async function headOf(db: Database, { number, ...options }: Reading): Promise<Where> {
  const head = await readHead(db, headStatement(), options);
  if (!head.pending) return endOf(head);
  // If nothing is left to number, somebody else has done it in the meantime.
  await number();
  return endOf(await readHead(db, headStatement(), options));
}

/** Up to where every query from now on sees what has happened, whichever server answers it; null if the primary answers all. */
async function settledPlace(db: Database, options: ReadOptions): Promise<Where | null> {
  return db.replicaLag === null ? null : endOf(await readHead(db, settledStatement(db.replicaLag), options));
}

async function readHead(db: Database, statement: Fragment, options: ReadOptions): Promise<HeadRow> {
  const [head] = await db.read<HeadRow>(statement, options);
  if (head === undefined) throw new TypeError('a store without the head of its feed');
  return head;
}

function endOf({ head, mark, now }: HeadRow): Where {
  return { position: Number(head), mark, since: Number(now) };
}

type FoundRow = FeedRow & { readonly position: string };

function whereOf({ position, own_mark: mark, own_since: since }: FoundRow): Where {
  return { position: Number(position), mark, since: Number(since) };
}

interface Found {
  readonly rows: readonly FoundRow[];
  readonly head: Where;
}

/**
 * What was written before the request is in its answer, as far as one step gives places. A replica may not have the
 * place of the cursor yet, so the primary has the last word.
 */
async function readRows(
  db: Database,
  request: Parameters<typeof changesStatement>[0],
  { number, ...options }: Reading,
): Promise<Found> {
  const statement = changesStatement(request);
  let found = foundIn(await db.readReplica<FeedRow>(statement, options));
  found ??= foundIn(await db.read<FeedRow>(statement, options));
  if (found?.isPending === true && found.rows.length < request.limit) {
    // If nothing is left to number, somebody else has done it in the meantime.
    await number();
    found = foundIn(await db.read<FeedRow>(statement, options));
  }
  if (found === null) throw expired(GONE);
  return found;
}

/** Null if the feed cannot go on from the cursor. */
function foundIn(rows: readonly FeedRow[]): (Found & { readonly isPending: boolean }) | null {
  const [head] = rows;
  if (head === undefined) throw new TypeError('a store without the head of its feed');
  if (!head.intact) return null;
  const found = rows.filter((row): row is FoundRow => row.position !== null);
  return { rows: found, head: endOf(head), isPending: head.pending };
}

function itemOf(row: FoundRow, seal: (where: Where) => string): ChangeItem {
  const { change, family, id, path, other, revision, at } = row;
  const kind = changeKind(change);
  return {
    cursor: seal(whereOf(row)),
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
