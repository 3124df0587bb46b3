// The keys of policy files as a list for documents and help texts. It is generated from the shapes that the decoders use, so it lists
// exactly what is accepted.
import { assertNever } from '../model/invariant.js';
import type { MappingShape, ValueShape } from './shape.js';
import { HEADER, SECTIONS } from './shapes.js';
import { TEXTS } from './texts.js';

export interface LanguageKey {
  readonly key: string;
  /** `one of these` means that the mapping must have exactly one of its keys with that mark. */
  readonly need: 'required' | 'one of these' | 'optional';
  readonly takes: string;
  readonly about: string;
}

export interface LanguageMapping {
  /** Such as `a grant`. */
  readonly what: string;
  readonly keys: readonly LanguageKey[];
}

/** Every mapping of the language once, from `policy.yaml` inwards. */
export function policyLanguage(): readonly LanguageMapping[] {
  const found = new Map<string, LanguageMapping>();
  collect(HEADER, found);
  collect(SECTIONS, found);
  return [...found.values()];
}

function collect(shape: MappingShape, found: Map<string, LanguageMapping>): void {
  const what = shape.what.replaceAll('`', '');
  if (found.has(what)) return;
  const fields = [...shape.fields];
  const keys = fields.map(([key, { value, about }]) => ({ key, need: needOf(key, shape), takes: takes(value), about }));
  found.set(what, { what, keys });
  for (const [, { value }] of fields) for (const inner of mappingsIn(value)) collect(inner, found);
}

function needOf(key: string, { required, exactlyOne }: MappingShape): LanguageKey['need'] {
  if (required.includes(key)) return 'required';
  return exactlyOne.some((keys) => keys.includes(key)) ? 'one of these' : 'optional';
}

function mappingsIn(value: ValueShape): readonly MappingShape[] {
  switch (value.kind) {
    case 'mapping':
      return [value.shape];
    case 'list':
    case 'named':
      return mappingsIn(value.of);
    case 'either':
      return value.of.flatMap(mappingsIn);
    default:
      return [];
  }
}

function takes(value: ValueShape): string {
  switch (value.kind) {
    case 'text':
      return TEXTS[value.syntax].takes;
    case 'boolean':
      return '`true` or `false`';
    case 'version':
      return '`1`';
    case 'count':
      return `a number from ${String(value.least)}`;
    case 'list':
      return `a list: ${takes(value.of)}${value.least === 0 ? '' : `, at least ${String(value.least)}`}`;
    case 'named':
      return `a mapping from ${TEXTS[value.key].takes} to ${takes(value.of).replace(/^an? (?!list)/, '')}`;
    case 'mapping':
      return value.shape.what.replaceAll('`', '');
    case 'either':
      return value.of.map(takes).join(', or ');
    default:
      return assertNever(value);
  }
}
