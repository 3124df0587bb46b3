// Scopes and the patterns for them: `<family>:*`, `*:read`, `*:write`, and in guardrails also `*-template` as the family
// (docs/language.md "Scope patterns"). There are no other wildcards.
import { NO_SCOPES, parseScopePattern, unionScopes, type ScopeSet } from '../model/scope.js';
import type { Located } from '../model/span.js';
import { refuse, type FileContext } from './context.js';
import { firstLine, isNull, readWord, refuseNull, textsOf, type Reader } from './fields.js';
import { list, text, value } from './shape.js';
import { SCOPE_PATTERNS } from './texts.js';
import type { Written } from './tree.js';
import { nearestHelp } from './values.js';

type PatternSyntax = keyof typeof SCOPE_PATTERNS;

const SETS: Readonly<Record<PatternSyntax, ReadonlyMap<string, ScopeSet>>> = {
  'scope-pattern': setsOf('scope-pattern'),
  'guardrail-pattern': setsOf('guardrail-pattern'),
};

function setsOf(syntax: PatternSyntax): ReadonlyMap<string, ScopeSet> {
  return new Map(SCOPE_PATTERNS[syntax].map((pattern) => [pattern, unionOf(wordsOf(pattern).map(parseScopePattern))]));
}

function wordsOf(pattern: string): readonly string[] {
  if (!pattern.startsWith('*-')) return [pattern];
  return ['resource', 'process'].map((family) => pattern.replace('*', family));
}

export function unionOf(sets: readonly (ScopeSet | null)[]): ScopeSet {
  return sets.reduce<ScopeSet>((union, set) => unionScopes(union, set ?? NO_SCOPES), NO_SCOPES);
}

function scopeOf(context: FileContext, written: Written, syntax: PatternSyntax): ScopeSet | null {
  return SETS[syntax].get(written.text) ?? refuseScope(context, written, SETS[syntax].keys());
}

/** `words` are the scopes and patterns that are allowed here. */
export function refuseScope(context: FileContext, written: Written, words: Iterable<string>): null {
  const scope = written.text;
  if (SETS['guardrail-pattern'].has(scope) && !SETS['scope-pattern'].has(scope)) {
    const [one, other] = wordsOf(scope);
    const [message, help] = [`\`${scope}\` is for guardrails only`, `write \`${one ?? ''}\` and \`${other ?? ''}\``];
    return refuse(context, 'SCOPE_TEMPLATE_PATTERN', { at: written, message, help });
  }
  const help =
    nearestHelp(scope, words) ??
    'a scope is `<family>:read` or `<family>:write`, a pattern `<family>:*`, `*:read` or `*:write`';
  return refuse(context, 'SCOPE_UNKNOWN', { at: written, message: `\`${scope}\` is not a scope`, help });
}

const readTexts = textsOf('a scope', readWord);

/** Each scope or pattern of a list by itself. Repeated texts are refused, but patterns may overlap. Null if one is wrong. */
function readEach(syntax: PatternSyntax): Reader<readonly ScopeSet[]> {
  return (context, node, what) => {
    if (node.kind === 'text' && !isNull(node) && !SETS[syntax].has(node.text)) {
      const message = `${what} must be a list, and this is text`;
      const help = 'write a list of scopes, such as `[resource:read]` or `["*:read"]`';
      return refuse(context, 'VALUE_NOT_LIST', { at: firstLine(context, node), message, help });
    }
    const written = readTexts(context, node, what) ?? [];
    const scopes = written.map((one) => scopeOf(context, one, syntax)).filter((scope) => scope !== null);
    return node.kind === 'list' && scopes.length === node.items.length ? scopes : null;
  };
}

/** The union of a list that must not be empty. */
function readUnion(syntax: PatternSyntax): Reader<Located<ScopeSet>> {
  const read = readEach(syntax);
  return (context, node, what) => {
    if (node.kind === 'list' && node.items.length === 0) {
      const help = 'name at least one scope, such as `resource:read`';
      return refuse(context, 'SCOPE_LIST_EMPTY', { at: node, message: `${what} is an empty list`, help });
    }
    if (isNull(node)) {
      const instead = `name at least one scope${syntax === 'scope-pattern' ? ', or remove the key' : ''}`;
      return refuseNull(context, node, { what, instead });
    }
    const scopes = read(context, node, what);
    return scopes === null ? null : { value: unionOf(scopes), start: node.start, end: node.end };
  };
}

/** The scopes of a role or a grant. */
export const STATED_SCOPES = value(list(text('scope-pattern'), 1), readUnion('scope-pattern'));
/** The scopes of a credential, which may carry none. */
export const CREDENTIAL_SCOPES = value(list(text('scope-pattern')), readEach('scope-pattern'));

/** One scope or pattern of a guardrail. */
export const PATTERN = value(text('guardrail-pattern'), (context, node) => {
  const written = readWord(context, node, 'a scope');
  return written === null ? null : scopeOf(context, written, 'guardrail-pattern');
});
export const PATTERNS = value(list(PATTERN, 1), readUnion('guardrail-pattern'));
export const readEachPattern = readEach('guardrail-pattern');
