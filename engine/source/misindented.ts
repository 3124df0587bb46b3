// Keys that stand further left than the entry that they belong to. YAML sees nothing wrong and takes them for neighbours of the entry.
// One mistake is reported, at the first such key, instead of all its consequences.
import { isNull } from './fields.js';
import type { MappingShape } from './shape.js';
import type { Entry, ListNode, MappingNode, Node, SourceFault } from './tree.js';

type Report = (fault: SourceFault) => void;

/** The tree of a file, without such keys. `of` is the shape of the file. */
export function withoutMisindented(node: Node, of: MappingShape, report: Report): Node {
  if (node.kind !== 'mapping') return node;
  const kept: Entry[] = [];
  for (const entry of node.entries) {
    const before = kept.at(-1);
    const last = before?.value.kind === 'list' ? before.value.items.at(-1) : undefined;
    const isOfLast = before !== undefined && entryShape(of, before, 'list')?.keys.includes(entry.key.text) === true;
    if (!isOfLast || before.value.kind !== 'list' || last?.kind !== 'mapping') kept.push(withNamed(entry, of, report));
    else {
      if (last.partial !== true) report(misindented(entry, `an entry of \`${before.key.text}\``));
      kept[kept.length - 1] = { ...before, value: endingIn(before.value, { ...last, partial: true }) };
    }
  }
  return { ...node, entries: kept };
}

/** Handles a section with named entries, such as `roles`: a key of an entry stands next to a name with an empty value. */
function withNamed(section: Entry, of: MappingShape, report: Report): Entry {
  const { key, value } = section;
  const shape = entryShape(of, section, 'named');
  if (shape === null || value.kind !== 'mapping') return section;
  const kept: Entry[] = [];
  for (const entry of value.entries) {
    const before = kept.at(-1);
    const isKey = shape.keys.includes(entry.key.text) && entry.value.kind !== 'mapping' && before !== undefined;
    if (isKey && isNull(before.value)) {
      report(misindented(entry, `${shape.what.replace(/^an? /, 'the ')} \`${before.key.text}\``));
      const { start, end } = before.value;
      kept[kept.length - 1] = { ...before, value: { kind: 'refused', start, end } };
    } else if (!isKey || before.value.kind !== 'refused') kept.push(entry);
  }
  return { key, value: { ...value, entries: kept } };
}

/** The shape of the entries of a section. Null if the section is not of this kind. */
function entryShape(of: MappingShape, { key }: Entry, kind: 'list' | 'named'): MappingShape | null {
  const section = of.fields.get(key.text)?.value;
  return section?.kind === kind && section.of.kind === 'mapping' ? section.of.shape : null;
}

function misindented({ key: { text, start, end } }: Entry, owner: string): SourceFault {
  const message = `\`${text}\` is not indented, and seems to belong to ${owner} above`;
  return { code: 'YAML_INDENT', start, end, message, help: 'indent it, and what belongs to it, further right' };
}

function endingIn(list: ListNode, last: MappingNode): ListNode {
  return { ...list, items: [...list.items.slice(0, -1), last] };
}
