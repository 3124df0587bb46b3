// Views of readers who come back: a stream looks at its own every second, and making it takes as long as it is large.
import { type Instant, type ResolvedActor, steadyAs } from '../../engine/index.js';
import { CHANGES_LIMITS } from '../limits/changes.js';
import { makeLruCache } from '../lib/lru-cache.js';
import { visibleCharacters } from '../query/remembered.js';
import { type FeedView, viewOf } from './view.js';

interface Remembered extends ReturnType<typeof steadyAs> {
  readonly view: FeedView;
}

/**
 * `viewOf` with a memory. Another policy or another credential makes another resolved actor, and for the same one a view is
 * used only until a grant begins or ends. Names stand for actors, so that a policy is not kept with its views.
 */
export function rememberViews(characters: number = CHANGES_LIMITS.rememberedViews): typeof viewOf {
  const names = new WeakMap<ResolvedActor, string>();
  const known = makeLruCache<Remembered>(characters);
  let last = 0;
  return (resolved: ResolvedActor, at: Instant) => {
    const name = names.get(resolved) ?? String((last += 1));
    names.set(resolved, name);
    const found = known.get(name);
    if (found !== undefined && found.from <= at && at < found.until) return found.view;
    const view = viewOf(resolved, at);
    const size = [...view.sets.values()].reduce((sum, visible) => sum + visibleCharacters(visible), OVERHEAD);
    known.put(name, { ...steadyAs(resolved, at), view }, size);
    return view;
  };
}

/** Characters that a view takes in addition to its namespaces. */
const OVERHEAD = 1_000;
