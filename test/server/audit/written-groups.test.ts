// What the writer gives the disk at once, and what it leaves in the folder.
import { readdirSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import type { FileLayer } from '../../../server/audit/file-layer.js';
import { verifyLogs } from '../../../server/audit/verify.js';
import { AUDIT_LIMITS } from '../../../server/limits/logs.js';
import { eventOf, failure, faultyFiles, writerOf } from '../../support/audit-log.js';
import { makeFolder } from '../../support/temp-folder.js';

it('gives the disk no more at once than a group, with what it could not write before', async () => {
  const folder = await makeFolder();
  let fails = true;
  const layer = faultyFiles((operation) => (fails && operation === 'sync' ? failure('EIO') : null));
  const sizes: number[] = [];
  const create: FileLayer['create'] = async (path) => {
    const file = await layer.create(path);
    return {
      ...file,
      append: (bytes) => {
        sizes.push(bytes.length);
        return file.append(bytes);
      },
    };
  };
  const writer = writerOf(folder, { files: { ...layer, create } });
  for (let n = 1; n <= 9_000; n += 1) writer.add(eventOf(n));
  // The file cannot be cut back either, so the same lines are written again, and none beside them.
  for (let times = 0; times < 3; times += 1) await expect(writer.sync()).rejects.toMatchObject({ code: 'EIO' });
  fails = false;
  await writer.sync();
  await writer.close();
  expect(Math.max(...sizes)).toBeGreaterThanOrEqual(AUDIT_LIMITS.groupBytes);
  expect(Math.max(...sizes)).toBeLessThan(AUDIT_LIMITS.groupBytes + 2_000);
  expect(await verifyLogs(folder)).toMatchObject({ ok: true, events: 9_000 });
});

it('does not go on for ever with a disk that takes nothing and says nothing', async () => {
  const folder = await makeFolder();
  let takes: number | null = 0;
  const writer = writerOf(folder, { files: faultyFiles((operation) => (operation === 'append' ? takes : null)) });
  writer.add(eventOf(1));
  await expect(writer.sync()).rejects.toThrow('nothing could be written');
  takes = null;
  await writer.sync();
  await writer.close();
  expect(await verifyLogs(folder)).toMatchObject({ ok: true, events: 1 });
});

it('uses a file again that nothing was written to, and sets none aside', async () => {
  const folder = await makeFolder();
  let fails = true;
  const writer = writerOf(folder, {
    files: faultyFiles((operation) => (fails && operation === 'append' ? failure('EIO') : null)),
  });
  // Nothing waits yet.
  await writer.sync();
  writer.add(eventOf(1));
  for (let times = 0; times < 3; times += 1) await expect(writer.sync()).rejects.toMatchObject({ code: 'EIO' });
  fails = false;
  await writer.sync();
  await writer.close();
  expect(readdirSync(folder)).toHaveLength(1);
});
