// How the page writes what it shows. Texts of a policy are hostile: they are only ever text nodes, and what could reorder or hide text
// is written out.
import { formatInstant, instantOf } from '../../../engine/index.js';

const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

export function plain(text: string): string {
  return text.replace(UNSAFE, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

export function instantText(at: number | null): string {
  return at === null ? 'always' : formatInstant(instantOf(at)).replace('.000Z', 'Z');
}

export function countText(count: number, one: string, many = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}

export function grouped(count: number | bigint): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** The first of many names, and how many more there are. */
export function namesText(names: readonly string[]): string {
  const more = names.length - SHOWN;
  return more <= 0 ? names.join(', ') : `${names.slice(0, SHOWN).join(', ')} and ${countText(more, 'other')}`;
}

const SHOWN = 8;

/** All, some (3 of 41) or none. */
function partText(count: number, of: number): string {
  if (count === 0) return 'none';
  return count === of ? 'all' : `some (${grouped(count)} of ${grouped(of)})`;
}

/** The families of scopes, in their order. */
export function familiesOf(scopes: readonly string[]): readonly string[] {
  return [...new Set(scopes.map((scope) => scope.slice(0, scope.indexOf(':'))))];
}

/** `scope all, scope some (3 of 41)` for those that are held at all. */
export function heldTexts(scopes: readonly string[], counts: readonly number[], of: number): readonly string[] {
  return scopes.flatMap((scope, i) => ((counts[i] ?? 0) > 0 ? [`${scope} ${partText(counts[i] ?? 0, of)}`] : []));
}

interface Where {
  readonly namespace: string;
  readonly extent: 'exact' | 'below' | 'subtree';
  readonly except?: readonly string[];
}

export function whereText({ namespace, extent, except = [] }: Where): string {
  const place =
    extent === 'exact' ? `${namespace} itself` : extent === 'below' ? `below ${namespace}` : `${namespace} and below`;
  return except.length === 0 ? place : `${place} without ${except.join(', ')}`;
}
