// Relationship tuples of OpenFGA in YAML or JSON: a list, `tuples:` of a store file, or the answer of `fga tuple read`. What only an
// authorization model can say is kept apart.
import { ForeignFault, type ForeignFile, type SourcePlace, type Unsaid } from '../imported-policy.js';
import { isFields, listOf, readDocuments, textOf } from '../read-documents.js';

export interface RelationTuple extends SourcePlace {
  /** `user:ana`, or `team:eng#member` for all who have that relation. */
  readonly user: string;
  readonly relation: string;
  readonly object: string;
}

export interface Tuples {
  readonly tuples: readonly RelationTuple[];
  readonly unsaid: readonly Unsaid[];
}

/** Throws `ForeignFault`. */
export function readTuples(files: readonly ForeignFile[]): Tuples {
  const tuples: RelationTuple[] = [];
  const objects = new Set<string>();
  const unsaid: Unsaid[] = [];
  for (const { value, placeOf } of files.flatMap(readDocuments)) {
    const { list, path } = listIn(value, placeOf([]));
    if (isFields(value)) {
      for (const key of ['model', 'model_file', 'type_definitions'])
        if (value[key] !== undefined)
          unsaid.push({
            ...placeOf([key]),
            rule: key,
            why: 'relations that the model derives from others are not followed',
          });
    }
    for (const [i, item] of list.entries()) {
      const at = [...path, i];
      const place = placeOf(at);
      const tuple = isFields(item) && isFields(item['key']) ? item['key'] : item;
      if (!isFields(tuple))
        throw new ForeignFault(place, 'a tuple must be a mapping with `user`, `relation` and `object`');
      const [user, relation, object] = ['user', 'relation', 'object'].map((key) =>
        textOf(tuple[key], place, `\`${key}\``),
      );
      if (user === undefined || relation === undefined || object === undefined) continue;
      if (
        !/^[^:#\s]+:[^#\s]+(?:#[^:#\s]+)?$/.test(user) ||
        !/^[^:#\s]+:[^#\s]+$/.test(object) ||
        !/^[^:#@\s]+$/.test(relation)
      )
        throw new ForeignFault(
          place,
          `\`${user} ${relation} ${object}\` is not a tuple: write \`user:ana\`, \`viewer\` and \`document:plan\``,
        );
      const rule = `${user} ${relation} ${object}`;
      objects.add(object);
      if (tuple['condition'] !== undefined && tuple['condition'] !== null)
        unsaid.push({ ...place, rule, why: 'it holds under a condition, and grants only begin and end' });
      else if (/^[^:#]+:\*$/.test(user))
        unsaid.push({ ...place, rule, why: 'it applies to everybody, but a grant applies to an identity or a role' });
      else tuples.push({ ...place, user, relation, object });
    }
  }
  const { said, left } = withoutObjects(tuples, objects);
  return { tuples: said, unsaid: [...unsaid, ...left] };
}

function listIn(
  value: unknown,
  place: SourcePlace,
): { readonly list: readonly unknown[]; readonly path: readonly string[] } {
  if (Array.isArray(value)) return { list: value, path: [] };
  if (!isFields(value) || !('tuples' in value)) throw new ForeignFault(place, 'has no `tuples`');
  return { list: listOf(value['tuples'], place, '`tuples`'), path: ['tuples'] };
}

/**
 * Without tuples between objects, such as a folder that is the parent of a document: only a model says what follows.
 * `objects` are those of all tuples, also of the ones that are not imported.
 */
function withoutObjects(
  tuples: readonly RelationTuple[],
  objects: ReadonlySet<string>,
): {
  readonly said: readonly RelationTuple[];
  readonly left: readonly Unsaid[];
} {
  const said = tuples.filter(({ user }) => !objects.has(user));
  const left = tuples
    .filter(({ user }) => objects.has(user))
    .map(({ file, line, user, relation, object }) => ({
      ...{ file, line, rule: `${user} ${relation} ${object}` },
      why: `\`${user}\` is an object itself, so what follows from this is in the model`,
    }));
  return { said, left };
}
