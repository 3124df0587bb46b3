// What the texts of policy files must look like: in words for documents, and as patterns with which editors check and complete them.
// What a pattern cannot express (calendars, bytes, whether a name is declared) is left to readers such as `values.ts`.
import { ENGINE_LIMITS } from '../limits.js';
import { FORBIDDEN_KEYS } from '../model/identity.js';
import { NAMESPACE_LIMITS } from '../model/namespace.js';
import { FAMILIES, SCOPES } from '../model/scope.js';

export type JsonSchema = { readonly [key: string]: JsonSchemaValue };
type JsonSchemaValue = string | number | boolean | readonly JsonSchemaValue[] | JsonSchema;

interface Look {
  /** What a key takes, in words for documents. */
  readonly takes: string;
  readonly schema: JsonSchema;
}

function matches(takes: string, pattern: string, description: string): Look {
  return { takes, schema: { type: 'string', pattern, description } };
}

const NAME = '[a-z0-9][a-z0-9._-]{0,127}';
const NAME_WORDS = 'a name: `a-z`, `0-9`, `.`, `_`, `-`';
const FORBIDDEN = `(?!(?:${[...FORBIDDEN_KEYS].join('|')})$)`;
const SEGMENT = `(?!\\.{1,2}(?:/|$))[a-z0-9._~-]{1,${String(NAMESPACE_LIMITS.segmentLength)}}`;
const NAMESPACE = `/(?:$|(?=.{1,${String(NAMESPACE_LIMITS.bytes - 1)}}$)${SEGMENT}(?:/${SEGMENT}){0,${String(NAMESPACE_LIMITS.segments - 1)}}$)`;
/** A subject has at most 255 bytes. A pattern can only count characters. */
const SUBJECT = '(?!\\s)[^\\u0000-\\u001f\\u007f-\\u009f]{1,255}(?<!\\s)';
const INSTANT =
  '\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01])T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,3})?(?:Z|(?!-00:00)[+-](?:[01]\\d|2[0-3]):[0-5]\\d)';

/** The path of a folder below the one of `policy.yaml`. */
export const FOLDER_PATTERN = '^(?!\\.)[^/\\\\\\u0000-\\u001f]{1,255}(?:/(?!\\.)[^/\\\\\\u0000-\\u001f]{1,255}){0,31}$';

export const EVERY_TOP_LEVEL = 'every-top-level';

const PATTERNS: readonly string[] = [...SCOPES, ...FAMILIES.map((family) => `${family}:*`), '*:read', '*:write'];

/** Two families of records at once. */
export const TEMPLATE_PATTERNS: readonly string[] = ['read', 'write', '*'].map((action) => `*-template:${action}`);

/** Scopes and the patterns for them, by the syntax that allows them: `*-template` is for guardrails only. */
const SCOPE_PATTERNS = {
  'scope-pattern': PATTERNS,
  'guardrail-pattern': [...PATTERNS, ...TEMPLATE_PATTERNS],
} as const;

/** Of a family that `policy.yaml` may declare; only reading the policy tells whether it does. */
const OWN_FAMILY = `(?!(?:${FAMILIES.join('|')})[: ])${NAME}`;

function patternSchema(syntax: keyof typeof SCOPE_PATTERNS): JsonSchema {
  const own = {
    type: 'string',
    pattern: `^${OWN_FAMILY}:(?:${NAME}|\\*)$`,
    description: 'a scope of a family that `policy.yaml` declares',
  };
  return { anyOf: [{ enum: SCOPE_PATTERNS[syntax] }, own] };
}

export const TEXTS = {
  name: matches('a name', `^${NAME}$`, NAME_WORDS),
  'role-name': matches('names', `^${FORBIDDEN}${NAME}$`, NAME_WORDS),
  'person-name': matches('names', `^${FORBIDDEN}${NAME}$`, NAME_WORDS),
  'family-name': matches(
    'names',
    `^${FORBIDDEN}(?!(?:${FAMILIES.join('|')})$)${NAME}$`,
    `${NAME_WORDS}; not one of the five`,
  ),
  provider: matches('names', `^${FORBIDDEN}(?!.*-group$)${NAME}$`, 'a name that does not end in `-group`'),
  folder: matches('folders', FOLDER_PATTERN, 'a folder beside `policy.yaml`, or below one: `teams/amx`'),
  /** `link/` checks whether it is declared. */
  reference: { takes: 'a name', schema: { type: 'string', description: 'a name that is declared elsewhere' } },
  identity: matches('`provider:subject`', `^${NAME}:${SUBJECT}$`, '`provider:subject`'),
  subject: matches('a subject', `^${SUBJECT}$`, 'as the provider calls it'),
  namespace: matches('a namespace', `^${NAMESPACE}`, 'a namespace: `/` or `/labs/optics`'),
  'counted-place': {
    takes: `a namespace, or \`${EVERY_TOP_LEVEL}\``,
    schema: {
      anyOf: [{ const: EVERY_TOP_LEVEL }, { type: 'string', pattern: `^${NAMESPACE}`, description: 'a namespace' }],
    },
  },
  'scope-pattern': { takes: 'scope pattern', schema: patternSchema('scope-pattern') },
  'guardrail-pattern': { takes: 'scope pattern', schema: patternSchema('guardrail-pattern') },
  access: matches(
    'a scope and a namespace',
    `^(?:${SCOPES.join('|')}|${OWN_FAMILY}:${NAME}) ${NAMESPACE}`,
    'a scope, a space and a namespace',
  ),
  'family-place': matches(
    'a family and a context',
    `^(?:${FAMILIES.join('|')}|${OWN_FAMILY}) ${NAMESPACE}`,
    'a family, a space and a namespace',
  ),
  instant: matches('an instant with offset', `^${INSTANT}$`, 'RFC 3339 with an offset: `2026-12-01T00:00:00Z`'),
  duration: matches('a duration such as `90d`', '^[1-9][0-9]{0,8}[smhd]$', '`30s`, `15m`, `24h` or `90d`'),
  'free-text': { takes: 'free text', schema: { type: 'string', maxLength: ENGINE_LIMITS.freeTextBytes } },
  'test-name': {
    takes: 'free text',
    schema: {
      type: 'string',
      pattern: '\\S',
      description: 'what the test is about',
      maxLength: ENGINE_LIMITS.freeTextBytes,
    },
  },
} satisfies Readonly<Record<string, Look>>;

export type TextSyntax = keyof typeof TEXTS;
