// The words for what the `yaml` package finds wrong: its codes and messages are its own and may change with a version, so
// each is mapped to a code of ours, and one that is not known is still an error.
import type { DiagnosticCode } from '../model/diagnostic-codes.js';
import type { Span } from '../model/span.js';

interface PackageFault {
  readonly code: string;
  readonly message: string;
  readonly pos: readonly [number, number];
}

interface Explained extends Span {
  readonly code: DiagnosticCode;
  readonly message: string;
  readonly help?: string | undefined;
}

interface Words {
  readonly code: DiagnosticCode;
  readonly message: string;
  readonly help?: string;
}

const INDENT: Words = {
  code: 'YAML_INDENT',
  message: 'the indentation does not fit the lines above',
  help: 'begin all entries of a list or mapping in one column, and what is inside of them further right',
};
const KEY_SYNTAX: Words = { code: 'YAML_KEY_SYNTAX', message: 'a key must be a short text on one line' };
const COLON_IN_TEXT: Words = {
  code: 'YAML_KEY_SYNTAX',
  message: 'a second key on the same line',
  help: 'text that has a colon and a space in it needs quotes',
};

const BY_CODE: ReadonlyMap<string, Words> = new Map<string, Words>([
  ['BAD_INDENT', INDENT],
  ['TAB_AS_INDENT', INDENT],
  ['BLOCK_AS_IMPLICIT_KEY', KEY_SYNTAX],
  ['MULTILINE_IMPLICIT_KEY', KEY_SYNTAX],
  ['KEY_OVER_1024_CHARS', KEY_SYNTAX],
  ['BAD_DQ_ESCAPE', { code: 'YAML_ESCAPE', message: 'there is no such escape', help: 'write `\\\\` for a backslash' }],
  ['BAD_SCALAR_START', { code: 'YAML_SCALAR_START', message: 'text that begins with this character needs quotes' }],
  ['MISSING_CHAR', { code: 'YAML_UNCLOSED', message: 'something is missing here' }],
]);

/** More precise words where the package's message tells two causes apart. */
const BY_MESSAGE: readonly (readonly [RegExp, Words])[] = [
  [/^Nested mappings are not allowed in compact mappings/, COLON_IN_TEXT],
  [/closing "quote/, { code: 'YAML_UNCLOSED', message: 'a double quote is not closed' }],
  [/closing 'quote/, { code: 'YAML_UNCLOSED', message: 'a single quote is not closed' }],
  [/^Missing , /, { code: 'YAML_UNCLOSED', message: 'a comma is missing' }],
  [/^Missing space after :/, { code: 'YAML_UNCLOSED', message: 'a space is missing after the colon' }],
  [/end with a \}/, { code: 'YAML_UNCLOSED', message: '`}` is missing, or a line is not indented far enough' }],
  [/end with a \]/, { code: 'YAML_UNCLOSED', message: '`]` is missing, or a line is not indented far enough' }],
  [
    /^Implicit (?:map )?keys need to be followed by map values/,
    { code: 'YAML_UNCLOSED', message: 'a key without a colon' },
  ],
  [/^Sequence item without - indicator/, { code: 'YAML_UNCLOSED', message: 'an entry of a list without its dash' }],
  [/^Comments must be separated/, { code: 'YAML_UNCLOSED', message: 'a space is missing before the comment' }],
];

export function explainSyntax(text: string, fault: PackageFault): Explained {
  const span = faultSpan(text, fault);
  const known = BY_MESSAGE.find(([pattern]) => pattern.test(fault.message))?.[1] ?? BY_CODE.get(fault.code);
  const words = known ?? { code: 'YAML_SYNTAX', message: `\`${text.slice(span.start, span.end)}\` does not fit here` };
  return { ...words, ...span };
}

/** Never empty and never past the line, so that there is something to underline. */
function faultSpan(text: string, { code, pos }: PackageFault): Span {
  // The package points past the end where something is missing at the end: show the last character instead.
  let start = Math.min(pos[0], Math.max(0, text.trimEnd().length - 1));
  const found = text.indexOf('\n', start);
  const lineEnd = found < 0 ? text.length : found;
  if (code === 'BAD_INDENT') while (start < lineEnd - 1 && text.charAt(start) === ' ') start += 1;
  const length = code === 'BAD_DQ_ESCAPE' ? 2 : code === 'BAD_INDENT' ? lineEnd - start : Math.max(1, pos[1] - start);
  return { start, end: Math.max(start + 1, Math.min(start + length, lineEnd)) };
}
