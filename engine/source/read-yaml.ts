// Strict YAML for files other than policy, such as the gateway's settings. The rules for text and syntax are the same. The result is a
// plain value, with the place of each of its parts.
import { ENGINE_LIMITS } from '../limits.js';
import type { Diagnostic } from '../diagnostics/diagnostic.js';
import { makeSink } from '../diagnostics/report.js';
import type { DiagnosticCode } from '../diagnostics/diagnostic-codes.js';
import { FILE_START, lineTableOf, type Range, rangeOf, type Span } from '../model/span.js';
import { findingOf } from './context.js';
import { withoutInvisible } from './invisible.js';
import { readTree } from './read-tree.js';
import { decodeText } from './text.js';
import { type Node, plainKind, type SourceFault, type TextNode } from './tree.js';

export type YamlValue = string | number | boolean | null | readonly YamlValue[] | { readonly [key: string]: YamlValue };

export interface YamlReading {
  readonly diagnostics: readonly Diagnostic[];
  /** Null for an empty file. Meaningless if there are diagnostics. */
  readonly value: YamlValue;
  /** The place of the key or the value that an RFC 6901 pointer names. */
  readonly rangeOf: (pointer: string, part: 'key' | 'value') => Range;
}

/** Reads the bytes of one file. `path` is its name in diagnostics. */
export function readYaml(file: { readonly path: string; readonly bytes: Uint8Array }): YamlReading {
  const { text, faults } = decodeText(file.bytes);
  const lines = lineTableOf(text);
  const limits = ENGINE_LIMITS;
  const sink = makeSink(limits);
  const report = (fault: SourceFault): void => {
    sink.add(findingOf(file.path, { text, lines }, fault));
  };
  faults.forEach(report);
  const read = faults.length > 0 ? null : readTree({ text, limits, report });
  if (read?.kind === 'broken' && read.fault !== null) report(read.fault);
  const reader: YamlContext = { report, keys: new Map(), values: new Map() };
  const value = read?.kind === 'tree' ? toValue(reader, withoutInvisible(text, read.node, report), '') : null;
  return {
    diagnostics: sink.diagnostics(),
    value,
    rangeOf: (pointer, part) => {
      const span = (part === 'key' ? reader.keys.get(pointer) : undefined) ?? reader.values.get(pointer);
      return span === undefined ? FILE_START : rangeOf(lines, span);
    },
  };
}

interface YamlContext {
  readonly report: (fault: SourceFault) => void;
  readonly keys: Map<string, Span>;
  readonly values: Map<string, Span>;
}

function toValue(reader: YamlContext, node: Node, pointer: string): YamlValue {
  reader.values.set(pointer, node);
  switch (node.kind) {
    case 'refused':
      return null;
    case 'text':
      return node.plain ? plainValue(reader, node) : node.text;
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

const NOT_ZERO = /^[^eE]*[1-9]/;
const JSON_NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$/;

/** A number, boolean or null must be spelled as in JSON. Other spellings that YAML allows were probably not meant, so they are refused. */
function plainValue(reader: YamlContext, node: TextNode): YamlValue {
  const { text } = node;
  const refuse = (code: DiagnosticCode, message: string, help: string): null => {
    reader.report({ code, start: node.start, end: node.end, message, help });
    return null;
  };
  switch (plainKind(text)) {
    case 'text':
      return text;
    case 'null':
      if (text === '' || text === 'null') return null;
      return refuse('VALUE_NULL', `\`${text}\` is not a value`, 'write `null`, or put text in quotes');
    case 'boolean':
      if (text === 'true' || text === 'false') return text === 'true';
      return refuse(
        'VALUE_NOT_BOOLEAN',
        `\`${text}\` is neither \`true\` nor \`false\``,
        `write \`${text.toLowerCase()}\`, or put text in quotes`,
      );
    case 'number': {
      const value = Number(text);
      // What is too small for a number becomes 0, which often means "no limit".
      const isLost = value === 0 && NOT_ZERO.test(text);
      const isExact = !isLost && (Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value));
      if (JSON_NUMBER.test(text) && isExact) return value;
      const message = isExact
        ? `\`${text}\` is not a plain decimal number`
        : `\`${text}\` is not a number that can be kept exactly`;
      return refuse(
        'VALUE_NOT_TEXT',
        message,
        'write it in decimal digits without zeros in front, or put text in quotes',
      );
    }
  }
}
