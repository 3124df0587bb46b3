// What the feed of changes answers, as JSON Schema.
import { CHANGES_LIMITS } from '../limits/changes.js';
import { scope } from './answer-schemas.js';
import { familyName, instant, namespacePath, recordId } from './record-schema.js';
import { closed, nullable, schema, whole } from './schema.js';

const cursor = schema({
  title: 'ChangeCursor',
  description: 'A place in the feed. It belongs to the actor, the namespace and the families of the request.',
  type: 'string',
  pattern: `^[A-Za-z0-9_-]{${String(CHANGES_LIMITS.cursorCharacters)}}$`,
});

const region = schema({
  title: 'ReadRegion',
  description:
    'Namespaces in which records may be read: `exact` is one alone, `subtree` with everything below it, `below` everything below it. `except` lists subtrees that are left out.',
  ...closed(['namespace', 'extent', 'scopes'], {
    namespace: namespacePath,
    extent: schema({ enum: ['exact', 'subtree', 'below'] }),
    except: schema({ type: 'array', minItems: 1, items: namespacePath }),
    scopes: schema({ type: 'array', minItems: 1, items: scope }),
  }),
});

const regions = schema({ type: 'array', items: region });

const recordChange = schema({
  title: 'RecordChange',
  description:
    'A record was created, changed, moved, archived, restored or deleted. Of `moved`, `from` is where it was, null where the actor may not see that, and `left` says that the actor may not see where it is now.',
  ...closed(['cursor', 'time', 'change', 'family', 'id', 'namespace', 'revision'], {
    cursor,
    time: instant,
    change: schema({ enum: ['created', 'changed', 'moved', 'archived', 'restored', 'deleted'] }),
    family: familyName,
    id: recordId,
    namespace: namespacePath,
    revision: schema({ type: 'integer', minimum: 1 }),
    from: nullable(namespacePath),
    left: schema({ const: true }),
  }),
});

const rightsChange = schema({
  title: 'RightsChange',
  description: 'What the actor may see has changed: read what is gained, and drop what is lost.',
  ...whole({ cursor, time: instant, change: schema({ const: 'rights' }), gained: regions, lost: regions }),
});

export const CHANGES_SCHEMA = schema({
  title: 'Changes',
  ...whole({
    items: schema({
      type: 'array',
      maxItems: CHANGES_LIMITS.size + 1,
      items: schema({ anyOf: [rightsChange, recordChange] }),
    }),
    next: cursor,
  }),
});

export const CHANGE_STREAM_SCHEMA = schema({
  title: 'ChangeStream',
  description: 'Server-sent events: `data` is an item as JSON, `id` its cursor. Comments show that the stream lives.',
  type: 'string',
});
