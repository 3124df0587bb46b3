// The shape of a body: its JSON Schema, and every fault of a value that does not match it. A route
// declares a shape for its body, and the pipeline reads the body with it, so that no route is without a check.
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ProblemCode } from '../problem.js';
import { type BodyPath, collectFaults, throwIfAny } from './faults.js';
import type { JsonSchema, TypeOf } from './schema.js';
import { meantText, type ShapeFault, toShapeFault } from './shape-fault.js';
import { type Check, compileOnce, OURS } from '../json/compile-once.js';
import { isObject } from '../json/strict-json.js';
import { QUERY_LIMITS } from '../limits/queries.js';

export interface ObjectSchema extends JsonSchema {
  readonly type: 'object';
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, object>>;
  readonly additionalProperties?: boolean;
}

export interface BodyShape<Value> {
  readonly schema: ObjectSchema;
  /** The schema that the API's description shows: this one, or one that also describes what the route itself reads. */
  readonly document: JsonSchema;
  /** The value with its type. Throws an `ApiProblem` (400) that lists every fault. */
  readonly read: (body: unknown) => Value;
  /** The value that came from `read`. Throws for every other object, however alike. */
  readonly asRead: (body: unknown) => Value;
}

/** Where one shape differs from the defaults. */
interface ShapeWording {
  /** The message for a member that the schema does not have; null for the usual one. */
  readonly unknown?: (name: string) => string | null;
  /** The code of a fault at a place. */
  readonly code?: (place: BodyPath) => ProblemCode;
}

// A valid body passes the whole schema. For an invalid one each part is checked by itself up to its first fault, so
// that all parts are reported and no body makes a long list.
const ajv = new Ajv2020({ ...OURS, allowUnionTypes: true, allErrors: false, verbose: true });

export function bodyShape<Value>(schema: ObjectSchema, words: ShapeWording = {}): BodyShape<Value> {
  const isValid = compileOnce<Value>(ajv, schema);
  const parts = new Map(Object.entries(schema.properties ?? {}).map(([name, part]) => [name, compileOnce(ajv, part)]));
  const given = new WeakSet();
  const isGiven = (body: unknown): body is Value => isObject(body) && given.has(body);
  const read = (body: unknown): Value => {
    if (isObject(body) && isValid(body)) {
      given.add(body);
      return body;
    }
    const faults = collectFaults();
    const ofParts = isObject(body) ? faultsOfParts(body, { schema, parts, words }) : [NO_OBJECT];
    const found = ofParts.length > 0 ? ofParts : isValid.errors().map((error) => toShapeFault(error, []));
    for (const { place, message } of found) faults.add(place, words.code?.(place) ?? 'request.schema', message);
    throwIfAny(faults);
    throw new TypeError('a wrong shape without a fault');
  };
  const asRead = (body: unknown): Value => {
    if (isGiven(body)) return body;
    throw new TypeError('a body that was not read with the shape of its route');
  };
  return { schema, document: schema, read, asRead };
}

/** With the type of value that the schema itself says. */
export function shapeOf<S extends ObjectSchema>(schema: S): BodyShape<TypeOf<S>> {
  return bodyShape<TypeOf<S>>(schema);
}

const NO_OBJECT: ShapeFault = { place: [], message: 'must be an object' };

interface Parts {
  readonly schema: ObjectSchema;
  readonly parts: ReadonlyMap<string, Check<unknown>>;
  readonly words: ShapeWording;
}

/** Parts that are missing first, then the parts in the order of the body. */
function faultsOfParts(body: object, { schema, parts, words }: Parts): readonly ShapeFault[] {
  const faults: ShapeFault[] = (schema.required ?? [])
    .filter((name) => !Object.hasOwn(body, name))
    .map((name) => ({ place: [name], message: 'is required' }));
  for (const [name, value] of Object.entries(body)) {
    // No more are kept, and each name that is not known takes a search for what may have been meant.
    if (faults.length >= QUERY_LIMITS.errors) break;
    const isPart = parts.get(name);
    if (isPart !== undefined) {
      if (!isPart(value)) faults.push(...isPart.errors().map((error) => toShapeFault(error, [name])));
    } else if (schema.additionalProperties === false) {
      faults.push({
        place: [name],
        message: words.unknown?.(name) ?? meantText('is not known here', name, [...parts.keys()]),
      });
    }
  }
  return faults;
}
