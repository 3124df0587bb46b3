// What is kept of histories stays within its bound: what was not used for longest goes, whichever version of the program wrote it.
import { existsSync, readdirSync, utimesSync, writeFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { keepIn } from '../../../server/policy/history/kept-answers.js';
import { makeFolder } from '../../support/temp-folder.js';

const FAULT = { kind: 'fault', fault: { code: 'x', message: 'y' } } as const;

function fail(code: string): void {
  throw new Error(code);
}

function filesIn(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile()).length;
}

it('keeps what was used last, if there is too much', async () => {
  const folder = await makeFolder();
  const old = join(folder, 'history', '0-0.0.1', 'aa', 'tree-aa.json');
  mkdirSync(join(old, '..'), { recursive: true });
  writeFileSync(old, 'of another version');
  utimesSync(old, 1, 1);
  const open = (): ReturnType<typeof keepIn> => keepIn({ folder, version: '1', maxBytes: 40 * 4096, onFailure: fail });
  const many = open();
  for (let i = 0; i < 39; i += 1) await many.trees.put(`${String(i)}a`, FAULT);
  await many.close();
  expect(filesIn(folder)).toBe(40);
  const used = Date.now() / 1000 + 60;
  utimesSync(join(folder, 'history', '1-1', '7a', 'tree-7a.json'), used, used);
  const more = open();
  await more.trees.put('last', FAULT);
  await more.close();
  expect(filesIn(folder)).toBe(30);
  expect(existsSync(old)).toBe(false);
  expect(await more.trees.get('7a')).toEqual(FAULT);
  expect(await more.trees.get('last')).toEqual(FAULT);
});

it('removes nothing if it has only read, and nothing that is not kept here', async () => {
  const folder = await makeFolder({ 'other.json': 'x' });
  const kept = keepIn({ folder, version: '1', maxBytes: 0, onFailure: () => undefined });
  await kept.trees.put('one', FAULT);
  await keepIn({ folder, version: '1', maxBytes: 0, onFailure: () => undefined }).close();
  expect(filesIn(folder)).toBe(2);
  await kept.close();
  expect(readdirSync(folder).sort()).toEqual(['history', 'other.json']);
  expect(filesIn(folder)).toBe(1);
});
