// The words for what the `yaml` package finds wrong. Its own codes and messages may change with a version, and use the
// words of its grammar. What the user did is read from the lines around the place, and an unknown fault is still an
// error.
import { FLOW_RULES, LATE_FLOW_RULES } from './flow-faults.js';
import { LATE_LINE_RULES, LINE_RULES } from './line-faults.js';
import { type Enclosure, faultSpan, lineAt, lineEndAt, type PackageFault, type Rule } from './syntax-scene.js';
import type { SourceFault } from './tree.js';

/** `enclosures` are those of `text`, in any order. */
export function explainSyntax(text: string, fault: PackageFault, enclosures: readonly Enclosure[]): SourceFault {
  const scene = { text, fault, enclosures };
  for (const rule of RULES) {
    const found = rule(scene);
    if (found !== null) return found;
  }
  const span = faultSpan(text, fault);
  const message = `\`${text.slice(span.start, span.end)}\` does not fit here`;
  return { ...SYNTAX, ...span, message };
}

const SYNTAX = {
  code: 'YAML_SYNTAX',
  help: 'put text in quotes if it has characters that mean something in YAML; see also the lines above',
} as const satisfies Partial<SourceFault>;

const COMMENT: Rule = ({ text, fault }) =>
  /^Comments must be separated/.test(fault.message)
    ? {
        code: 'YAML_COMMENT_SPACE',
        ...faultSpan(text, fault),
        message: 'a space is missing before the comment',
        help: 'write ` #`; where the hash is part of a text, put the text in quotes',
      }
    : null;

const ESCAPE: Rule = ({ text, fault }) => {
  if (fault.code !== 'BAD_DQ_ESCAPE') return null;
  const start = fault.pos[0];
  const end = Math.max(start + 1, Math.min(start + 2, lineEndAt(text, start)));
  const message = `there is no escape \`${text.slice(start, end)}\``;
  return { code: 'YAML_ESCAPE', start, end, message, help: 'write `\\\\` for a backslash, or use single quotes' };
};

const SCALAR_START: Rule = ({ text, fault }) => {
  if (fault.code !== 'BAD_SCALAR_START') return null;
  const at = faultSpan(text, fault);
  const rest = text.slice(at.start, lineAt(text, at.start).end);
  const message = `text that begins with \`${text.slice(at.start, at.end)}\` needs quotes`;
  const value = /^[^\s,[\]{}"]+/.exec(rest)?.[0] ?? rest;
  return { code: 'YAML_SCALAR_START', ...at, message, help: `write \`"${value}"\`` };
};

const LIST_INLINE: Rule = ({ text, fault }) =>
  /^Unexpected block-seq-ind on same line/.test(fault.message)
    ? {
        code: 'YAML_LIST_INLINE',
        ...faultSpan(text, fault),
        message: 'a list with dashes cannot begin on the line of its key',
        help: 'begin it on the next line, or write it as `[…]`',
      }
    : null;

const KEY_SYNTAX: Rule = ({ text, fault }) =>
  /^(?:BLOCK_AS_IMPLICIT_KEY|MULTILINE_IMPLICIT_KEY|KEY_OVER_1024_CHARS)$/.test(fault.code) ||
  /^Implicit (?:map )?keys need/.test(fault.message)
    ? {
        code: 'YAML_KEY_SYNTAX',
        ...faultSpan(text, fault),
        message: 'a key must be a short text on one line',
        help: 'write the key and its colon on one line',
      }
    : null;

/** The first that knows the fault explains it. */
const RULES: readonly Rule[] = [
  ...FLOW_RULES,
  COMMENT,
  ESCAPE,
  SCALAR_START,
  LIST_INLINE,
  ...LINE_RULES,
  ...LATE_FLOW_RULES,
  ...LATE_LINE_RULES,
  KEY_SYNTAX,
];
