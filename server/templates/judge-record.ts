// What a template demands of a record that is made from it: of the properties of a resource, and of the parameters of a
// run. `load` and commands both judge with this.
import type { Family } from '../../engine/index.js';
import type { ShapeFault } from '../api/shape-fault.js';
import { newTemplateFaults, type SchemaFault, type TemplateResult, TOO_LARGE } from './template-schema.js';

export type RecordVerdict =
  | { readonly kind: 'right' }
  /** A stored schema that cannot be used, or a new one that is refused. */
  | { readonly kind: 'unusable'; readonly faults: readonly SchemaFault[] }
  /** At least one fault, with places in the judged part. */
  | { readonly kind: 'wrong'; readonly faults: readonly ShapeFault[] };

export const RIGHT: RecordVerdict = Object.freeze({ kind: 'right' });

/** Said of what a thread does not get done in time. */
export const NOT_IN_TIME: RecordVerdict = Object.freeze({ kind: 'wrong', faults: TOO_LARGE });

export interface JudgedValue {
  readonly value: unknown;
}

/** Which part of a record its template judges. */
export function judgedPart(family: Family): 'properties' | 'parameters' {
  return family === 'process-run' ? 'parameters' : 'properties';
}

/**
 * `template` is null if the template has no schema or is not known: it then demands nothing. Without a value, the
 * schema is judged as that of a new template. A step that may take longer than those milliseconds is not taken: the value
 * is too large.
 */
export function judgePart(template: TemplateResult | null, value: JudgedValue | null, step?: number): RecordVerdict {
  if (template === null) return RIGHT;
  if (!template.ok) return { kind: 'unusable', faults: template.faults };
  if (value === null) {
    const faults = newTemplateFaults(template);
    return faults.length === 0 ? RIGHT : { kind: 'unusable', faults };
  }
  return verdictOf(template.template.check(value.value, step));
}

/**
 * Like `judgePart`, but null if that could hold up other requests, or takes more than the milliseconds that are left. So
 * it is if there is no template yet.
 */
export function judgeSoon(
  template: TemplateResult | null,
  value: JudgedValue | null,
  left: number,
): RecordVerdict | null {
  if (template?.ok !== true || value === null) return template === null ? null : judgePart(template, value);
  const faults = template.template.checkSoon(value.value, left);
  return faults === null ? null : verdictOf(faults);
}

function verdictOf(faults: readonly ShapeFault[]): RecordVerdict {
  return faults.length === 0 ? RIGHT : { kind: 'wrong', faults };
}

const UNKNOWN = 'is not known here';

/** What is wrong with a record, as its writer reads it. */
export function requiredText(message: string): string {
  if (message.startsWith(UNKNOWN)) return `is not allowed by the template${message.slice(UNKNOWN.length)}`;
  if (message === 'is required') return 'is required by the template';
  // Some say so themselves.
  return message.includes('template') ? message : `${message} (required by the template)`;
}
