// What docs/audit.md says that events hold, and what they hold: the same members, operations and kinds.
import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { OTHER_OPERATIONS, RECORD_ACTS } from '../../../server/audit/event.js';
import { EVENT_SCHEMA } from '../../../server/api/audit-schemas.js';
import { fromRoot } from '../../support/root.js';

const page = readFileSync(fromRoot('docs/audit.md'), 'utf8');

/** The names in the first column of the table under a heading. */
function namesUnder(heading: string): readonly string[] {
  const [, section = ''] = page.split(`\n## ${heading}\n`);
  const [body = ''] = section.split('\n## ').map((text) => text.slice(text.indexOf('|---|')));
  return body
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .flatMap((line) => [...(line.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name));
}

it('names each member that an event may have, and no other', () => {
  const members = namesUnder('An event');
  expect(members.length).toBeGreaterThan(20);
  expect([...members].sort()).toEqual(Object.keys(EVENT_SCHEMA.properties).sort());
});

it('names each operation, and no other', () => {
  const records = RECORD_ACTS.map((act) => `<family>.${act}`);
  expect([...namesUnder('Operations')].sort()).toEqual([...OTHER_OPERATIONS, ...records].sort());
});

it('names each kind', () => {
  expect([...namesUnder('What is recorded')].sort()).toEqual([...EVENT_SCHEMA.properties.kind.enum].sort());
});
