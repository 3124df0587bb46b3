// A condition that ends its statement when time is up. A PostgreSQL server stops a statement that takes too long. The
// embedded engine cannot be stopped, because its thread is busy with the statement. So there, each part of a condition
// looks at the clock before it is evaluated.
import { assertNever } from '../../engine/index.js';
import { isEverything, type QueryCondition } from './condition.js';

/**
 * The same condition, except that it raises SQLSTATE 2203A once its statement has run for longer than `limit`
 * milliseconds.
 */
export function inTime(condition: QueryCondition, limit: number): QueryCondition {
  switch (condition.kind) {
    case 'and':
    case 'or':
      // An empty condition looks at the clock too, since computing sort keys takes time as well.
      if (isEverything(condition)) return { kind: 'inTime', limit, part: condition };
      return { kind: condition.kind, parts: condition.parts.map((part) => inTime(part, limit)) };
    case 'not':
      return { kind: 'not', part: inTime(condition.part, limit) };
    case 'compare':
    case 'pattern':
    case 'member':
    case 'list':
    case 'isNull':
    case 'inTime':
      return { kind: 'inTime', limit, part: condition };
    default:
      return assertNever(condition);
  }
}
