// docs/queries.md written down the slow and obvious way, over records as the API shows them: which ones a `where` holds for, in
// which order they come, and what `select` leaves of them. Shares nothing with the statements it judges.

export type Json = Readonly<Record<string, unknown>>;

const INSTANTS = new Set(['createdAt', 'updatedAt', 'archivedAt']);

export function holds(where: Json, record: Json): boolean {
  return Object.entries(where).every(([key, value]) => {
    if (key === 'and') return (value as Json[]).every((part) => holds(part, record));
    if (key === 'or') return (value as Json[]).some((part) => holds(part, record));
    if (key === 'not') return !holds(value as Json, record);
    return Object.entries(value as Json).every(([operator, operand]) =>
      condition(
        operator,
        HOLDS_IDS.test(key) ? inLowerCase(operand) : operand,
        operator.startsWith('has') ? listAt(record, key) : valueAt(record, key),
        key,
      ),
    );
  });
}

const HOLDS_IDS = /^(?:id|template|copiedFrom|resources|resources\..*)$/s;

function inLowerCase(operand: unknown): unknown {
  if (Array.isArray(operand)) return operand.map(inLowerCase);
  return typeof operand === 'string' ? operand.toLowerCase() : operand;
}

function condition(operator: string, operand: unknown, value: unknown, field: string): boolean {
  const present = value !== undefined && value !== null;
  if (operator === 'isNull') return present !== operand;
  if (!present) return false;
  const compare = (wanted: unknown): number | null => {
    if (typeof value !== typeof wanted || typeof value === 'object') return null;
    if (INSTANTS.has(field)) return compareScalars(Date.parse(value as string), Date.parse(wanted as string));
    return compareScalars(value, wanted);
  };
  switch (operator) {
    case 'in':
      return (operand as unknown[]).some((wanted) => compare(wanted) === 0);
    case 'notIn': {
      const list = operand as unknown[];
      return list.length === 0 || (compare(list[0]) !== null && list.every((wanted) => compare(wanted) !== 0));
    }
    case 'has':
      return hasElement(value, operand);
    case 'hasAny':
      return (operand as unknown[]).some((wanted) => hasElement(value, wanted));
    case 'hasAll':
      return Array.isArray(value) && (operand as unknown[]).every((wanted) => hasElement(value, wanted));
    case 'contains':
      return typeof value === 'string' && value.includes(String(operand));
    case 'containsIgnoreCase':
      return typeof value === 'string' && folded(value).includes(folded(String(operand)));
    case 'startsWith':
      return typeof value === 'string' && value.startsWith(String(operand));
    case 'endsWith':
      return typeof value === 'string' && value.endsWith(String(operand));
  }
  const order = compare(operand);
  if (order === null) return false;
  switch (operator) {
    case 'eq':
      return order === 0;
    case 'ne':
      return order !== 0;
    case 'lt':
      return order < 0;
    case 'lte':
      return order <= 0;
    case 'gt':
      return order > 0;
    case 'gte':
      return order >= 0;
    default:
      throw new Error(`no operator ${operator}`);
  }
}

/**
 * By what Node knows of upper and lower case, character by character, twice because `ẞ` becomes `ß` first. The dotless i
 * is a letter of its own, and Cherokee folds to its upper case.
 */
export function folded(text: string): string {
  const fold = (character: string): string => {
    if (character === 'ı') return character;
    const upper = character.toUpperCase();
    return /\p{Script=Cherokee}/u.test(character) ? upper : upper.toLowerCase().toUpperCase().toLowerCase();
  };
  return Array.from(text, fold).join('');
}

/** Of `resources` what all slots hold, whatever they are called. */
function listAt(record: Json, field: string): unknown {
  const value = valueAt(record, field);
  return field === 'resources' && typeof value === 'object' && value !== null ? Object.values(value) : value;
}

function hasElement(list: unknown, wanted: unknown): boolean {
  return Array.isArray(list) && list.some((element) => element === wanted);
}

export function valueAt(record: Json, field: string): unknown {
  let value: unknown = record;
  for (const name of namesOf(field)) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, name))
      return undefined;
    value = (value as Json)[name];
  }
  return value;
}

/** The name of a slot may have dots in it. */
function namesOf(field: string): readonly string[] {
  return field.startsWith('resources.') ? ['resources', field.slice('resources.'.length)] : field.split('.');
}

function compareScalars(a: unknown, b: unknown): number {
  if (typeof a === 'string' && typeof b === 'string') return compareTexts(a, b);
  return Number(a) - Number(b);
}

/** By code point, which is not the order of UTF-16 code units. */
export function compareTexts(a: string, b: string): number {
  const left = Array.from(a, (character) => character.codePointAt(0) ?? 0);
  const right = Array.from(b, (character) => character.codePointAt(0) ?? 0);
  for (let i = 0; i < Math.min(left.length, right.length); i += 1) {
    if (left[i] !== right[i]) return (left[i] ?? 0) - (right[i] ?? 0);
  }
  return left.length - right.length;
}

const CLASSES = ['number', 'string', 'boolean'];

/** Numbers, texts, booleans; everything else counts as absent. */
function classOf(value: unknown): number {
  return CLASSES.indexOf(typeof value);
}

export function inOrder(records: readonly Json[], orderBy: readonly Json[]): readonly Json[] {
  return [...records].sort((a, b) => {
    for (const [field, direction] of orderBy.flatMap((key) => Object.entries(key))) {
      const order = compareInOrder(valueAt(a, field), valueAt(b, field), direction === 'desc' ? -1 : 1);
      if (order !== 0) return order;
    }
    return compareTexts(String(a['id']), String(b['id']));
  });
}

function compareInOrder(a: unknown, b: unknown, sign: 1 | -1): number {
  const [left, right] = [classOf(a), classOf(b)];
  if (left < 0 || right < 0) return left < 0 && right < 0 ? 0 : left < 0 ? 1 : -1;
  return sign * (left === right ? compareScalars(a, b) : left - right);
}

export function selected(record: Json, select: readonly string[] | undefined): Json {
  if (select === undefined) return record;
  let result: Record<string, unknown> = {};
  for (const field of Object.keys(record)) {
    if (select.includes(field)) result = { ...result, [field]: record[field] };
    else if (select.some((path) => path.startsWith(`${field}.`))) result = { ...result, [field]: {} };
  }
  for (const path of select) {
    const value = valueAt(record, path);
    if (value === undefined) continue;
    const names = namesOf(path);
    let at = result;
    for (const name of names.slice(0, -1)) at = (at[name] ??= {}) as Record<string, unknown>;
    at[names.at(-1) ?? ''] ??= value;
  }
  return result;
}
