// Lint of a policy with more findings than are listed: what is left out decides nothing.
import { expect, test } from '@jest/globals';
import { ENGINE_LIMITS, lintPolicy, readPolicy } from '../../engine/compiler.js';
import { parseInstant } from '../../engine/index.js';

function ending(id: string, day: string, scope: string): string {
  return `  - { id: ${id}, identity: orcid:x, scopes: [${scope}], namespace: /${id}, expires: ${day}T00:00:00Z }\n`;
}

const FILES = {
  'policy.yaml': 'bailiwick: 1\nname: p\nproviders: { orcid: {} }\n',
  'a.yaml': `grants:\n${['a', 'b', 'c'].map((id) => ending(id, '2026-01-01', 'resource:read')).join('')}`,
  'b.yaml': `grants:\n${ending('w', '2999-01-01', 'resource:write')}`,
  'c.yaml': 'roles:\n  idle: { members: [orcid:x] }\n',
};

function found(at: string, diagnostics: number): readonly string[] {
  const files = Object.entries(FILES).map(([path, text]) => ({ path, bytes: new TextEncoder().encode(text) }));
  const { policy, ...reading } = readPolicy(files);
  if (policy === null) throw new Error(reading.diagnostics.map(({ message }) => message).join('\n'));
  const options = {
    at: parseInstant(at),
    soonMilliseconds: 0,
    levels: new Map([['LINT_ROLE_UNUSED', 'error']] as const),
  };
  const told = lintPolicy({ ...reading, policy }, options, { ...ENGINE_LIMITS, diagnostics });
  return told.map(({ code, file }) => `${file} ${code}`);
}

test('where not all findings can be listed, those are that may make the policy invalid, in every season', () => {
  const lasting = ['b.yaml LINT_WRITE_UNREAD', 'c.yaml LINT_ROLE_UNUSED'];
  expect(found('2025-01-01T00:00:00Z', 2)).toEqual(lasting);
  expect(found('2027-01-01T00:00:00Z', 2)).toEqual([...lasting, 'a.yaml LIMIT_LINT']);
  expect(found('2027-01-01T00:00:00Z', 1)).toEqual(['c.yaml LINT_ROLE_UNUSED', 'b.yaml LIMIT_LINT']);
});
