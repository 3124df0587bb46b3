// The shapes of policy files, described once: the decoders take from here which keys there are, the formatter in which
// order they stand, and the editor schemas are made of it (docs/language.md "Every key").
import { FAMILIES, SCOPES } from '../model/scope.js';

/** What a text must look like; `json-schema.ts` has a pattern for each, `values.ts` and its like a reader. */
export type TextSyntax =
  | 'access'
  | 'counted-place'
  | 'duration'
  | 'family-place'
  | 'free-text'
  | 'guardrail-pattern'
  | 'identity'
  | 'instant'
  | 'name'
  | 'namespace'
  | 'person-name'
  | 'provider'
  /** A name that is declared elsewhere: whether it is, is for `link/`. */
  | 'reference'
  | 'role-name'
  | 'scope-pattern'
  | 'subject'
  | 'test-name';

export type ValueShape =
  | { readonly kind: 'text'; readonly syntax: TextSyntax }
  | { readonly kind: 'version' | 'boolean' }
  | { readonly kind: 'count'; readonly least: number }
  | { readonly kind: 'list'; readonly of: ValueShape; readonly least: number }
  /** Keys are the author's. */
  | { readonly kind: 'named'; readonly key: TextSyntax; readonly of: ValueShape }
  | { readonly kind: 'mapping'; readonly shape: MappingShape }
  /** At most one of the alternatives is a list, one a mapping and one a text, so the value says which is meant. */
  | { readonly kind: 'either'; readonly of: readonly ValueShape[] };

export interface FieldShape {
  readonly value: ValueShape;
  /** For people, in an editor: one sentence. */
  readonly about: string;
}

export interface MappingShape {
  /** How the mapping is called in a message, with its article. */
  readonly what: string;
  /** In the order in which they are written. */
  readonly fields: ReadonlyMap<string, FieldShape>;
  readonly keys: readonly string[];
  readonly required: readonly string[];
  /** Of these keys exactly one is there. */
  readonly exactlyOne: readonly string[];
  /** Of these keys at least one is there and not empty. */
  readonly anyFilled: readonly string[];
  /** `{}` has no meaning. */
  readonly notEmpty: boolean;
  /** Keys of another place, and the words that say which. */
  readonly elsewhere: ReadonlyMap<string, string>;
}

interface Rules {
  readonly required?: readonly string[];
  readonly exactlyOne?: readonly string[];
  readonly anyFilled?: readonly string[];
  readonly notEmpty?: boolean;
  readonly elsewhere?: ReadonlyMap<string, string>;
}

type FieldRow = readonly [key: string, value: ValueShape, about: string];

function shape(what: string, fields: readonly FieldRow[], rules: Rules = {}): MappingShape {
  return {
    what,
    fields: new Map(fields.map(([key, value, about]) => [key, { value, about }])),
    keys: fields.map(([key]) => key),
    required: rules.required ?? [],
    exactlyOne: rules.exactlyOne ?? [],
    anyFilled: rules.anyFilled ?? [],
    notEmpty: rules.notEmpty ?? false,
    elsewhere: rules.elsewhere ?? new Map(),
  };
}

const text = (syntax: TextSyntax): ValueShape => ({ kind: 'text', syntax });
const list = (of: ValueShape, least = 0): ValueShape => ({ kind: 'list', of, least });
const mapping = (of: MappingShape): ValueShape => ({ kind: 'mapping', shape: of });
const either = (...of: readonly ValueShape[]): ValueShape => ({ kind: 'either', of });

const DESCRIPTION: FieldRow = ['description', text('free-text'), 'Free text for people.'];
const FEW_SCOPES = list(text('scope-pattern'), 1);
const FEW_PATTERNS = list(text('guardrail-pattern'), 1);

export const PROVIDER = shape('a provider', [DESCRIPTION]);

export const ROLE_MEMBER = shape('a member', [['role', text('reference'), 'All members of that role.']], {
  required: ['role'],
});

export const ROLE = shape('a role', [
  DESCRIPTION,
  ['members', list(either(text('identity'), mapping(ROLE_MEMBER))), 'Who is in the role: identities, and other roles.'],
  ['scopes', FEW_SCOPES, 'What a grant to this role means when it names no scopes.'],
]);

