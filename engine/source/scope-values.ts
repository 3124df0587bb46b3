// Scopes and the patterns for them: `<family>:*`, `*:read`, `*:write`, and in guardrails `*-template` in the family's
// place (docs/language.md "Scope patterns"). No other wildcard exists anywhere.
import type { StatedScopes } from '../model/document.js';
import { NO_SCOPES, parseScopePattern, unionScopes, type ScopeSet } from '../model/scope.js';
import type { Located } from '../model/span.js';
import { refuse, type FileContext } from './context.js';
import { firstLine, isNull, readList, readText, refuseNull, refuseRepeated, type Fields } from './fields.js';
import { nearestHelp } from './values.js';
import { SCOPE_PATTERNS } from './shapes.js';
import type { Node, TextNode } from './tree.js';

/** Where a pattern stands: `*-template` is for guardrails only. */
export type PatternPlace = 'policy' | 'guardrail';

const TEMPLATES = '*-template:';
const POLICY_PATTERNS = setsOf(SCOPE_PATTERNS['scope-pattern']);
const GUARDRAIL_PATTERNS = setsOf(SCOPE_PATTERNS['guardrail-pattern']);
function setsOf(patterns: readonly string[]): ReadonlyMap<string, ScopeSet> {
  return new Map(patterns.map((pattern) => [pattern, setOf(wordsOf(pattern))]));
}

function wordsOf(pattern: string): readonly string[] {
  if (!pattern.startsWith(TEMPLATES)) return [pattern];
  const action = pattern.slice(TEMPLATES.length);
  return [`resource-template:${action}`, `process-template:${action}`];
}

function setOf(patterns: readonly string[]): ScopeSet {
  return patterns.reduce((set, pattern) => unionScopes(set, parseScopePattern(pattern) ?? NO_SCOPES), NO_SCOPES);
}

export function readScope(context: FileContext, node: Node, place: PatternPlace): Located<ScopeSet> | null {
  const text = readText(context, node, 'a scope');
  return text === null ? null : scopeOf(context, text, place);
}

function patternsOf(place: PatternPlace): ReadonlyMap<string, ScopeSet> {
  return place === 'guardrail' ? GUARDRAIL_PATTERNS : POLICY_PATTERNS;
}

function scopeOf(context: FileContext, text: TextNode, place: PatternPlace): Located<ScopeSet> | null {
  const patterns = patternsOf(place);
  const set = patterns.get(text.text);
  if (set !== undefined) return { value: set, start: text.start, end: text.end };
  return refuseScope(context, text, patterns.keys());
}

/** `text` may be a part of a node. */
export function refuseScope(
  context: FileContext,
  text: { readonly text: string; readonly start: number; readonly end: number },
  words: Iterable<string>,
): null {
  if (GUARDRAIL_PATTERNS.has(text.text) && !POLICY_PATTERNS.has(text.text)) {
    const action = text.text.slice(text.text.indexOf(':'));
    const help = `write \`resource-template${action}\` and \`process-template${action}\``;
    return refuse(context, 'SCOPE_TEMPLATE_PATTERN', {
      at: text,
      message: `\`${text.text}\` is for guardrails only`,
      help,
    });
  }
  const help =
    nearestHelp(text.text, words) ??
    'a scope is `<family>:read` or `<family>:write`, a pattern `<family>:*`, `*:read` or `*:write`';
  return refuse(context, 'SCOPE_UNKNOWN', { at: text, message: `\`${text.text}\` is not a scope`, help });
}

/** Each scope or pattern of a list on its own; a text twice is refused, patterns may overlap. */
export function readScopeList(
  context: FileContext,
  node: Node,
  options: { readonly what: string; readonly place: PatternPlace },
): readonly Located<ScopeSet>[] | null {
  if (node.kind === 'text' && !isNull(node) && !patternsOf(options.place).has(node.text)) {
    const message = `${options.what} must be a list, and this is text`;
    const help = 'write a list of scopes, such as `[resource:read]` or `["*:read"]`';
    return refuse(context, 'VALUE_NOT_LIST', { at: firstLine(context, node), message, help });
  }
  const items = readList(context, node, options.what);
  if (items === null) return null;
  const texts = items.map((item) => readText(context, item, 'a scope'));
  const known = refuseRepeated(
    context,
    texts.filter((text) => text !== null),
  );
  const scopes = known.map((text) => scopeOf(context, text, options.place)).filter((scope) => scope !== null);
  return scopes.length === items.length ? scopes : null;
}

/** The union of a list that must not be empty. */
export function readScopes(
  context: FileContext,
  node: Node,
  options: { readonly what: string; readonly place: PatternPlace },
): Located<ScopeSet> | null {
  if (node.kind === 'list' && node.items.length === 0) {
    return refuse(context, 'SCOPE_LIST_EMPTY', {
      at: node,
      message: `${options.what} is an empty list`,
      help: 'name at least one scope, such as `resource:read`',
    });
  }
  if (isNull(node)) {
    const instead = `name at least one scope${options.place === 'policy' ? ', or remove the key' : ''}`;
    return refuseNull(context, node, { what: options.what, instead });
  }
  const list = readScopeList(context, node, options);
  return list === null ? null : { value: unionOf(list), start: node.start, end: node.end };
}

export function unionOf(scopes: readonly Located<ScopeSet>[]): ScopeSet {
  return scopes.reduce((set, scope) => unionScopes(set, scope.value), NO_SCOPES);
}

/** The `scopes` of a role or a grant, which may be left out. */
export function readStatedScopes(context: FileContext, fields: Fields): StatedScopes {
  const entry = fields.get('scopes');
  if (entry === undefined) return 'absent';
  return readScopes(context, entry.value, { what: '`scopes`', place: 'policy' }) ?? 'wrong';
}
