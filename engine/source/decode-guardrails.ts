// The section `guardrails` (docs/language.md "Guardrails"): five kinds of rules, exactly one in each guardrail.
import type { CountedPlace, GuardrailDeclaration, RuleDeclaration } from '../model/document.js';
import { ROOT } from '../model/namespace.js';
import { nearest } from '../diagnostics/nearest.js';
import type { ScopeSet } from '../model/scope.js';
import { refuse, type FileContext } from './context.js';
import { EVERYONE, readParties, readProviders } from './decode-parties.js';
import { readDescription } from './decode-roles.js';
import {
  firstLine,
  isNull,
  mayHaveLost,
  readFields,
  readList,
  readName,
  readText,
  refuseNull,
  type Fields,
} from './fields.js';
import { readScope, readScopeList, readScopes } from './scope-values.js';
import { COUNTS, EVERY_TOP_LEVEL, EXPIRES, GUARDRAIL, leastCount, NEVER, RULE_KINDS, SEPARATE } from './shapes.js';
import type { Node } from './tree.js';
import { namespaceOf, readDuration, readNamespace } from './values.js';

type RuleKind = RuleDeclaration['kind'];

export function decodeGuardrails(context: FileContext, node: Node): readonly GuardrailDeclaration[] {
  const guardrails: GuardrailDeclaration[] = [];
  for (const item of readList(context, node, '`guardrails`') ?? []) {
    const fields = readFields(context, item, GUARDRAIL);
    if (fields === null) continue;
    const id = fields.get('id');
    guardrails.push({
      id: id === undefined ? null : readName(context, id.value, '`id`'),
      description: readDescription(context, fields),
      rules: decodeRules(context, item, fields),
    });
  }
  return guardrails;
}

/** All of them, so that the mistakes in each are reported. */
function decodeRules(context: FileContext, node: Node, fields: Fields): readonly RuleDeclaration[] {
  const kinds = RULE_KINDS.filter((kind) => fields.has(kind));
  const [kind, second] = kinds;
  const kindList = RULE_KINDS.map((name) => `\`${name}\``).join(', ');
  // Where another key is unknown, that may be the misspelt rule.
  if (kind === undefined && !mayHaveLost(node, fields)) {
    refuse(context, 'GUARDRAIL_KIND', {
      at: fields.get('id')?.value ?? firstLine(context, node),
      message: 'the guardrail has no rule',
      help: `rules are ${kindList}`,
    });
  }
  if (second !== undefined) {
    refuse(context, 'GUARDRAIL_KIND', {
      at: fields.get(second)?.key ?? node,
      message: 'a guardrail has one rule, and this is a second',
      help: 'write two guardrails',
    });
  }
  return kinds.flatMap((name) => {
    const rule = fields.get(name)?.value;
    return (rule === undefined ? null : RULES[name](context, rule)) ?? [];
  });
}

const RULES: Readonly<Record<RuleKind, (context: FileContext, node: Node) => RuleDeclaration | null>> = {
  never: decodeNever,
  separate: decodeSeparate,
  atLeast: (context, node) => decodeCount(context, node, 'atLeast'),
  atMost: (context, node) => decodeCount(context, node, 'atMost'),
  expires: decodeExpires,
};

function decodeNever(context: FileContext, node: Node): RuleDeclaration {
  const fields = readFields(context, node, NEVER);
  const [scopesField, underField] = [fields?.get('scopes'), fields?.get('under')];
  const parties = readParties(context, fields);
  const scopes =
    scopesField === undefined ? null : readScopes(context, scopesField.value, { what: '`scopes`', place: 'guardrail' });
  const under = underField === undefined ? null : readNamespace(context, underField.value, '`under`');
  return { kind: 'never', scopes: scopes?.value ?? null, under: under?.value ?? null, ...parties };
}

/** A list of sides, or a mapping of `scopes` and, to narrow it, `under`, `to` and `except`. */
function decodeSeparate(context: FileContext, node: Node): RuleDeclaration {
  if (node.kind === 'list') return { kind: 'separate', sides: readSides(context, node), under: ROOT, ...EVERYONE };
  const fields = readFields(context, node, SEPARATE);
  const [scopesField, underField] = [fields?.get('scopes'), fields?.get('under')];
  const parties = readParties(context, fields);
  const under = underField === undefined ? ROOT : (readNamespace(context, underField.value, '`under`')?.value ?? null);
  const sides = scopesField === undefined ? null : readSides(context, scopesField.value);
  return { kind: 'separate', sides, under, ...parties };
}

