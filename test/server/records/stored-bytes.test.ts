// What a value takes once it is stored is known beforehand, to the byte: PostgreSQL is asked.
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MOST_GROWTH, storedBytes } from '../../../server/records/stored-bytes.js';
import { describeOnStores } from '../../support/stores.js';
import { testRuns } from '../../support/test-runs.js';

const text = fc.oneof(
  fc.constantFrom('', '\u0001', '\u007f', '"', '\\', '/', '\b\f\n\r\t', 'é', '\u2028', '😀', '</script>'),
  fc.string({ unit: 'grapheme' }).filter((value) => value.isWellFormed() && !value.includes('\0')),
);
const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 5 },
    text,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(0, -0, 1e-7, -1.5e-7, 5e-324, 2.2250738585072014e-308, -1.25e300, 1e21, 123456789.125, 1e-6),
    fc.constantFrom(true, false, null, [], {}),
    fc.array(tie('tree'), { maxLength: 4 }),
    fc.dictionary(text, tie('tree'), { maxKeys: 4 }),
  ),
}));

describeOnStores('the bytes that a value takes', (store) => {
  it('are those of the text that is shown of it', async () => {
    await fc.assert(
      fc.asyncProperty(tree, async (value) => {
        const json = JSON.stringify(value);
        const { rows } = await store.db.knex.raw<{ readonly rows: readonly { readonly bytes: number }[] }>(
          'SELECT octet_length((?::text::jsonb)::text) AS bytes',
          [json],
        );
        expect(storedBytes(JSON.parse(json))).toBe(rows[0]?.bytes);
        expect(storedBytes(JSON.parse(json))).toBeLessThan(MOST_GROWTH * (Buffer.byteLength(json) + 1));
      }),
      testRuns(150),
    );
  });
});

it('does not count what a JSON text leaves out', () => {
  const [made, read] = [{ a: undefined, b: [undefined, 1] }, { b: [null, 1] }];
  expect(JSON.parse(JSON.stringify(made))).toEqual(read);
  expect(storedBytes(made)).toBe(storedBytes(read));
});
