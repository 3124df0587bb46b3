// Keys that stand further left than what they belong to, where YAML sees nothing wrong: it takes them for neighbours. Told
// once, at the first of them, instead of as what follows from it.
import { isNull } from './fields.js';
import { SECTIONS } from './shapes.js';
import type { Entry, ListNode, MappingNode, Node, SourceFault } from './tree.js';

/** The keys of what a section lists or names. */
function keysWithin(section: string, kind: 'list' | 'named'): readonly string[] {
  const looks = SECTIONS.fields.get(section)?.value;
  return looks?.kind === kind && looks.of.kind === 'mapping' ? looks.of.shape.keys : [];
}

/** The tree of a file of sections, without such keys. */
export function withoutMisindented(node: Node, report: (fault: SourceFault) => void): Node {
  if (node.kind !== 'mapping') return node;
  const kept: Entry[] = [];
  for (const entry of node.entries) {
    const before = kept.at(-1);
    if (before === undefined || !keysWithin(before.key.text, 'list').includes(entry.key.text))
      kept.push(mended(entry, report));
    else {
      const lost = lastEntry(before.value);
      if (lost === null) kept.push(mended(entry, report));
      else {
        if (lost.partial !== true) report(fault(entry, `an entry of \`${before.key.text}\``));
        kept[kept.length - 1] = { ...before, value: withLastPartial(before.value) };
      }
    }
  }
  return { ...node, entries: kept };
}

function mended(entry: Entry, report: (fault: SourceFault) => void): Entry {
  const { key, value } = entry;
  if (key.text !== 'roles' || value.kind !== 'mapping') return entry;
  const keys = keysWithin(key.text, 'named');
  const kept: Entry[] = [];
  for (const role of value.entries) {
    const before = kept.at(-1);
    const isKey = keys.includes(role.key.text) && role.value.kind !== 'mapping' && before !== undefined;
    if (isKey && isNull(before.value)) {
      report(fault(role, `the role \`${before.key.text}\``));
      kept[kept.length - 1] = {
        ...before,
        value: { kind: 'refused', start: before.value.start, end: before.value.end },
      };
    } else if (!isKey || before.value.kind !== 'refused') kept.push(role);
  }
  return { key, value: { ...value, entries: kept } };
}

function fault({ key }: Entry, owner: string): SourceFault {
  return {
    code: 'YAML_INDENT',
    start: key.start,
    end: key.end,
    message: `\`${key.text}\` is not indented, and seems to belong to ${owner} above`,
    help: 'indent it, and what belongs to it, further right',
  };
}

function lastEntry(node: Node): MappingNode | null {
  const last = node.kind === 'list' ? node.items.at(-1) : undefined;
  return last?.kind === 'mapping' ? last : null;
}

function withLastPartial(list: Node): Node {
  const last = lastEntry(list);
  if (list.kind !== 'list' || last === null) return list;
  const items: ListNode['items'] = [...list.items.slice(0, -1), { ...last, partial: true }];
  return { ...list, items };
}
