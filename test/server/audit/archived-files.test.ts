// The list of files that were moved away, as `sha256sum` writes such lists and as people keep them.
import { hash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { ARCHIVE_LIST, readArchiveList, stateOfArchived } from '../../../server/audit/archived-files.js';
import { makeFolder } from '../../support/temp-folder.js';

const NAME = 'thelog.000000000000012.jsonl';
const SHA = 'ab'.repeat(32);
const FILE = { log: 'thelog', first: 12, name: NAME, sha256: SHA };

async function listOf(text: string): ReturnType<typeof readArchiveList> {
  const folder = await makeFolder();
  writeFileSync(join(folder, ARCHIVE_LIST), text);
  return readArchiveList(folder);
}

it('is the one that `sha256sum -c` checks, and none if nothing was moved', async () => {
  expect(ARCHIVE_LIST).toBe('archived.sha256');
  expect(await readArchiveList(await makeFolder())).toEqual({ files: [], others: [] });
});

it.each([
  ['as text', `${SHA}  ${NAME}\n`],
  ['as bytes', `${SHA} *${NAME}\n`],
  ['in a folder', `${SHA}  /mnt/a b/${NAME}\n`],
  ['without a line end', `${SHA}  ${NAME}`],
  ['with empty lines', `\n${SHA}  ${NAME}\n\n`],
])('names files %s', async (_, text) => {
  expect(await listOf(text)).toEqual({ files: [FILE], others: [] });
});

it.each([
  `${SHA} ${NAME}`,
  `${SHA.slice(1)}  ${NAME}`,
  `${SHA}0  ${NAME}`,
  `x${SHA}  ${NAME}`,
  `${SHA.toUpperCase()}  ${NAME}`,
  `${SHA}  ${NAME}.gz`,
  `${SHA}  notes.txt`,
  `${SHA}  `,
  ' ',
  '# moved in spring',
])('gives other lines back as they are: %p', async (line) => {
  expect(await listOf(`${line}\n${SHA}  ${NAME}\n`)).toEqual({ files: [FILE], others: [line] });
});

it('tells of a file whether it is there and the same', async () => {
  const folder = await makeFolder();
  expect(await stateOfArchived(folder, FILE)).toBeNull();
  expect(await stateOfArchived(join(folder, 'none'), FILE)).toBeNull();
  writeFileSync(join(folder, NAME), 'x');
  expect(await stateOfArchived(folder, FILE)).toBe('other');
  expect(await stateOfArchived(folder, { ...FILE, sha256: hash('sha256', 'x') })).toBe('same');
});

it('does not take a place that cannot be read for one that has no file', async () => {
  const folder = await makeFolder();
  writeFileSync(join(folder, 'file'), '');
  await expect(stateOfArchived(join(folder, 'file'), FILE)).rejects.toMatchObject({ code: 'ENOTDIR' });
  mkdirSync(join(folder, NAME));
  await expect(stateOfArchived(folder, FILE)).rejects.toMatchObject({ code: 'EISDIR' });
});
