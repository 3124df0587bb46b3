// What the writer of a log does with files.
import { readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { systemFiles } from '../../../server/audit/file-layer.js';
import { makeFolder } from '../../support/temp-folder.js';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await makeFolder();
  path = join(folder, 'log');
});

describe('a file of a log', () => {
  it('is new, for its owner alone, grows at its end, and is cut', async () => {
    const file = await systemFiles.create(path);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect([await file.append(Buffer.from('one')), await file.append(Buffer.from('two'))]).toEqual([3, 3]);
    await file.sync();
    await file.truncate(4);
    await file.append(Buffer.from('!'));
    await file.sync();
    expect(readFileSync(path, 'utf8')).toBe('onet!');
    await file.close();
    await expect(file.append(Buffer.from('x'))).rejects.toThrow();
    await expect(systemFiles.create(path)).rejects.toMatchObject({ code: 'EEXIST' });
  });

  it('is synced with its folder the first time, and needs no folder after that', async () => {
    const at = join(await makeFolder({ 'in/other': '' }), 'in');
    const [lost, known] = [await systemFiles.create(join(at, 'lost')), await systemFiles.create(join(at, 'known'))];
    await known.sync();
    rmSync(at, { recursive: true });
    await known.sync();
    await expect(lost.sync()).rejects.toMatchObject({ code: 'ENOENT' });
    await Promise.all([lost.close(), known.close()]);
  });

  it('is in place until it is moved, removed or another one is there', async () => {
    const file = await systemFiles.create(path);
    expect(await file.isInPlace()).toBe(true);
    renameSync(path, `${path}.away`);
    expect(await file.isInPlace()).toBe(false);
    writeFileSync(path, '');
    expect(await file.isInPlace()).toBe(false);
    renameSync(`${path}.away`, path);
    expect(await file.isInPlace()).toBe(true);
    await file.close();
  });

  it('is like another one of as many bytes that ends alike', async () => {
    writeFileSync(path, 'one two');
    const isLike = (bytes: number, end: string): Promise<boolean> =>
      systemFiles.isLike(path, { bytes, end: Buffer.from(end) });
    expect([await isLike(7, 'two'), await isLike(7, 'one two'), await isLike(7, 'one')]).toEqual([true, true, false]);
    expect([await isLike(6, 'tw'), await isLike(8, 'wo'), await isLike(3, 'one')]).toEqual([false, false, false]);
    const open = readdirSync('/dev/fd').length;
    for (let n = 0; n < 20; n += 1) await isLike(7, 'two');
    expect(readdirSync('/dev/fd').length).toBeLessThan(open + 20);
    symlinkSync(path, `${path}.link`);
    await expect(systemFiles.isLike(`${path}.link`, { bytes: 7, end: Buffer.from('two') })).rejects.toMatchObject({
      code: 'ELOOP',
    });
  });

  it('is set aside under names of its own', async () => {
    for (const text of ['one', 'two']) {
      writeFileSync(path, text);
      await systemFiles.setAside(path);
    }
    const names = readdirSync(folder);
    expect(names).toEqual([
      expect.stringMatching(/^log\.[0-9a-f]{8}\.late$/),
      expect.stringMatching(/^log\..*\.late$/),
    ]);
    expect(names.map((name) => readFileSync(join(folder, name), 'utf8')).sort()).toEqual(['one', 'two']);
  });
});
