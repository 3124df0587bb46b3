// A JSON Schema of ours as a check, compiled when it first checks a value: a process needs few of all schemas, and compiling them takes
// longer than the rest of its start. The instances of ajv do not compare them with the meta-schema (`OURS`), as a test does that.
import type { Ajv, ValidateFunction } from 'ajv';

/** Options of every instance of ajv for schemas of this program. */
export const OURS = Object.freeze({ strict: true, validateSchema: false, meta: false });

export interface Check<Value> {
  (value: unknown): value is Value;
  /** What was wrong with the value that was checked last. */
  readonly errors: () => NonNullable<ValidateFunction['errors']>;
}

export function compileOnce<Value>(ajv: Pick<Ajv, 'compile'>, schema: object): Check<Value> {
  let compiled: ValidateFunction<Value> | null = null;
  const check = (value: unknown): value is Value => (compiled ??= ajv.compile<Value>(schema))(value);
  return Object.assign(check, { errors: () => compiled?.errors ?? [] });
}
