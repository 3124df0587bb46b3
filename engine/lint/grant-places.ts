// Finds where a grant names its namespace. A policy keeps only the place of each grant's id, since few places are ever shown. When
// there is a finding, the place to underline is looked up in the file.
import type { EngineLimits } from '../limits.js';
import type { Place } from '../model/policy-set.js';
import type { Span } from '../model/span.js';
import { readTree } from '../source/read-tree.js';
import type { Node } from '../source/tree.js';

/** Maps the place of a grant to the place of its namespace. If the file does not show it, the result is the grant's place. */
export type NamespacePlaces = (grant: Place | null) => Place | null;

export function makeNamespacePlaces(sources: ReadonlyMap<string, string>, limits: EngineLimits): NamespacePlaces {
  const known = new Map<string, ReadonlyMap<number, Span>>();
  return (grant) => {
    if (grant === null) return null;
    const ofFile = known.get(grant.file) ?? namespacesIn(sources.get(grant.file) ?? '', limits);
    known.set(grant.file, ofFile);
    const { start, end } = ofFile.get(grant.start) ?? grant;
    return { ...grant, start, end };
  };
}

/** The places of namespaces, by the offset at which the grant's id begins. */
function namespacesIn(text: string, limits: EngineLimits): ReadonlyMap<number, Span> {
  const parsed = readTree({ text, limits, report: () => undefined });
  if (parsed.kind !== 'tree') return new Map();
  const grants = valueOf(parsed.node, 'grants');
  const found = new Map<number, Span>();
  for (const grant of grants?.kind === 'list' ? grants.items : []) {
    const [id, namespace] = [valueOf(grant, 'id'), valueOf(grant, 'namespace')];
    if (id !== null && namespace !== null) found.set(id.start, namespace);
  }
  return found;
}

function valueOf(node: Node, key: string): Node | null {
  return (node.kind === 'mapping' && node.entries.find((entry) => entry.key.text === key)?.value) || null;
}
