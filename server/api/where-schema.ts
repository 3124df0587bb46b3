// What `where` may hold, as a JSON Schema for editors and for the API's description. The gateway reads conditions
// itself (server/query/condition.ts), because it knows the fields and has better messages; a test compares the two.
import { QUERY_LIMITS } from '../limits/queries.js';

const value = { type: ['number', 'string', 'boolean'] };
const ordered = { type: ['number', 'string'] };
const GROUP = { $ref: '#/$defs/group' };
const GROUPS = { type: 'array', items: GROUP };
const OPERATORS = { $ref: '#/$defs/operators' };
const listOf = (items: object): object => ({ type: 'array', maxItems: QUERY_LIMITS.listValues, items });

export const WHERE_SCHEMA = Object.freeze({
  $defs: {
    group: {
      title: 'Conditions',
      type: 'object',
      description: 'All of these must hold. A key is a field, or and, or, not.',
      patternProperties: { '^(?:and|or)$': GROUPS, '^not$': GROUP, '^(?!(?:and|or|not)$)': OPERATORS },
      // Nothing is left for it. Generators of clients read it and not the patterns, or make types of both that contradict
      // each other if only the fields stand here.
      additionalProperties: { anyOf: [OPERATORS, GROUP, GROUPS] },
    },
    operators: {
      title: 'Operators',
      type: 'object',
      description: 'What must hold of one field.',
      minProperties: 1,
      properties: {
        eq: value,
        ne: value,
        lt: ordered,
        lte: ordered,
        gt: ordered,
        gte: ordered,
        contains: { type: 'string' },
        containsIgnoreCase: { type: 'string', maxLength: QUERY_LIMITS.foldedCharacters },
        startsWith: { type: 'string' },
        endsWith: { type: 'string' },
        in: listOf(value),
        notIn: listOf(value),
        isNull: { type: 'boolean' },
        has: ordered,
        hasAny: listOf(ordered),
        hasAll: listOf(ordered),
      },
      additionalProperties: false,
    },
  },
});
