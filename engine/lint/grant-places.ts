// Where a grant names its namespace. A policy keeps the place of a grant's id alone, since few are ever shown: what a finding
// underlines is looked up in the file when there is a finding.
import type { EngineLimits } from '../limits.js';
import type { Place } from '../model/policy-set.js';
import { lineTableOf, rangeOf } from '../model/span.js';
import { readTree } from '../source/read-tree.js';
import type { Node } from '../source/tree.js';

/** From the place of a grant to that of its namespace, or the same place if the file does not show it. */
export type NamespacePlaces = (grant: Place) => Place;

export function makeNamespacePlaces(sources: ReadonlyMap<string, string>, limits: EngineLimits): NamespacePlaces {
  const known = new Map<string, ReadonlyMap<string, Place>>();
  return (grant) => {
    const ofFile = known.get(grant.file) ?? placesIn(grant.file, sources.get(grant.file) ?? '', limits);
    known.set(grant.file, ofFile);
    return ofFile.get(keyOf(grant)) ?? grant;
  };
}

function keyOf({ range: { start } }: Place): string {
  return `${String(start.line)}:${String(start.column)}`;
}

function placesIn(file: string, text: string, limits: EngineLimits): ReadonlyMap<string, Place> {
  const parsed = readTree({ text, limits, report: () => undefined });
  if (parsed.kind !== 'tree') return new Map();
  const lines = lineTableOf(text);
  const placeOf = (node: Node): Place => ({ file, range: rangeOf(lines, node) });
  const grants = valueOf(parsed.node, 'grants');
  const found = new Map<string, Place>();
  for (const grant of grants?.kind === 'list' ? grants.items : []) {
    const [id, namespace] = [valueOf(grant, 'id'), valueOf(grant, 'namespace')];
    if (id !== null && namespace !== null) found.set(keyOf(placeOf(id)), placeOf(namespace));
  }
  return found;
}

function valueOf(node: Node, key: string): Node | null {
  return (node.kind === 'mapping' && node.entries.find((entry) => entry.key.text === key)?.value) || null;
}
