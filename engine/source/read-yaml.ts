// Strict YAML for files that are no policy, such as the gateway's settings: the same text and syntax rules, a plain value
// instead of a policy document, and the place of every part of it.
import { ENGINE_LIMITS } from '../limits.js';
import type { Diagnostic } from '../diagnostics/diagnostic.js';
import { makeSink } from '../diagnostics/report.js';
import { FILE_START, type LineTable, lineTableOf, type Range, rangeOf, type Span, visibleSpan } from '../model/span.js';
import { readRepaired } from './read-repaired.js';
import { repairsOf } from './repair.js';
import { decodeText, listedFaults } from './text.js';
import { type Node, plainKind, type SourceFault } from './tree.js';

export type YamlValue = string | number | boolean | null | readonly YamlValue[] | { readonly [key: string]: YamlValue };

export interface YamlReading {
  readonly diagnostics: readonly Diagnostic[];
  /** Null for a file that says nothing; meaningless if there are diagnostics. */
  readonly value: YamlValue;
  /** The place of what an RFC 6901 pointer names: its key, or the value itself. */
  readonly rangeOf: (pointer: string, part: 'key' | 'value') => Range;
}

/** Reads the bytes of one file; `path` is how diagnostics name it. */
export function readYaml(file: { readonly path: string; readonly bytes: Uint8Array }): YamlReading {
  const decoded = decodeText(file.bytes, ENGINE_LIMITS);
  const { text, faults } = decoded;
  const lines = lineTableOf(text);
  const sink = makeSink(ENGINE_LIMITS.diagnostics);
  const report = (fault: SourceFault): void => {
    const { code, message, help } = fault;
    const related = (fault.related ?? []).map((place) => ({
      file: file.path,
      range: rangeOf(lines, place),
      message: place.message,
    }));
    sink.add({ code, file: file.path, range: rangeOf(lines, visibleSpan(text, fault)), message, help, related });
  };
  for (const fault of listedFaults(faults, ENGINE_LIMITS.textFaults)) report(fault);
  const [repair] = decoded.readable ? repairsOf(text, faults) : [];
  const read = repair === undefined ? null : readRepaired(decoded, repair, { limits: ENGINE_LIMITS, report });
  const reader: Reader = { lines, keys: new Map(), values: new Map() };
  const node = read?.node ?? null;
  const value = node === null ? null : toValue(reader, node, '');
  return {
    diagnostics: sink.diagnostics(),
    value,
    rangeOf: (pointer, part) => {
      const span = (part === 'key' ? reader.keys.get(pointer) : undefined) ?? reader.values.get(pointer);
      return span === undefined ? FILE_START : rangeOf(lines, span);
    },
  };
}

interface Reader {
  readonly lines: LineTable;
  readonly keys: Map<string, Span>;
  readonly values: Map<string, Span>;
}

function toValue(reader: Reader, node: Node, pointer: string): YamlValue {
  reader.values.set(pointer, node);
  switch (node.kind) {
    case 'refused':
      return null;
    case 'text':
      return node.plain ? plainValue(node.text) : node.text;
    case 'list':
      return node.items.map((item, index) => toValue(reader, item, `${pointer}/${String(index)}`));
    case 'mapping':
      return Object.fromEntries(
        node.entries.map(({ key, value }) => {
          const inner = `${pointer}/${key.text.replaceAll('~', '~0').replaceAll('/', '~1')}`;
          reader.keys.set(inner, key);
          return [key.text, toValue(reader, value, inner)];
        }),
      );
  }
}

function plainValue(text: string): YamlValue {
  switch (plainKind(text)) {
    case 'null':
      return null;
    case 'boolean':
      return text.toLowerCase() === 'true';
    case 'number':
      return Number(text);
    case 'text':
      return text;
  }
}
