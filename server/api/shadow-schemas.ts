// What the routes of a shadow take and answer, as JSON Schemas: the candidate, the differences, and how both policies
// answered live requests.
import { digest, scope } from './answer-schemas.js';
import { shapeOf } from './body-shape.js';
import { familyName, instant, namespacePath, reachName } from './record-schema.js';
import { closed, count, nullable, schema, text, texts, whole } from './schema.js';

const exact = schema({
  title: 'ExactCount',
  description: 'Beyond 2^53 - 1 it is a string of its digits.',
  type: ['integer', 'string'],
});

const SIDES = Object.freeze({ gained: count, lost: count });

const ROW = schema({
  title: 'DifferenceRow',
  description: 'As a row of `bailiwick diff`. Of each list the first few; `omitted` counts the others.',
  ...closed(['namespace', 'extent', 'identities', 'scopes', 'from', 'until', 'causes'], {
    namespace: namespacePath,
    extent: { title: 'Extent', enum: ['exact', 'below', 'subtree'] },
    except: { type: 'array', items: namespacePath },
    identities: texts,
    scopes: { type: 'array', items: scope },
    from: nullable(instant),
    until: nullable(instant),
    causes: { type: 'array', items: { type: 'object' } },
    omitted: whole({ except: count, identities: count, causes: count }),
  }),
});

const CELLS = Object.freeze({
  cells: { ...exact, title: 'DifferingCells', description: 'Gained and lost together.' },
  gained: exact,
  lost: exact,
  compared: exact,
} as const);

const fault = Object.freeze({ title: 'ShadowFault', ...whole({ code: text, message: text }) });

/** Gained or lost under the candidate compared with the policy in force. */
const change = schema({ title: 'Change', enum: ['gained', 'lost', 'both'] });

const COUNTS = Object.freeze({
  compared: { description: 'Decisions of live requests that the candidate repeated.', ...count },
  ...SIDES,
  both: { description: 'Queries that would show some records more and some less.', ...count },
  skipped: { description: 'Decisions that were not compared, since there was no time.', ...count },
} as const);

/** Shown to everybody who sees the status. It reveals nothing about requests. */
export const SHADOW_SUMMARY = Object.freeze({
  title: 'ShadowSummary',
  ...whole({
    snapshot: digest,
    decisions: digest,
    since: instant,
    differs: nullable({
      title: 'DifferingCounts',
      description: 'Null while it is worked out, and where it cannot be.',
      ...whole(CELLS),
    }),
    fault: nullable(fault),
    live: { title: 'LiveCounts', ...whole(COUNTS) },
  }),
});

const outcome = Object.freeze({
  title: 'Outcome',
  ...closed(['decision'], { decision: { enum: ['allow', 'deny'] }, step: text, cause: text }),
} as const);

const places = Object.freeze({
  title: 'Places',
  ...whole({
    places: {
      type: 'array',
      items: whole({ namespace: namespacePath, extent: { enum: ['exact', 'subtree'] } }),
    },
    more: { description: 'Whether there are others.', type: 'boolean' },
  }),
});

const EXAMPLE = schema({
  title: 'ShadowExample',
  ...closed(['actor', 'operation', 'access', 'at', 'times', 'change', 'live', 'shadow'], {
    actor: whole({ id: text, kind: text, fingerprint: { type: ['string', 'null'] } }),
    operation: text,
    access: {
      description: 'The question, as an audit event has it; for a copy `source` and `destination`.',
      ...closed(['family'], {
        family: familyName,
        scope,
        reach: reachName,
        context: namespacePath,
        target: namespacePath,
        creates: namespacePath,
        source: namespacePath,
        destination: namespacePath,
      }),
    },
    at: { ...instant, title: 'LastAsked', description: 'When the question last came up.' },
    times: { type: 'integer', minimum: 1 },
    change,
    live: outcome,
    shadow: outcome,
    visible: {
      description: 'Of a query: places that only one of the two shows.',
      ...whole({ gained: places, lost: places }),
    },
  }),
});

export const SHADOW_SCHEMA = Object.freeze({
  title: 'Shadow',
  anyOf: [
    whole({
      snapshot: digest,
      policy: text,
      decisions: digest,
      since: instant,
      askedBy: text,
      against: {
        description: 'The policy in force with which it is compared.',
        ...whole({ snapshot: digest, generation: { type: 'integer', minimum: 1 } }),
      },
      differs: nullable({
        title: 'Difference',
        description: 'Null while it is worked out, and where it cannot be.',
        ...whole({
          ...CELLS,
          rows: whole({
            gained: { type: 'array', items: ROW },
            lost: { type: 'array', items: ROW },
            omitted: whole(SIDES),
          }),
        }),
      }),
      fault: nullable(fault),
      live: {
        title: 'LiveComparison',
        ...whole({ ...COUNTS, examples: { type: 'array', items: EXAMPLE } }),
      },
    }),
    {
      description: 'There is no candidate.',
      ...whole({ snapshot: { type: 'null' }, differs: { type: 'null' }, since: { type: 'null' } }),
    },
  ],
});

export const SHADOW_SHAPE = shapeOf(
  schema({
    title: 'ShadowChoice',
    ...closed(['snapshot'], {
      snapshot: { description: 'Digest of a stored snapshot; null ends the shadow.', ...nullable(digest) },
    }),
  }),
);
