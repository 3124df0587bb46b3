// A client that follows the feed as docs/feed.md says, and holds what that gives it. Whatever it does, it does with
// requests that anybody could send.
import type { Answered } from './command-doors.js';

export interface Held {
  readonly family: string;
  readonly namespace: string;
  readonly revision: number;
  readonly isArchived: boolean;
}

/** By id. */
export type Holding = ReadonlyMap<string, Held>;

export type Item = Readonly<Record<string, unknown>>;

export interface FollowerOptions {
  readonly send: (request: string, body?: object) => Promise<Answered>;
  /** Every namespace that anything can be in. */
  readonly places: readonly string[];
  readonly families: readonly string[];
  /** Items of a page. */
  readonly limit: number;
}

export interface Follower {
  /** Reads everything that is visible anew. */
  readonly resync: () => Promise<void>;
  /** Follows the feed to its present end, and gives all items that it met; null if it had to start anew. */
  readonly catchUp: () => Promise<readonly Item[] | null>;
  readonly holding: () => Holding;
  /** What queries show now. */
  readonly query: () => Promise<Holding>;
}

export function makeFollower({ send, places, families, limit }: FollowerOptions): Follower {
  const held = new Map<string, Held>();
  let cursor = '';

  /** What a query shows of one family in a region. Runs are asked for in each namespace of it. */
  const recordsIn = async (family: string, region: Omit<Region, 'scopes'>): Promise<Map<string, Held>> => {
    const found = new Map<string, Held>();
    const isOneByOne = family === 'process-run' || region.extent === 'exact';
    const contexts = isOneByOne ? places.filter((path) => isIn(path, region)) : [region.namespace];
    for (const namespace of contexts) {
      let after: string | null = null;
      do {
        const { status, json } = await send('POST /api/v1/query', {
          ...{ family, namespace, reach: isOneByOne ? 'exact' : 'subtree', includeArchived: true },
          select: ['id', 'namespace', 'revision', 'archivedAt'],
          page: { size: 500, after },
        });
        if (status === 403 || status === 404) break;
        if (status !== 200) throw new Error(`a query was answered with ${String(status)}`);
        for (const one of json['items'] as readonly Item[]) {
          const place = String(one['namespace']);
          const isArchived = one['archivedAt'] !== null;
          const record = { family, namespace: place, revision: Number(one['revision']), isArchived };
          if (isIn(place, region)) found.set(String(one['id']), record);
        }
        ({ next: after } = json['page'] as { readonly next: string | null });
      } while (after !== null);
    }
    return found;
  };

  const query = async (): Promise<Map<string, Held>> => {
    const parts: Map<string, Held>[] = [];
    for (const family of families) parts.push(await recordsIn(family, { namespace: '/', extent: 'subtree' }));
    return new Map(parts.flatMap((part) => [...part]));
  };

  const applyRights = async (item: Item): Promise<void> => {
    for (const region of item['lost'] as readonly Region[]) {
      for (const [id, { family, namespace }] of held) {
        if (region.scopes.includes(`${family}:read`) && isIn(namespace, region)) held.delete(id);
      }
    }
    for (const region of item['gained'] as readonly Region[]) {
      for (const scope of region.scopes) {
        for (const [id, record] of await recordsIn(scope.slice(0, scope.indexOf(':')), region)) held.set(id, record);
      }
    }
  };

  const apply = (item: Item): void => {
    const id = String(item['id']);
    const known = held.get(id);
    const revision = Number(item['revision']);
    if (item['change'] === 'deleted' || item['left'] === true) {
      held.delete(id);
      return;
    }
    if (known !== undefined && known.revision > revision) return;
    held.set(id, {
      family: String(item['family']),
      namespace: String(item['namespace']),
      revision,
      isArchived: item['change'] === 'archived' || (item['change'] !== 'restored' && known?.isArchived === true),
    });
  };

  const resync = async (): Promise<void> => {
    const { status, json } = await send('GET /api/v1/changes');
    held.clear();
    if (status === 403) {
      cursor = '';
      return;
    }
    if (status !== 200) throw new Error(`the feed was answered with ${String(status)}`);
    cursor = String(json['next']);
    for (const [id, record] of await query()) held.set(id, record);
  };

  return {
    resync,
    query,
    holding: () => held,
    catchUp: async () => {
      const met: Item[] = [];
      if (cursor === '') {
        await resync();
        return null;
      }
      for (;;) {
        const { status, json } = await send(`GET /api/v1/changes?after=${cursor}&limit=${String(limit)}`);
        if (status === 410) {
          await resync();
          return null;
        }
        // Whoever sees nothing any more has been told so before.
        if (status === 403) {
          if (held.size > 0) throw new Error('refused, and never told what was lost');
          return met;
        }
        if (status !== 200) throw new Error(`the feed was answered with ${String(status)}`);
        const items = json['items'] as readonly Item[];
        for (const item of items) {
          met.push(item);
          if (item['change'] === 'rights') await applyRights(item);
          else apply(item);
        }
        cursor = String(json['next']);
        if (items.length === 0) return met;
      }
    },
  };
}

interface Region {
  readonly namespace: string;
  readonly extent: string;
  readonly except?: readonly string[];
  readonly scopes: readonly string[];
}

export function isIn(path: string, { namespace, extent, except = [] }: Omit<Region, 'scopes'>): boolean {
  if (extent === 'exact') return path === namespace;
  if (extent === 'below' && path === namespace) return false;
  return isWithin(path, namespace) && !except.some((root) => isWithin(path, root));
}

export function isWithin(path: string, root: string): boolean {
  return root === '/' || path === root || path.startsWith(`${root}/`);
}
