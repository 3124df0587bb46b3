// Finds an operation by its name. Programs that are not compiled may ask for one that does not exist.
import { OPERATIONS, type OperationName, type Operations } from './operations.js';

/** How many names a refusal suggests. */
const SUGGESTED = 3;

/** Throws `TypeError` with the nearest names if there is no such operation. */
export function operationOf<Name extends OperationName>(name: Name): Operations[Name] {
  if (Object.hasOwn(OPERATIONS, name)) return OPERATIONS[name];
  const given: unknown = name;
  if (typeof given !== 'string') throw new TypeError('the name of an operation is a string, such as `queryRecords`');
  const near = nearestTo(given).map((one) => `\`${one}\``);
  throw new TypeError(`there is no operation \`${given.slice(0, 64)}\`; the nearest names are ${near.join(', ')}`);
}

/** By how much of them differs, whatever the case; at equal distance in the order of the table. */
function nearestTo(given: string): readonly string[] {
  const wanted = pairsOf(given);
  const shared = (name: string): number => {
    const pairs = pairsOf(name);
    const both = [...pairs].filter((pair) => wanted.has(pair)).length;
    return both / (pairs.size + wanted.size);
  };
  const ranked = Object.keys(OPERATIONS).map((name) => ({ name, score: shared(name) }));
  return ranked
    .sort((a, b) => b.score - a.score)
    .slice(0, SUGGESTED)
    .map(({ name }) => name);
}

/** The pairs of neighbouring letters of a name, with its beginning and end. */
function pairsOf(name: string): ReadonlySet<string> {
  const text = ` ${name.slice(0, 64).toLowerCase()} `;
  return new Set(Array.from({ length: text.length - 1 }, (_, at) => text.slice(at, at + 2)));
}
