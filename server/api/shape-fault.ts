// What ajv finds wrong, told as a place and a message of ours that holds no value of the input.
import type { ErrorObject } from 'ajv/dist/2020.js';

export interface ShapeFault {
  /** The keys from the top of the value to the place. */
  readonly place: readonly string[];
  readonly message: string;
}

/** A fault of a value that stands at `place` in something larger. */
export function toShapeFault(error: ErrorObject, place: readonly string[]): ShapeFault {
  const here = [...place, ...error.instancePath.split('/').slice(1).map(unescapeKey)];
  const parameters: Readonly<Record<string, unknown>> = error.params;
  switch (error.keyword) {
    case 'additionalProperties':
      return { place: [...here, String(parameters['additionalProperty'])], message: 'is not known here' };
    case 'required':
      return { place: [...here, String(parameters['missingProperty'])], message: 'is required' };
    case 'enum':
      return { place: here, message: `must be one of ${listOf(parameters['allowedValues'])}` };
    default:
      return { place: here, message: error.message ?? 'does not have the documented shape' };
  }
}

function listOf(values: unknown): string {
  return Array.isArray(values) ? values.map(String).join(', ') : 'the documented values';
}

function unescapeKey(key: string): string {
  return key.replaceAll('~1', '/').replaceAll('~0', '~');
}
