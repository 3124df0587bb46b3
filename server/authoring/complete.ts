// What may be written at a place of a policy file: keys by the schema, and the policy's own names.
import { type JsonSchema, type NamePlace, policySchema, type PolicySet } from '../../engine/compiler.js';
import { compareTexts, vocabularyOf } from '../../engine/index.js';

export interface Choice {
  readonly text: string;
  readonly about: string;
  readonly kind: 'key' | 'name' | 'scope' | 'namespace';
}

/** Where somebody writes: the keys that lead there, and the text before the cursor on its line. */
interface Spot {
  readonly path: readonly string[];
  readonly before: string;
}

/** What is known of the policy. */
export interface Known {
  /** By file. */
  readonly names: ReadonlyMap<string, readonly NamePlace[]>;
  /** The last that had no mistakes, since what is being typed often is one. */
  readonly set: PolicySet | null;
}

export interface Typing {
  /** Its path in the folder. */
  readonly file: string;
  readonly text: string;
  /** Both from 0. */
  readonly place: { readonly line: number; readonly character: number };
}

export function choicesAt(known: Known, { file, text, place }: Typing): readonly Choice[] {
  const lines = text.split('\n');
  const before = (lines[place.line] ?? '').slice(0, place.character);
  const spot = { before, path: keysAbove(lines, place.line, before) };
  const value = /^\s*(?:-\s+)?(?:\{\s*)?(?:.*[,{]\s*)?([A-Za-z]+):\s+\[?[^{}]*$/.exec(before);
  const key = value?.[1] ?? (/^\s*-\s+\S*$/.test(before) ? (spot.path.at(-1) ?? '') : null);
  if (key === null) return keysAt(file, spot);
  // A policy may have 100,000 names, which nobody reads.
  const typed = /[^\s,[\]{}"']*$/.exec(before)?.[0] ?? '';
  return valuesOf(known, key)
    .filter((choice) => choice.text.includes(typed))
    .slice(0, MOST_CHOICES);
}

/** Where there are so many, there may be more. */
export const MOST_CHOICES = 500;

/** The keys of less indentation above a line, from the outside in. */
function keysAbove(lines: readonly string[], line: number, before: string): readonly string[] {
  let indent = /^\s*(?:-\s+)?/.exec(before)?.[0].length ?? 0;
  const path: string[] = [];
  for (let i = line - 1; i >= 0 && indent > 0; i -= 1) {
    const found = /^(\s*(?:-\s+)?)([^\s#:][^:#]*):(?:\s|$)/.exec(lines[i] ?? '');
    if (found === null) continue;
    const [, own = '', key = ''] = found;
    const dash = /^\s*-/.exec(own)?.[0].length ?? 0;
    // A key of the same entry stands beside what is written, not above it.
    if (own.length >= indent && !(dash > 0 && dash - 1 < indent && own.length < indent)) continue;
    path.unshift(key.trim());
    indent = dash > 0 ? dash - 1 : own.length;
  }
  return path;
}

const NAMES: Readonly<Record<string, readonly string[]>> = {
  role: ['role'],
  roles: ['role'],
  exports: ['role'],
  identity: ['identity'],
  identities: ['identity'],
  members: ['identity'],
  as: ['identity', 'person'],
  providers: ['provider'],
};
const PLACES = ['namespace', 'within', 'under', 'at', 'namespaceRestrictions'];
const SCOPES = ['scopes', 'credentialScopes', 'never', 'separate'];

function valuesOf({ names, set }: Known, key: string): readonly Choice[] {
  const kinds = NAMES[key] ?? [];
  if (kinds.length > 0) {
    const found = new Set(
      [...names.values()]
        .flat()
        .filter(({ kind }) => kinds.includes(kind))
        .map(({ name }) => name),
    );
    return [...found].sort(compareTexts).map((text) => ({ text, about: kinds[0] ?? '', kind: 'name' }));
  }
  if (SCOPES.includes(key))
    return patterns(set === null ? [] : vocabularyOf(set).scopes).map((text) => ({
      text,
      about: 'scope',
      kind: 'scope',
    }));
  if (PLACES.includes(key)) {
    const paths = new Set((set?.grants ?? []).map(({ namespace }): string => namespace));
    return [...paths].sort().map((text) => ({ text, about: 'namespace of a grant', kind: 'namespace' }));
  }
  if (key === 'inherit') return ['true', 'false'].map((text) => ({ text, about: '', kind: 'name' }));
  return [];
}

function patterns(scopes: readonly string[]): readonly string[] {
  const families = [...new Set(scopes.map((scope) => scope.slice(0, scope.indexOf(':'))))];
  return [...scopes, ...families.map((family) => `${family}:*`), '*:read', '*:write'];
}

interface Shape {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly additionalProperties?: Shape | boolean;
  readonly items?: Shape;
  readonly anyOf?: readonly Shape[];
  readonly allOf?: readonly Shape[];
  readonly description?: string;
}

function keysAt(file: string, { path, before }: Spot): readonly Choice[] {
  if (!/^\s*(?:-\s+)?[A-Za-z]*$/.test(before)) return [];
  const schema: JsonSchema & Shape & { readonly definitions?: Readonly<Record<string, Shape>> } = policySchema(
    file === 'policy.yaml' ? 'policy' : 'sections',
  );
  const plain = (shape: Shape): readonly Shape[] => {
    const named = shape.$ref === undefined ? undefined : schema.definitions?.[shape.$ref.replace('#/definitions/', '')];
    const parts = [...(named === undefined ? [] : [named]), ...(shape.anyOf ?? []), ...(shape.allOf ?? [])];
    return [shape, ...parts.flatMap(plain)];
  };
  const inside = (shapes: readonly Shape[], key: string): readonly Shape[] =>
    shapes.flatMap(({ properties, additionalProperties, items }) => [
      ...(properties?.[key] === undefined ? [] : plain(properties[key])),
      ...(typeof additionalProperties === 'object' ? plain(additionalProperties) : []),
      ...(items === undefined ? [] : inside(plain(items), key)),
    ]);
  const here = path.reduce(inside, plain(schema));
  const own = here.flatMap((shape) => [shape, ...(shape.items === undefined ? [] : plain(shape.items))]);
  const keys = new Map(own.flatMap(({ properties = {} }) => Object.entries(properties)));
  return Array.from(keys, ([key, { description = '' }]) => ({ text: key, about: description, kind: 'key' }));
}

/** The name that a place is in. */
export function nameAt(names: readonly NamePlace[], { line, character }: Typing['place']): NamePlace | null {
  const found = names.find(
    ({ range: { start, end } }) =>
      start.line === line + 1 && start.column <= character + 1 && character + 1 <= end.column,
  );
  return found ?? null;
}
