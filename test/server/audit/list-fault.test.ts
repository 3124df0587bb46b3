// What is wrong with the list of an event, for whoever verifies the log.
import { expect, it } from '@jest/globals';
import { listFault } from '../../../server/audit/list-fault.js';

it('a list that is there is read, and what cannot be read is named', () => {
  expect(listFault({})).toBeNull();
  expect(listFault({ listed: { count: 7 } })).toBeNull();
  expect(listFault({ listed: { count: 1, set: 'AA*A' } })).toContain('not base64url: character 3');
  for (const listed of [null, 'ids', {}, { ids: 'a' }, undefined])
    expect(listFault({ listed })).toBe('`listed` has neither ids nor a count');
  expect(listFault(Object.create({ listed: null }) as object)).toBeNull();
});
