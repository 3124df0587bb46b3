// The rules for keys in every mapping of a policy file: they are texts, not merge keys, not names with a special meaning in programs,
// and not repeated. Entries that break a rule are reported and left out.
import { FORBIDDEN_KEYS } from '../model/identity.js';
import type { Span } from '../model/span.js';
import { plainKind, type Entry, type MappingNode, type SourceFault, type TextNode } from './tree.js';

const DASH_HELP = 'if another entry of the list begins here, write `- ` before it; else remove one, or merge them';
const KIND_WORDS = { null: 'nothing', boolean: 'a truth value', number: 'a number' } as const;

export function makeMapping(
  entries: readonly (Entry | null)[],
  at: Span,
  report: (fault: SourceFault) => void,
): MappingNode {
  const seen = new Map<string, TextNode>();
  const first = entries[0]?.key.text;
  let beganAgain = false;
  const kept = entries.filter((entry): entry is Entry => {
    if (entry === null) return false;
    const { key } = entry;
    const fault = keyFault(key, seen.get(key.text));
    const isRepeated = fault?.code === 'YAML_DUPLICATE_KEY';
    if (fault === null) seen.set(key.text, key);
    // If the first key comes again, an entry of a list has probably lost its dash. That is one mistake, and not one for each of its keys.
    else if (!isRepeated || !beganAgain)
      report(isRepeated && key.text === first ? { ...fault, help: DASH_HELP } : fault);
    beganAgain ||= isRepeated && key.text === first;
    return fault === null;
  });
  const mapping = { kind: 'mapping', entries: kept, start: at.start, end: at.end } as const;
  return kept.length === entries.length ? mapping : { ...mapping, partial: true };
}

/** `before` is the first occurrence of the same key, if there is one. */
export function keyFault(key: TextNode, before: TextNode | undefined): SourceFault | null {
  const { start, end, text } = key;
  if (key.plain && text === '<<')
    return {
      code: 'YAML_MERGE_KEY',
      start,
      end,
      message: 'policy files have no merge keys',
      help: 'write the keys out',
    };
  if (FORBIDDEN_KEYS.has(text)) {
    const message = `\`${text}\` is never accepted as a key`;
    return { code: 'KEY_FORBIDDEN', start, end, message, help: 'choose another name' };
  }
  const kind = key.plain ? plainKind(text) : 'text';
  if (text === '' && kind !== 'text')
    return {
      code: 'YAML_KEY_NOT_TEXT',
      start,
      end,
      message: 'there is no key here',
      help: 'write a key, or remove this',
    };
  if (kind !== 'text') {
    const message = `a key must be text, and this reads as ${KIND_WORDS[kind]}`;
    return { code: 'YAML_KEY_NOT_TEXT', start, end, message, help: `put it in quotes: \`"${text}"\`` };
  }
  if (before === undefined) return null;
  const message = `the key \`${text}\` appears twice in this mapping`;
  const related = [{ start: before.start, end: before.end, message: 'first written here' }];
  return { code: 'YAML_DUPLICATE_KEY', start, end, message, help: 'remove one, or merge them', related };
}
