// What an answer of a gateway says, part by part: another program may be at that address, so nothing of it is believed to be there, and
// every text of it is shown so that no terminal obeys it.
import { escapeText } from './render/escape.js';

export type Members = ReadonlyMap<string, unknown>;

/** None of what is no object. */
export function membersOf(value: unknown): Members {
  return new Map(typeof value === 'object' && value !== null ? Object.entries(value) : []);
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** `-` for what is neither. */
export function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? escapeText(String(value)) : '-';
}

export function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

/** Of these members those that are there. */
export function textsOf(value: unknown, names: readonly string[]): string {
  const members = membersOf(value);
  return names.flatMap((name) => (members.has(name) ? [textOf(members.get(name))] : [])).join(' ') || '-';
}
