// Namespaces in requests.
import { canonicalize, type NamespacePath, pathFaultText } from '../../engine/index.js';
import { inputProblem } from '../problem.js';

/** The namespace that a text names. If it names none, throws `namespace.invalid` with these words and the reason. */
export function namespaceIn(text: unknown, pointer: string, words: string): NamespacePath {
  const named = canonicalize(text);
  if (named.ok) return named.path;
  throw inputProblem('namespace.invalid', pointer, `${words}: ${pathFaultText(named.fault)}`);
}

/** What stands for `{path}` in the path of a route. */
export function namespaceOfPath(part: string | null): NamespacePath {
  return namespaceIn(part, '', 'the path after /namespaces is not that of a namespace');
}

export function namespaceOfQuery(text: string | undefined): NamespacePath {
  return namespaceIn(text, '', 'the query parameter namespace is not that of a namespace');
}
