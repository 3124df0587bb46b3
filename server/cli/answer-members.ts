// Reads a gateway's answer part by part. Another program may be at that address, so no part is assumed to exist, and
// every text is escaped for the terminal.
import { escapeText } from './render/escape.js';

export type AnswerMembers = ReadonlyMap<string, unknown>;

/** The members of an object; none for anything else. */
export function membersOf(value: unknown): AnswerMembers {
  return new Map(typeof value === 'object' && value !== null ? Object.entries(value) : []);
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** `-` for anything that is neither a string nor a number. */
export function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? escapeText(String(value)) : '-';
}

export function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

/** The texts of those members that exist. */
export function textsOf(value: unknown, names: readonly string[]): string {
  const members = membersOf(value);
  return names.flatMap((name) => (members.has(name) ? [textOf(members.get(name))] : [])).join(' ') || '-';
}
