// The fields that a query can name, by family.
import { describe, expect, it } from '@jest/globals';
import { FAMILIES } from '../../../engine/index.js';
import { coreFields } from '../../../server/query/fields.js';

describe('the fields', () => {
  it.each([
    ['namespace', []],
    ['resource-template', ['version', 'schema', 'uniqueName']],
    ['resource', ['template', 'copiedFrom']],
    ['process-template', ['version', 'schema', 'uniqueName', 'slots']],
    ['process-run', ['template', 'parameters', 'resources', 'state']],
  ] as const)('of a %s are the common ones and %j', (family, own) => {
    const common = [
      'id',
      'family',
      'namespace',
      'name',
      'description',
      'properties',
      'revision',
      'createdAt',
      'updatedAt',
      'createdBy',
      'archivedAt',
    ];
    expect([...coreFields(family).keys()].sort()).toEqual([...common, ...own].sort());
  });

  it('name families in the order of their codes', () => {
    const names = FAMILIES.map((family) => `'${family}'`).join(',');
    expect(coreFields('resource').get('family')?.value.text).toContain(`ARRAY[${names}]`);
  });
});
