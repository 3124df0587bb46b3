// JSON merge patch (RFC 7396).
import { isObject } from '../json/strict-json.js';

/** The object that a patch, which is an object itself, makes of `target`. */
export function mergePatch(target: unknown, patch: object): Readonly<Record<string, unknown>> {
  const merged = new Map<string, unknown>(isObject(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, isObject(value) ? mergePatch(merged.get(name), value) : value);
  }
  return Object.fromEntries(merged);
}
