// A data folder that holds something other than a store: refused with a code, and left as it is.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../../../server/db/database.js';

const failure = (attempt: Promise<unknown>): Promise<unknown> =>
  attempt.then(
    () => 'no failure',
    (error: unknown) => error,
  );

describe('a folder that is not a store', () => {
  let folder: string;
  const open = (): Promise<unknown> => failure(openDatabase({ kind: 'embedded', dataDir: folder }));
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'bailiwick-data-'));
  });
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  it('because something else is in it is refused and left as it is', async () => {
    mkdirSync(join(folder, 'store'));
    writeFileSync(join(folder, 'store', 'thesis.txt'), 'irreplaceable');
    expect(await open()).toMatchObject({ name: 'StoreError', code: 'store.corrupt' });
    expect(readdirSync(join(folder, 'store'))).toEqual(['thesis.txt']);
  });

  it('because another version wrote it is refused', async () => {
    writeFileSync(join(folder, 'store', 'PG_VERSION'), '17\n');
    expect(await open()).toMatchObject({ code: 'store.version' });
  });

  it('because it is a file is refused', async () => {
    const file = join(folder, 'store', 'thesis.txt');
    expect(await failure(openDatabase({ kind: 'embedded', dataDir: file }))).toMatchObject({ code: 'store.folder' });
  });
});
