// Scopes and the patterns for them: `<family>:*`, `*:read`, `*:write`, and in guardrails also `*-template` as the family
// (docs/language.md "Scope patterns"). There are no other wildcards.
import { isFamily, isOwnScope, scopeOf as nameOf } from '../model/scope.js';
import { NO_SCOPES, scopeBit, type ScopeSet, unionScopes } from '../model/scope-set.js';
import type { Located } from '../model/span.js';
import { parseScopePattern, type Vocabulary } from '../model/vocabulary.js';
import { isName } from '../model/identity.js';
import { refuse, type FileContext } from './context.js';
import { firstLine, isNull, readWord, refuseNull, textsOf, type Reader } from './fields.js';
import { quoted } from './quoting.js';
import { list, text, value, type Value } from './shape.js';
import { TEMPLATE_PATTERNS } from './texts.js';
import type { WrittenText } from './tree.js';
import { nearestHelp } from './values.js';

type PatternSyntax = 'scope-pattern' | 'guardrail-pattern';

/** What `*-template:read` and the like stand for: two families of records. */
const OF_TEMPLATES: ReadonlyMap<string, ScopeSet> = new Map(
  TEMPLATE_PATTERNS.map((pattern) => [pattern, unionOf(wordsOf(pattern).map((word) => parseScopePattern(word)))]),
);

function wordsOf(pattern: string): readonly string[] {
  return ['resource', 'process'].map((family) => pattern.replace('*', family));
}

export function unionOf(sets: readonly (ScopeSet | null)[]): ScopeSet {
  return sets.reduce<ScopeSet>((union, set) => unionScopes(union, set ?? NO_SCOPES), NO_SCOPES);
}

function setOf(context: FileContext, written: string, syntax: PatternSyntax): ScopeSet | null {
  const { vocabulary, hidesOthers } = context.words;
  const known = parseScopePattern(written, vocabulary);
  if (known !== null) return known;
  const ofTemplates = syntax === 'guardrail-pattern' ? OF_TEMPLATES.get(written) : undefined;
  if (ofTemplates !== undefined) return ofTemplates;
  return hidesOthers ? hiddenSet(written) : null;
}

/** Of a family that could not be read. It stands for some scopes, but which they are is not known, nor used. */
function hiddenSet(written: string): ScopeSet | null {
  const [family = '', action = '', more] = written.split(':');
  if (more !== undefined || isFamily(family) || !isName(family)) return null;
  const scope = nameOf(family, action === '*' ? 'read' : action);
  return isOwnScope(scope) ? scopeBit(scope) : null;
}

function scopeOf(context: FileContext, written: WrittenText, syntax: PatternSyntax): ScopeSet | null {
  const set = setOf(context, written.text, syntax);
  if (set !== null) return set;
  const words = [...context.words.vocabulary.patterns.keys()];
  return refuseScope(context, written, syntax === 'scope-pattern' ? words : [...words, ...TEMPLATE_PATTERNS]);
}

/** `words` are the scopes and patterns that are allowed here. */
export function refuseScope(context: FileContext, written: WrittenText, words: Iterable<string>): null {
  const scope = written.text;
  if (OF_TEMPLATES.has(scope)) {
    const [one, other] = wordsOf(scope);
    const [message, help] = [`\`${scope}\` is for guardrails only`, `write \`${one ?? ''}\` and \`${other ?? ''}\``];
    return refuse(context, 'SCOPE_TEMPLATE_PATTERN', { at: written, message, help });
  }
  const { vocabulary } = context.words;
  const help = ownersHelp(scope, vocabulary) ?? nearestHelp(scope, words) ?? scopeHelp(scope, vocabulary);
  return refuse(context, 'SCOPE_UNKNOWN', { at: written, message: `\`${scope}\` is not a scope`, help });
}

/** Of an action that stands alone, or with a family or pattern that does not have it. */
function ownersHelp(scope: string, { families }: Vocabulary): string | undefined {
  const [first = '', action = first, more] = scope.split(':');
  if (more !== undefined || (first !== action && first !== '*' && !isFamily(first))) return undefined;
  const owners = families.filter(({ actions }) => actions.includes(action));
  if (owners.length === 0) return undefined;
  return `write ${owners.map(({ name }) => `\`${nameOf(name, action)}\``).join(' or ')}`;
}

function scopeHelp(scope: string, { families }: Vocabulary): string {
  const [name = '', action = ''] = scope.split(':');
  const family = families.find((one) => one.name === name);
  if (family !== undefined) {
    const all = ['read', 'write', ...family.actions].map((one) => `\`${nameOf(name, one)}\``).join(', ');
    return `the scopes of the family are ${all}`;
  }
  if (isOwnScope(scope) && action !== '')
    return `\`policy.yaml\` declares no family \`${name}\`; \`families: { ${wordText(name)}: ${actionsHelp(action)} }\` would`;
  return 'a scope is `<family>:read`, `<family>:write` or another action of a declared family; a pattern is `<family>:*`, `*:read` or `*:write`';
}

function actionsHelp(action: string): string {
  return action === 'read' || action === 'write' ? '{}' : `{ actions: [${wordText(action)}] }`;
}

/** A name, in quotes if YAML would read something else. */
function wordText(name: string): string {
  return /^(?!(?:true|false|null|yes|no|on|off)$)[a-z]/.test(name) ? name : quoted(name);
}

const readTexts = textsOf('a scope', readWord);

/** Each scope or pattern of a list by itself. Repeated texts are refused, but patterns may overlap. Null if one is wrong. */
function readEach(syntax: PatternSyntax): Reader<readonly ScopeSet[]> {
  return (context, node, what) => {
    if (node.kind === 'text' && !isNull(node) && setOf(context, node.text, syntax) === null) {
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
export const PATTERN: Value<ScopeSet> = value(text('guardrail-pattern'), (context, node) => {
  const written = readWord(context, node, 'a scope');
  return written === null ? null : scopeOf(context, written, 'guardrail-pattern');
});
export const PATTERNS = value(list(PATTERN, 1), readUnion('guardrail-pattern'));
export const readEachPattern = readEach('guardrail-pattern');
