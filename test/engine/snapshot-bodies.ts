// What a snapshot holds of its policy, and the same with fields that no policy has.
import { compileTables } from '../../engine/compile/compile-tables.js';
import type { SnapshotBody } from '../../engine/snapshot/document.js';
import { toSnapshotBody } from '../../engine/snapshot/encode.js';
import { digestChecks } from '../../engine/snapshot/checks.js';
import { digestOf } from '../../engine/snapshot/hash.js';
import { FULL } from './full-policy.js';

export const DECISIONS = digestOf('');

export function bodyOf(set = FULL): SnapshotBody {
  return toSnapshotBody(compileTables(set).tables, { checks: digestChecks(set), decisions: DECISIONS });
}

export type Fields = Readonly<Record<string, unknown>>;

/** Replaces some fields, as deep as they are stated. */
export function changed(body: unknown, change: Fields): Fields {
  const fields: Record<string, unknown> = { ...(body as Fields) };
  for (const [key, value] of Object.entries(change)) {
    const isGroup = typeof value === 'object' && value !== null && !Array.isArray(value);
    fields[key] = isGroup ? changed(fields[key], value as Fields) : value;
  }
  return fields;
}
