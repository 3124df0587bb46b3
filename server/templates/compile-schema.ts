// Compiles the schema of a template with ajv, so that a check is bounded whatever the schema is. The clock is read
// wherever a schema is applied to one part after another, no more faults of them are kept on the way than are reported,
// and nothing of a value is held after its check.
import { _, Ajv2020, type CodeKeywordDefinition, type ValidateFunction } from 'ajv/dist/2020.js';
import { toShapeFault, type ShapeFault } from '../api/shape-fault.js';
import { TEMPLATE_LIMITS } from '../limits/records.js';
import type { Clock } from './clock.js';
import { formatOf, formatTime } from './formats.js';
import type { Pattern } from './pattern.js';

export interface Compiling {
  readonly faults: 'first' | 'all';
  /** Notes check nothing. */
  readonly formats: 'asserted' | 'notes';
  readonly pattern: (pattern: string) => Pattern;
  readonly clock: Clock;
}

/** The faults of a value, with their places in it; empty if there are none. Throws `TooSlow`. */
export type Judge = (value: unknown) => readonly ShapeFault[];

export function compileSchema(schema: object, compiling: Compiling): Judge {
  const ajv = makeAjv(compiling);
  // What `unevaluatedItems` and `unevaluatedProperties` look at is noted for few schemas. Without these notes, ajv would not
  // compile each of the patterns.
  ajv.opts.unevaluated = /"(?:unevaluated|patternProperties)/.test(JSON.stringify(schema));
  const validate = ajv.compile(schema);
  const { schemaEnv } = validate;
  const all = [schemaEnv, ...Object.values(schemaEnv.refs)].flatMap((one) =>
    typeof one === 'object' && isFunction(one.validate) ? [one.validate] : [],
  );
  return (value) => {
    try {
      if (validate(value)) return [];
      return (validate.errors ?? []).slice(0, TEMPLATE_LIMITS.faults).map((error) => toShapeFault(error, []));
    } finally {
      all.forEach(forget);
    }
  };
}

function isFunction(value: unknown): value is ValidateFunction {
  return typeof value === 'function';
}

/** The last faults, and the names of members that have been looked at, stay with each function that ajv makes. */
function forget(validate: ValidateFunction): void {
  validate.errors = null;
  if (validate.evaluated?.dynamicProps === true) delete validate.evaluated.props;
}

/**
 * Keywords that apply a schema to any number of parts of a value. The others reach only parts that the schema names, and
 * end at the first fault: how many checks that may be is estimated before (`small.checks`).
 */
const LOOPS: readonly string[] = [
  ...['items', 'contains', 'unevaluatedItems'],
  ...['patternProperties', 'additionalProperties', 'propertyNames', 'unevaluatedProperties'],
];

/** Makes an instance for one schema, because an instance keeps everything that it has compiled. */
function makeAjv({ faults, formats, pattern, clock }: Compiling): Ajv2020 {
  const ajv = new Ajv2020({
    allErrors: faults === 'all',
    // Unknown keywords check nothing: they are notes, or older than the rule against them.
    strict: false,
    meta: false,
    validateSchema: false,
    validateFormats: false,
    inlineRefs: false,
    // Names such as `toString` count as members only if the value itself has them.
    ownProperties: true,
    loopRequired: TEMPLATE_LIMITS.loopRequired,
    multipleOfPrecision: 9,
    logger: false,
    // Optimizing takes longer than it saves: seconds for a thousand keywords.
    // The code is needed for stand-alone modules, which are never made here.
    code: { regExp: Object.assign(pattern, { code: 'null' }), optimize: false },
  });
  boundFaults(ajv, TEMPLATE_LIMITS.faults, clock);
  // Looks the value up by its text. The library's own keyword compares it with one value after another.
  ajv.removeKeyword('enum');
  ajv.addKeyword({
    keyword: 'enum',
    schemaType: 'array',
    error: {
      message: 'must be equal to one of the allowed values',
      params: ({ schemaCode }) => _`{allowedValues: ${schemaCode}}`,
    },
    compile: (values: readonly unknown[]) => {
      const known = new Set(values.map((value) => textOf(value, null)));
      return (value: unknown) => known.has(textOf(value, clock));
    },
  });
  // Compares texts. The library's own keyword compares every pair.
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    error: { message: 'must not have the same element twice' },
    validate: (wanted: boolean, list: readonly unknown[]) =>
      !wanted || new Set(list.map((value) => textOf(value, clock))).size === list.length,
  });
  // The library's own table has patterns that backtrack.
  if (formats === 'notes') return ajv;
  ajv.removeKeyword('format');
  ajv.addKeyword({
    keyword: 'format',
    type: 'string',
    schemaType: 'string',
    error: { message: ({ schema }) => `must be ${formatOf(String(schema))?.meaning ?? 'of a known format'}` },
    compile: (name: string) => {
      const format = formatOf(name);
      if (format === null) throw new TypeError('a format that is not known');
      return (text: string) => {
        clock.foresee(formatTime(name, text));
        return format.test(text);
      };
    },
  });
  return ajv;
}

/**
 * Has such a keyword read the clock each time that it applies a schema. It then drops the faults beyond so many: a list
 * whose elements all fail has one for each, and each `$ref` on the way copies them.
 */
export function boundFaults(ajv: Ajv2020, faults: number, { tick }: Clock): void {
  for (const name of LOOPS) {
    const keyword = ajv.getKeyword(name);
    if (typeof keyword !== 'object' || !isCode(keyword)) continue;
    const { code } = keyword;
    keyword.code = (context, type) => {
      const { gen, it } = context;
      const before = context.errsCount ?? gen.const('before', _`errors`);
      const most = _`${before} + ${faults}`;
      const apply = context.subschema.bind(context);
      context.subschema = (how, valid) => {
        gen.code(_`${gen.scopeValue('func', { ref: tick })}()`);
        const applied = apply(how, valid);
        // Everywhere else the first fault ends the check.
        if (it.allErrors === true || it.compositeRule === true || how.compositeRule === true)
          gen.if(_`errors > ${most}`, () => gen.code(_`vErrors.length = errors = ${most}`));
        return applied;
      };
      code(context, type);
    };
  }
}

function isCode(keyword: object): keyword is CodeKeywordDefinition {
  return 'code' in keyword;
}

/** Two texts are equal exactly if the JSON values are. The texts of schemas need no clock. */
function textOf(value: unknown, clock: Clock | null): string {
  clock?.tick();
  if (Array.isArray(value)) return `[${value.map((one) => textOf(one, clock)).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}:${textOf(member, clock)}`);
  // Sorting takes long, and nobody reads the clock in between.
  clock?.foresee(members.length * TEMPLATE_LIMITS.memberTime);
  return `{${members.sort().join()}}`;
}