// The order is that of a sentence: who may do what, how far down and when, where, and why. It is also what makes a cut
// file safe: `namespace` is required and stands after everything that narrows the grant, so a file that ends early,
// at whatever line, loses the grant as a whole and never a bound of it.
export const GRANT = shape(
  'a grant',
  [
    ['id', text('name'), 'Unique and stable: explanations cite it.'],
    ['role', text('reference'), 'To all members of this role.'],
    ['identity', text('identity'), 'To this identity alone.'],
    ['scopes', FEW_SCOPES, 'What is granted. Without it, what the role declares.'],
    ['inherit', { kind: 'boolean' }, '`false`: at this namespace alone, not below it.'],
    ['notBefore', text('instant'), 'In force from this instant on.'],
    ['expires', text('instant'), 'In force until just before this instant.'],
    ['namespace', text('namespace'), 'Where, and everything below unless `inherit` is `false`.'],
    ['reason', text('free-text'), 'Why, for reviewers.'],
  ],
  { required: ['id', 'namespace'], exactlyOne: ['role', 'identity'] },
);

export const IDENTITY_PARTS = shape(
  'an identity',
  [
    ['provider', text('name'), 'A provider that `policy.yaml` declares.'],
    ['subject', text('subject'), 'As the provider calls it, case-sensitive.'],
  ],
  { required: ['provider', 'subject'] },
);

const IDENTITIES = list(either(text('identity'), mapping(IDENTITY_PARTS)));

/** The actor's keys are those of a `decide` line (docs/cli.md "Requests for decide"). */
export const ACTOR = shape(
  'an actor',
  [
    ['identities', IDENTITIES, 'All identities that the credential proves.'],
    ['credentialScopes', list(text('scope-pattern')), 'What the credential carries. Without it, all ten scopes.'],
    ['namespaceRestrictions', list(text('namespace')), 'Where the credential reaches. Without it, everywhere.'],
  ],
  { required: ['identities'] },
);

export const TEST = shape(
  'a test',
  [
    ['name', text('test-name'), 'What the test is about, for people.'],
    ['actor', mapping(ACTOR), 'Who asks.'],
    ['at', text('instant'), 'When. Without it, the test must hold at all times.'],
    ['allow', list(text('access')), 'Accesses that must be allowed: `resource:read /labs`.'],
    ['deny', list(text('access')), 'Accesses that must be denied.'],
    [
      'sees',
      { kind: 'named', key: 'family-place', of: list(text('namespace')) },
      'For a family and a context, exactly the namespaces at and above the context whose records are visible.',
    ],
  ],
  { required: ['name', 'actor'], anyFilled: ['allow', 'deny', 'sees'] },
);

const ONE_OF = { kind: 'either', of: [text('identity'), mapping(IDENTITY_PARTS)] } as const;

export const PERSON = shape('a person', [['identities', list(ONE_OF, 1), 'All identities of this person.']], {
  required: ['identities'],
});

export const TO = shape(
  '`to`',
  [
    ['providers', list(text('reference'), 1), 'Everyone who signs in there, and the groups that the provider claims.'],
    ['roles', list(text('reference'), 1), 'Members of these roles, nested ones too.'],
    ['identities', list(ONE_OF, 1), 'These identities.'],
  ],
  { notEmpty: true },
);

export const EXCEPT = shape(
  '`except`',
  [
    ['roles', list(text('reference')), 'Members of these roles, nested ones too.'],
    ['identities', IDENTITIES, 'These identities.'],
  ],
  { notEmpty: true },
);

const UNDER: FieldRow = ['under', text('namespace'), 'At this namespace and below it.'];
const SPOKEN_OF: FieldRow = ['to', mapping(TO), 'Whom the rule is about. Without it, everyone.'];
const EXEMPT: FieldRow = ['except', mapping(EXCEPT), 'Identities that do not count, whatever grant they use.'];

export const NEVER = shape('`never`', [['scopes', FEW_PATTERNS, 'What nobody may hold.'], UNDER, SPOKEN_OF, EXEMPT], {
  required: ['scopes', 'under'],
});

const SIDES = list(text('guardrail-pattern'), 2);

export const SEPARATE = shape(
  '`separate`',
  [['scopes', SIDES, 'What no person may hold together in one namespace.'], UNDER, SPOKEN_OF, EXEMPT],
  { required: ['scopes'] },
);

