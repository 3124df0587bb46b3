// Logs that the store knows and that are not in their folder.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { isFrom, missingFrom } from '../../../server/audit/missing-logs.js';
import type { NotedHead } from '../../../server/audit/outbox.js';
import { logOf, LOG } from '../../support/audit-log.js';

const noted = (log: string, host = 'here', folder = '/data'): NotedHead => ({
  ...{ log, host, folder, seq: 3, hash: `sha256:${'0'.repeat(64)}` },
});

it('a log is missing where neither a file of it is there nor one of it is listed as archived', async () => {
  const folder = await logOf(['{}']);
  writeFileSync(join(folder, 'archived.sha256'), `${'0'.repeat(64)}  away.000000000000001.jsonl\n`);
  const gone = noted('gone');
  expect(await missingFrom(folder, [noted(LOG), gone, noted('away')])).toEqual([gone]);
});

it('a log is from a place by its folder, and by its machine unless the store moves with it', () => {
  const place = { host: 'here', folder: '/data' };
  const all = [noted('a'), noted('b', 'elsewhere'), noted('c', 'here', '/other'), noted('d', 'elsewhere', '/other')];
  const namesFrom = (store: 'embedded' | 'external'): readonly string[] =>
    all.filter(isFrom(place, store)).map(({ log }) => log);
  expect(namesFrom('external')).toEqual(['a']);
  expect(namesFrom('embedded')).toEqual(['a', 'b']);
});
