// Namespaces for the objects of a source. `/a/b` keeps its levels; any other text is one segment below the root.
import { canonicalize } from '../../engine/index.js';
import { asSegment } from './make-names.js';

export interface NamespaceMaker {
  /** Null if the object can have no namespace of its own. */
  readonly of: (object: string) => string | null;
  readonly whyNot: (object: string) => string;
}

export function makePlaces(objects: readonly string[]): NamespaceMaker {
  const byObject = new Map<string, string>();
  const taken = new Map<string, string>();
  const why = new Map<string, string>();
  for (const object of new Set(objects)) {
    const wanted = canonicalize(wantedPath(object));
    const other = wanted.ok ? taken.get(wanted.path) : undefined;
    if (!wanted.ok) why.set(object, `\`${object}\` is too long or too deep for a namespace`);
    else if (other !== undefined) why.set(object, `\`${object}\` and \`${other}\` would be the same namespace`);
    else {
      byObject.set(object, wanted.path);
      taken.set(wanted.path, object);
    }
  }
  return { of: (object) => byObject.get(object) ?? null, whyNot: (object) => why.get(object) ?? '' };
}

function wantedPath(object: string): string {
  const segments = object.split('/');
  const [first, ...rest] = segments;
  const isPath = first === '' && rest.length > 0 && rest.every((segment) => segment !== '');
  return `/${isPath ? rest.map(asSegment).join('/') : asSegment(object)}`;
}