function countShape(kind: 'atLeast' | 'atMost'): MappingShape {
  return shape(
    `\`${kind}\``,
    [
      [
        'identities',
        { kind: 'count', least: leastCount(kind) },
        'How many people. An identity that `people` does not name is one person.',
      ],
      ['scope', text('guardrail-pattern'), 'What they hold.'],
      ['scopes', FEW_PATTERNS, 'They hold any of these.'],
      ['at', text('counted-place'), 'A namespace, or `every-top-level`.'],
      ...(kind === 'atMost' ? [SPOKEN_OF, EXEMPT] : []),
    ],
    { required: ['identities', 'at'], exactlyOne: ['scope', 'scopes'] },
  );
}

export function leastCount(kind: 'atLeast' | 'atMost'): number {
  return kind === 'atLeast' ? 1 : 0;
}

export const COUNTS = { atLeast: countShape('atLeast'), atMost: countShape('atMost') };

export const EXPIRES = shape(
  '`expires`',
  [
    [
      'providers',
      list(text('reference'), 1),
      'Every grant to an identity of these providers, or to a group that they claim, must end.',
    ],
    ['within', text('duration'), 'The longest time from `notBefore` to `expires`: `90d`.'],
  ],
  { required: ['providers', 'within'] },
);

export const RULE_KINDS = ['never', 'separate', 'atLeast', 'atMost', 'expires'] as const;

export const GUARDRAIL = shape(
  'a guardrail',
  [
    ['id', text('name'), 'Unique: reports cite it.'],
    DESCRIPTION,
    ['never', mapping(NEVER), 'Nobody holds these scopes there.'],
    ['separate', either(SIDES, mapping(SEPARATE)), 'Nobody holds these scopes together.'],
    ['atLeast', mapping(COUNTS.atLeast), 'At least this many people hold one of the scopes.'],
    ['atMost', mapping(COUNTS.atMost), 'At most this many people hold one of the scopes.'],
    ['expires', mapping(EXPIRES), 'Grants to these providers end.'],
  ],
  { required: ['id'], exactlyOne: RULE_KINDS },
);

/** The file at the root of the folder that names the policy. */
export const HEADER_FILE = 'policy.yaml';

const HEADER_FIELDS: readonly FieldRow[] = [
  ['bailiwick', { kind: 'version' }, 'The version of the policy language.'],
  ['name', text('name'), 'The name of the policy.'],
  [
    'providers',
    { kind: 'named', key: 'provider', of: mapping(PROVIDER) },
    'Where identities come from: only declared providers can be named.',
  ],
];

const SECTION_FIELDS: readonly FieldRow[] = [
  ['within', text('namespace'), 'Every grant of this file must be at this namespace or below it.'],
  ['roles', { kind: 'named', key: 'role-name', of: mapping(ROLE) }, 'Who belongs together.'],
  [
    'people',
    { kind: 'named', key: 'person-name', of: mapping(PERSON) },
    'People with several identities. Guardrails see all that one person holds; decisions do not change.',
  ],
  ['grants', list(mapping(GRANT)), 'Who may do what where.'],
  ['guardrails', list(mapping(GUARDRAIL)), 'What must never become true, proved for everyone at all times.'],
  ['tests', list(mapping(TEST)), 'Examples of both answers, run by `check` and `compile`.'],
];

/** `policy.yaml`. */
export const HEADER = shape(`\`${HEADER_FILE}\``, HEADER_FIELDS, {
  required: ['bailiwick', 'name'],
  elsewhere: new Map(SECTION_FIELDS.map(([key]) => [key, `\`${key}\` belongs in another file of the folder`])),
});

/** Every other file. */
export const SECTIONS = shape('a policy file', SECTION_FIELDS, {
  elsewhere: new Map(
    HEADER_FIELDS.map(([key]) => [key, `\`${key}\` belongs in \`${HEADER_FILE}\` at the root of the folder`]),
  ),
});

const COMMON_PATTERNS: readonly string[] = [...SCOPES, ...FAMILIES.map((family) => `${family}:*`), '*:read', '*:write'];

/** Scopes and the patterns for them, by the syntax that allows them. */
export const SCOPE_PATTERNS = {
  'scope-pattern': COMMON_PATTERNS,
  'guardrail-pattern': [...COMMON_PATTERNS, ...['read', 'write', '*'].map((action) => `*-template:${action}`)],
} as const;

export const EVERY_TOP_LEVEL = 'every-top-level';

/** Keys that programs trip over, never accepted. */
export const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);
