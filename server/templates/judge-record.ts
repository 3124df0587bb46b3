// What a template demands of a record that is made from it: of the properties of a resource, and of the parameters of a
// run. `load` and commands both judge with this.
import type { Family } from '../../engine/index.js';
import type { ShapeFault } from '../api/shape-fault.js';
import type { SchemaFault, TemplateResult } from './template-schema.js';

export type Verdict =
  | { readonly kind: 'right' }
  /** The stored schema is one that would be refused today. */
  | { readonly kind: 'unusable'; readonly fault: SchemaFault }
  /** At least one fault, with places in the judged part. */
  | { readonly kind: 'wrong'; readonly faults: readonly ShapeFault[] };

const RIGHT: Verdict = Object.freeze({ kind: 'right' });

/** Which part of a record its template judges. */
export function judgedPart(family: Family): 'properties' | 'parameters' {
  return family === 'process-run' ? 'parameters' : 'properties';
}

/** `template` is null if the template has no schema or is not known: it then demands nothing. */
export function judgePart(template: TemplateResult | null, value: unknown): Verdict {
  if (template === null) return RIGHT;
  if (!template.ok) return { kind: 'unusable', fault: template.fault };
  const faults = template.template.check(value);
  return faults.length === 0 ? RIGHT : { kind: 'wrong', faults };
}
