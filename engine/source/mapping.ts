// The rules for keys that every mapping of a policy file obeys: texts, no merge keys, none that programs trip over, none
// twice. Entries that break one are reported and left out.
import type { Span } from '../model/span.js';
import { FORBIDDEN_KEYS } from './shapes.js';
import { plainKind, type Entry, type MappingNode, type SourceFault, type TextNode } from './tree.js';

const KIND_WORDS = { null: 'nothing', boolean: 'a truth value', number: 'a number' } as const;

export function makeMapping(entries: readonly Entry[], at: Span, report: (fault: SourceFault) => void): MappingNode {
  const seen = new Map<string, TextNode>();
  const kept = entries.filter(({ key }) => {
    const fault = keyFault(key, seen.get(key.text));
    if (fault !== null) report(fault);
    else seen.set(key.text, key);
    return fault === null;
  });
  return { kind: 'mapping', entries: kept, start: at.start, end: at.end };
}

/** `before` is the same key where it stood first. */
export function keyFault(key: TextNode, before: TextNode | undefined): SourceFault | null {
  const { start, end, text } = key;
  if (key.plain && text === '<<') {
    return {
      code: 'YAML_MERGE_KEY',
      start,
      end,
      message: 'policy files have no merge keys',
      help: 'write the keys out',
    };
  }
  if (FORBIDDEN_KEYS.has(text)) {
    return { code: 'KEY_FORBIDDEN', start, end, message: `\`${text}\` is never accepted as a key` };
  }
  const kind = key.plain ? plainKind(text) : 'text';
  if (kind !== 'text') {
    const help = kind === 'null' ? undefined : `put it in quotes: \`"${text}"\``;
    return {
      code: 'YAML_KEY_NOT_TEXT',
      start,
      end,
      message: `a key must be text, and this reads as ${KIND_WORDS[kind]}`,
      help,
    };
  }
  if (before === undefined) return null;
  const related = [{ start: before.start, end: before.end, message: 'first written here' }];
  return {
    code: 'YAML_DUPLICATE_KEY',
    start,
    end,
    message: `the key \`${text}\` stands twice in this mapping`,
    related,
  };
}
