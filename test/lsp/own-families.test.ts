// Families of a policy's own in an editor: completed where a scope stands, and the keys of their declaration.
import { expect, it } from '@jest/globals';
import { instantOf } from '../../engine/index.js';
import { choicesAt } from '../../server/authoring/complete.js';
import { type CheckedFolder, makeFolderChecker } from '../../server/lsp/policy-folder.js';
import { fromRoot } from '../support/root.js';

const completed = async (file: string, text: string): Promise<readonly string[]> => {
  let checked: CheckedFolder | null = null;
  for await (const step of makeFolderChecker(fromRoot('docs/examples/erp')).check(new Map(), instantOf(0)))
    checked = step;
  if (checked === null) throw new Error('a check has steps');
  expect(checked.diagnostics).toEqual([]);
  const lines = text.split('\n');
  const place = { line: lines.length - 1, character: lines.at(-1)?.length ?? 0 };
  return choicesAt(checked, { file, text, place }).map((choice) => choice.text);
};

it('completes their scopes and patterns wherever a scope stands', async () => {
  const own = ['invoice:approve', 'invoice:pay', 'invoice:read', 'invoice:write', 'invoice:*', 'supplier:*'];
  for (const line of ['grants:\n  - id: new\n    scopes: [', 'guardrails:\n  - id: new\n    separate: ['])
    expect(await completed('audit.yaml', line)).toEqual(expect.arrayContaining([...own, 'resource:read', '*:read']));
});

it('completes the keys of a declaration', async () => {
  expect(await completed('policy.yaml', 'bailiwick: 1\nfam')).toContain('families');
  expect(await completed('policy.yaml', 'bailiwick: 1\nfamilies:\n  ticket:\n    ac')).toContain('actions');
});
