// Ids of records that commands make: UUIDs of version 7, of which all bits are random that do not say when or which version.
import { expect, it } from '@jest/globals';
import { instantOf } from '../../../engine/index.js';
import { newRecordId } from '../../../server/commands/record-id.js';

const FORM = /^([0-9a-f]{8}-[0-9a-f]{4})-7([0-9a-f]{3})-([89ab])([0-9a-f]{3})-([0-9a-f]{12})$/;

it('begin with the milliseconds since 1970, so that they sort by when they were made', () => {
  const started = (at: string): string | undefined => FORM.exec(newRecordId(instantOf(Date.parse(at))))?.[1];
  expect(started('2026-11-29T00:00:00.001Z')).toBe(hex('2026-11-29T00:00:00.001Z'));
  expect(started('1969-01-01T00:00:00Z')).toBe('00000000-0000');
});

it('are random in all else', () => {
  const parts = Array.from({ length: 200 }, () => FORM.exec(newRecordId(instantOf(0)))?.slice(2) ?? []);
  const kinds = [0, 1, 2, 3].map((part) => new Set(parts.map((one) => one[part])).size);
  // Each may be 200, or 4 of the third.
  expect(kinds.map((kind, part) => (part === 1 ? kind === 4 : kind > 150))).toEqual([true, true, true, true]);
});

function hex(at: string): string {
  const digits = Date.parse(at).toString(16).padStart(12, '0');
  return `${digits.slice(0, 8)}-${digits.slice(8)}`;
}