function readSides(context: FileContext, node: Node): readonly ScopeSet[] | null {
  if (isNull(node))
    return refuseNull(context, node, { what: '`separate`', instead: 'name at least two scopes or patterns' });
  const sides = readScopeList(context, node, { what: '`separate`', place: 'guardrail' });
  if (node.kind === 'list' && node.items.length < 2) {
    return refuse(context, 'GUARDRAIL_SIDES', {
      at: firstLine(context, node),
      message: '`separate` needs at least two scopes or patterns',
      help: 'write what no person may hold together, such as `[resource:write, process-run:write]`',
    });
  }
  return sides?.map((side) => side.value) ?? null;
}

function decodeCount(context: FileContext, node: Node, kind: 'atLeast' | 'atMost'): RuleDeclaration | null {
  const fields = readFields(context, node, COUNTS[kind]);
  if (fields === null) return null;
  const [identitiesField, atField] = [fields.get('identities'), fields.get('at')];
  const count = {
    identities: identitiesField === undefined ? null : readCount(context, identitiesField.value, leastCount(kind)),
    at: atField === undefined ? null : readCountedPlace(context, atField.value),
    scopes: readOneOrMoreScopes(context, node, fields)?.value ?? null,
  };
  return kind === 'atLeast' ? { kind, ...count } : { kind, ...count, ...readParties(context, fields) };
}

function readOneOrMoreScopes(context: FileContext, node: Node, fields: Fields): ReturnType<typeof readScopes> {
  const [one, more] = [fields.get('scope'), fields.get('scopes')];
  const single = one === undefined ? null : readScope(context, one.value, 'guardrail');
  const several = more === undefined ? null : readScopes(context, more.value, { what: '`scopes`', place: 'guardrail' });
  if (one === undefined ? more !== undefined || mayHaveLost(node, fields) : more === undefined)
    return single ?? several;
  return refuse(context, 'GUARDRAIL_SCOPES', {
    at: more?.key ?? firstLine(context, node),
    message: one === undefined ? 'the rule names no scope' : 'the rule has both `scope` and `scopes`',
    help: 'write `scope: namespace:write` or `scopes: ["*:write"]`',
  });
}

function readCount(context: FileContext, node: Node, least: number): number | null {
  if (node.kind === 'refused') return null;
  const count =
    node.kind === 'text' && node.plain && /^(?:0|[1-9][0-9]{0,8})$/.test(node.text) ? Number(node.text) : -1;
  if (count >= least) return count;
  return refuse(context, 'VALUE_NOT_COUNT', {
    at: firstLine(context, node),
    message: `\`identities\` must be a whole number of at least ${String(least)}`,
    help: `write plain digits without quotes, such as \`identities: ${String(Math.max(least, 2))}\``,
  });
}

const TOP_LEVEL = /top[-_ ]?level/i;

function readCountedPlace(context: FileContext, node: Node): CountedPlace | null {
  const text = readText(context, node, '`at`');
  if (text === null) return null;
  if (text.text === EVERY_TOP_LEVEL) return { kind: 'every-top-level' };
  // Without a slash it was hardly meant to be a namespace; as one it would hold of nobody.
  if (!text.text.startsWith('/') && (nearest(text.text, [EVERY_TOP_LEVEL]) !== null || TOP_LEVEL.test(text.text))) {
    return refuse(context, 'NAMESPACE_INVALID', {
      at: text,
      message: `\`at\` is neither a namespace nor \`${EVERY_TOP_LEVEL}\``,
      help: `did you mean \`${EVERY_TOP_LEVEL}\`?`,
    });
  }
  const path = namespaceOf(context, text, '`at`');
  return path === null ? null : { kind: 'path', path: path.value };
}

function decodeExpires(context: FileContext, node: Node): RuleDeclaration {
  const fields = readFields(context, node, EXPIRES);
  const [providersField, withinField] = [fields?.get('providers'), fields?.get('within')];
  return {
    kind: 'expires',
    providers:
      providersField === undefined
        ? null
        : readProviders(context, providersField.value, 'name at least one provider, or remove the guardrail'),
    withinMilliseconds: withinField === undefined ? null : readDuration(context, withinField.value, '`within`'),
  };
}
