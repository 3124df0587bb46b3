// Whether the list of an event can be read, for whoever verifies a log.
import { isListed } from './event-schema.js';
import { listedFault } from './listed.js';

/** What is wrong with `listed`, and where; null if nothing is, or if the event has no list. */
export function listFault(event: object): string | null {
  if (!Object.hasOwn(event, 'listed')) return null;
  const listed: unknown = Reflect.get(event, 'listed');
  return isListed(listed) ? listedFault(listed) : '`listed` has neither ids nor a count';
}
