// The section `guardrails` (docs/language.md "Guardrails"). There are five kinds of rules, and each guardrail has exactly one.
import type { GuardrailDeclaration, RuleDeclaration } from '../model/document.js';
import type { CountedAt } from '../model/policy-set.js';
import { ROOT } from '../model/namespace.js';
import { nearest } from '../diagnostics/nearest.js';
import type { ScopeSet } from '../model/scope-set.js';
import { refuse, type FileContext } from './context.js';
import { PARTIES, partiesOf, someProviders } from './decode-parties.js';
import { firstLine, isNull, itemsOf, readWord, refuseNull, type Reader } from './fields.js';
import { PATTERN, PATTERNS, readEachPattern } from './scope-values.js';
import {
  either,
  entryOf,
  list,
  mapping,
  readMapping,
  shape,
  text,
  value,
  type ReadMapping,
  type Value,
} from './shape.js';
import { EVERY_TOP_LEVEL } from './texts.js';
import type { Node } from './tree.js';
import { BOOLEAN, DESCRIPTION, DURATION, NAME, NAMESPACE, namespaceOf } from './values.js';

const UNDER = [NAMESPACE, 'At this namespace and below it.'] as const;

const NEVER = shape(
  '`never`',
  { scopes: [PATTERNS, 'What nobody may hold.'], under: UNDER, ...PARTIES },
  { required: ['scopes', 'under'] },
);

function readNever(context: FileContext, node: Node): RuleDeclaration {
  const never = readMapping(context, node, NEVER)?.values ?? {};
  const [scopes, under] = [never.scopes?.value ?? null, never.under?.value ?? null];
  return { kind: 'never', scopes, under, ...partiesOf(never) };
}

const SIDES = value(list(PATTERN, 2), readSides);

function readSides(context: FileContext, node: Node): readonly ScopeSet[] | null {
  const what = '`separate`';
  if (isNull(node)) return refuseNull(context, node, { what, instead: 'name at least two scopes or patterns' });
  const sides = readEachPattern(context, node, what);
  if (node.kind !== 'list' || node.items.length > 1) return sides;
  return refuse(context, 'GUARDRAIL_SIDES', {
    at: firstLine(context, node),
    message: `${what} needs at least two scopes or patterns`,
    help: 'write what no person may hold together, such as `[resource:write, process-run:write]`',
  });
}

const SEPARATE = shape(
  '`separate`',
  { scopes: [SIDES, 'What no person may hold together in one namespace.'], under: UNDER, ...PARTIES },
  { required: ['scopes'] },
);

/** A list of sides, or a mapping with `scopes` and optionally `under`, `to` and `except` to narrow the rule. */
function readSeparate(context: FileContext, node: Node): RuleDeclaration {
  if (node.kind === 'list') return { kind: 'separate', sides: readSides(context, node), under: ROOT, ...partiesOf({}) };
  const separate = readMapping(context, node, SEPARATE)?.values ?? {};
  const under = separate.under === undefined ? ROOT : (separate.under?.value ?? null);
  return { kind: 'separate', sides: separate.scopes ?? null, under, ...partiesOf(separate) };
}

function countOf(least: number): Value<number> {
  return value({ kind: 'count', least }, (context, node, what) => {
    if (node.kind === 'refused') return null;
    const isCount = node.kind === 'text' && node.plain && /^(?:0|[1-9][0-9]{0,8})$/.test(node.text);
    if (isCount && Number(node.text) >= least) return Number(node.text);
    const message = `${what} must be a whole number of at least ${String(least)}`;
    const help = `write plain digits without quotes, such as \`${String(Math.max(least, 2))}\``;
    return refuse(context, 'VALUE_NOT_COUNT', { at: firstLine(context, node), message, help });
  });
}

const TOP_LEVEL = /top[-_ ]?level/i;

const COUNTED_PLACE = value(text('counted-place'), (context, node, what): CountedAt | null => {
  const written = readWord(context, node, what);
  if (written === null) return null;
  if (written.text === EVERY_TOP_LEVEL) return { kind: EVERY_TOP_LEVEL };
  const isNear = nearest(written.text, [EVERY_TOP_LEVEL]) !== null || TOP_LEVEL.test(written.text);
  // Without a slash this was probably not meant as a namespace. Taken as one, the rule would apply to nobody.
  if (!written.text.startsWith('/') && isNear) {
    const message = `${what} is neither a namespace nor \`${EVERY_TOP_LEVEL}\``;
    return refuse(context, 'NAMESPACE_INVALID', { at: written, message, help: `did you mean \`${EVERY_TOP_LEVEL}\`?` });
  }
  const path = namespaceOf(context, written, what);
  return path === null ? null : { kind: 'path', path: path.value };
});

const COUNT_ROWS = {
  scope: [PATTERN, 'What they hold.'],
  scopes: [PATTERNS, 'They hold any of these.'],
  at: [COUNTED_PLACE, 'A namespace, or `every-top-level`.'],
  under: [NAMESPACE, 'Everywhere at this namespace and below it.'],
} as const;
const PEOPLE = 'How many people. An identity that `people` does not name is one person.';
const COUNT_RULES = {
  required: ['identities'],
  exactlyOne: [
    ['scope', 'scopes'],
    ['at', 'under'],
  ],
} as const;

const AT_LEAST = shape('`atLeast`', { identities: [countOf(1), PEOPLE], ...COUNT_ROWS }, COUNT_RULES);
const GROUPS =
  'How many groups besides. Who is in a group is decided elsewhere, so this is not a number of people. Defaults to none.';
const AT_MOST = shape(
  '`atMost`',
  { identities: [countOf(0), PEOPLE], groups: [countOf(0), GROUPS], ...COUNT_ROWS, ...PARTIES },
  COUNT_RULES,
);

function readAtLeast(context: FileContext, node: Node): RuleDeclaration | null {
  const atLeast = readMapping(context, node, AT_LEAST);
  return atLeast === null ? null : { kind: 'atLeast', ...countedBy(context, node, atLeast) };
}

function readAtMost(context: FileContext, node: Node): RuleDeclaration | null {
  const atMost = readMapping(context, node, AT_MOST);
  if (atMost === null) return null;
  const { groups = 0 } = atMost.values;
  return { kind: 'atMost', groups, ...countedBy(context, node, atMost), ...partiesOf(atMost.values) };
}

function countedBy(
  context: FileContext,
  node: Node,
  count: ReadMapping<typeof AT_LEAST.rows>,
): Pick<RuleDeclaration & { readonly kind: 'atLeast' }, 'identities' | 'at' | 'scopes'> {
  const { values } = count;
  const [one, more] = [entryOf(count, 'scope'), entryOf(count, 'scopes')];
  const isNone = one === undefined && more === undefined && !count.mayHaveLost;
  const isBoth = one !== undefined && more !== undefined;
  if (isNone || isBoth)
    refuse(context, 'GUARDRAIL_SCOPES', {
      at: more?.key ?? firstLine(context, node),
      message: isNone ? 'the rule names no scope' : 'the rule has both `scope` and `scopes`',
      help: 'write `scope: namespace:write` or `scopes: ["*:write"]`',
    });
  const scopes = isBoth ? null : (values.scope ?? values.scopes?.value ?? null);
  return { identities: values.identities ?? null, at: placeBy(context, node, count), scopes };
}

/** Where the rule counts: `at` one place, or `under` it everywhere. */
function placeBy(context: FileContext, node: Node, count: ReadMapping<typeof AT_LEAST.rows>): CountedAt | null {
  const { at, under } = count.values;
  const [one, all] = [entryOf(count, 'at'), entryOf(count, 'under')];
  const isNone = one === undefined && all === undefined && !count.mayHaveLost;
  const isBoth = one !== undefined && all !== undefined;
  if (isNone || isBoth)
    refuse(context, 'GUARDRAIL_PLACE', {
      at: all?.key ?? firstLine(context, node),
      message: isNone ? 'the rule names no place' : 'the rule has both `at` and `under`',
      help: '`at: /labs` counts at that namespace alone, `under: /labs` also everywhere below it',
    });
  if (isBoth) return null;
  return at ?? (under === undefined || under === null ? null : { kind: 'under', path: under.value });
}

const EXPIRES = shape(
  '`expires`',
  {
    providers: [
      someProviders('name at least one provider, or remove the guardrail'),
      'Every grant to an identity of these providers, or to a group that they claim, must end.',
    ],
    within: [DURATION, 'The longest time that somebody may hold something without a break: `90d`.'],
    each: [BOOLEAN, '`true`: only each grant by itself must be that short, and another may follow.'],
  },
  { required: ['providers', 'within'] },
);

function readExpires(context: FileContext, node: Node): RuleDeclaration {
  const { providers = null, within = null, each = false } = readMapping(context, node, EXPIRES)?.values ?? {};
  return { kind: 'expires', providers, withinMilliseconds: within, each };
}

const RULES = {
  never: [value(mapping(NEVER), readNever), 'Nobody holds these scopes there.'],
  separate: [value(either(SIDES, mapping(SEPARATE)), readSeparate), 'Nobody holds these scopes together.'],
  atLeast: [value(mapping(AT_LEAST), readAtLeast), 'At least this many people hold one of the scopes.'],
  atMost: [value(mapping(AT_MOST), readAtMost), 'At most this many people hold one of the scopes.'],
  expires: [value(mapping(EXPIRES), readExpires), 'Grants to these providers end.'],
} as const;

const RULE_KINDS = ['never', 'separate', 'atLeast', 'atMost', 'expires'] as const;

const GUARDRAIL = shape(
  'a guardrail',
  { id: [NAME, 'Unique: reports cite it.'], description: DESCRIPTION, ...RULES },
  { required: ['id'], exactlyOne: [RULE_KINDS] },
);

const readGuardrail: Reader<GuardrailDeclaration> = (context, node) => {
  const guardrail = readMapping(context, node, GUARDRAIL);
  if (guardrail === null) return null;
  const { values, mayHaveLost } = guardrail;
  const [kind, second] = RULE_KINDS.filter((name) => values[name] !== undefined);
  // An unknown key may be the misspelt rule.
  if (kind === undefined && !mayHaveLost) {
    refuse(context, 'GUARDRAIL_KIND', {
      at: entryOf(guardrail, 'id')?.value ?? firstLine(context, node),
      message: 'the guardrail has no rule',
      help: `rules are ${RULE_KINDS.map((name) => `\`${name}\``).join(', ')}`,
    });
  }
  if (second !== undefined) {
    refuse(context, 'GUARDRAIL_KIND', {
      at: entryOf(guardrail, second)?.key ?? node,
      message: 'a guardrail has one rule, and this is a second',
      help: 'write two guardrails',
    });
  }
  // All rules are read, so that the mistakes in each are reported.
  const rules = RULE_KINDS.flatMap((name) => values[name] ?? []);
  return { id: values.id ?? null, description: values.description ?? null, rules };
};

export const GUARDRAILS = value(list(mapping(GUARDRAIL)), itemsOf(readGuardrail));
