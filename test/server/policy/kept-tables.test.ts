// Tables that a gateway keeps beside its store: used when their hash is the one in the store, and otherwise not, whatever
// is in their place. The policy is the same in either case.
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { decide, instantOf, LOCAL_ACTOR, type Policy } from '../../../engine/index.js';
import { keptTables, type KeptTables } from '../../../server/policy/store/kept-tables.js';
import { storedSnapshots } from '../../../server/policy/store/stored-snapshots.js';
import { writeTableInThread } from '../../../server/policy/open/snapshot-thread.js';
import { openStored } from '../../../server/policy/open/open-stored.js';
import { tableFile } from '../../../server/policy/open/table-file.js';
import { codeDigest } from '../../../server/lib/version.js';
import { STORED_LIMITS } from '../../../server/limits/policy.js';
import { pathOf, snapshotOf, type TestGrant } from '../../support/gateway.js';
import { fromRoot } from '../../support/root.js';
import { describeOnStores } from '../../support/stores.js';
import { makeFolder } from '../../support/temp-folder.js';
import { times } from '../../support/test-runs.js';
import { until } from '../../support/until.js';

const clock = { now: () => instantOf(Date.parse('2027-01-01T12:00:00Z')) };
/** Large enough to be opened on a thread. */
const make = (top: string): ReturnType<typeof snapshotOf> =>
  snapshotOf(
    Array.from({ length: 400 }, (_, i): TestGrant => [
      { provider: 'orcid', subject: `p${String(i)}` },
      `/${top}/n${String(i)}`,
      ['resource:read'],
    ]),
  );
const [A, B] = [make('a'), make('b')];

function decisionsOf(policy: Policy): readonly string[] {
  return ['a', 'b'].flatMap((top) =>
    [0, 1, 399].map((i) => {
      const actor = {
        ...LOCAL_ACTOR,
        kind: 'request',
        identities: [{ provider: 'orcid', subject: `p${String(i)}` }],
      } as const;
      const target = pathOf(`/${top}/n${String(i)}`);
      const request = { kind: 'access', scope: 'resource:read', context: target, target } as const;
      return JSON.stringify(decide(policy, { actor, request, at: clock.now() }));
    }),
  );
}

describeOnStores('kept tables', (store) => {
  let folder: string;
  let lines: { readonly text: string; readonly reason: unknown }[] = [];
  const line = (fields: Readonly<Record<string, unknown>>, text: string): void =>
    void lines.push({ text, reason: fields['reason'] });
  const log = { info: line, warn: line, error: line };
  const tables = (more: Partial<Parameters<typeof keptTables>[0]> = {}): KeptTables =>
    keptTables({ db: store.db, folder, log, leastBytes: 0, ...more });

  /** A new process: opens from the store, then keeps the table. Says how it was opened. */
  async function open(made: typeof A, own = tables()): Promise<string> {
    lines = [];
    const snapshots = storedSnapshots(store.db);
    const options = { snapshots, rule: null, clock, envelope: null, inForce: null, tables: own };
    const { policy } = await openStored(made.policy.digest, options);
    expect({ ...policy }).toEqual({ ...made.policy });
    expect(decisionsOf(policy)).toEqual(decisionsOf(made.policy));
    const [{ text, reason } = { text: 'opened in full', reason: undefined }] = lines;
    await own.keep(policy);
    return typeof reason === 'string' ? reason : text;
  }

  beforeEach(async () => {
    folder = join(await makeFolder(), 'tables');
    for (const { policy, bytes } of [A, B])
      await storedSnapshots(store.db).put({ policy, bytes, labels: 'verified', statement: null, at: clock.now() });
  });
  afterEach(() => store.db.knex('snapshots').del());

  const FULL = 'opened in full';
  const TABLE = 'the policy was opened from its kept table';
  const UNKNOWN =
    'a kept table has no hash in the store, so the snapshot was opened instead: its gateway ended before it noted the hash, or another build noted its own since';
  const fileOf = (made: typeof A): string => tableFile(folder, made.policy.digest);

  it('save the next start the work, and are for the eyes of the gateway alone', async () => {
    expect(await open(A)).toBe(FULL);
    expect(statSync(fileOf(A)).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(await open(A)).toBe(TABLE);
    expect(await open(B)).toBe(FULL);
    expect([await open(A), await open(B)]).toEqual([TABLE, TABLE]);
  });

  it('are kept later by a disk that does not take them now, for which nothing waits long', async () => {
    let free: () => void = () => undefined;
    const disk = new Promise<void>((resolve) => (free = resolve));
    const own = tables({ patience: 200, write: (table, signal) => disk.then(() => writeTableInThread(table, signal)) });
    expect(await open(A, own)).toBe(FULL);
    expect(lines.at(-1)?.text).toContain('the disk has not taken the table of the policy yet');
    expect(existsSync(fileOf(A))).toBe(false);
    free();
    await until(() => lines.some(({ text }) => text.includes('is kept for the next time')));
    expect(await open(A)).toBe(TABLE);
    expect(await own.close()).toBe(true);
  });

  it('say at the end of the gateway that its disk still has to take one', async () => {
    const own = tables({ patience: 200, write: () => new Promise(() => undefined) });
    await open(A, own);
    expect(await own.close()).toBe(false);
  });

  it('are not waited for long where the disk hangs, of which the end of the gateway is told', async () => {
    expect(await open(A)).toBe(FULL);
    const hung = tables({ read: () => new Promise(() => undefined), readingTime: 100, patience: 100, isReader: true });
    const late = 'the file was not read in time: its disk does not answer';
    expect([await open(A, hung), await open(A, hung)]).toEqual([late, late]);
    expect(await hung.close()).toBe(false);
    expect(await open(A)).toBe(TABLE);
  });

  it('are not used if anything of the file was changed, and are replaced then', async () => {
    await open(A);
    const good = readFileSync(fileOf(A));
    const hash = 'the file has another hash than the store has for it';
    for (let part = 0; part <= 20; part += times({ usual: 5, deep: 1 })) {
      const bad = Buffer.from(good);
      const at = Math.min(Math.floor((good.length * part) / 20), good.length - 1);
      bad[at] = (bad[at] ?? 0) ^ 1;
      writeFileSync(fileOf(A), bad);
      expect([part, await open(A)]).toEqual([part, hash]);
      expect(readFileSync(fileOf(A)).equals(good)).toBe(true);
    }
    const size = (bytes: number): string => `the file has ${String(bytes)} bytes instead of ${String(good.length)}`;
    for (const [bad, reason] of [
      [Buffer.alloc(0), size(0)],
      [good.subarray(0, -1), size(good.length - 1)],
      [Buffer.concat([good, Buffer.of(0)]), size(good.length + 1)],
      [Buffer.alloc(good.length), hash],
    ] as const) {
      writeFileSync(fileOf(A), bad);
      expect(await open(A)).toBe(reason);
      expect(await open(A)).toBe(TABLE);
    }
  });

  it('are not used if the table of another snapshot, or one of unknown origin, is under the name', async () => {
    await open(B);
    const other = readFileSync(fileOf(B));
    writeFileSync(fileOf(A), other);
    expect(await open(A)).toBe(UNKNOWN);
    writeFileSync(fileOf(A), other);
    expect(await open(A)).toMatch(/^the file has another hash|^the file has \d+ bytes instead of/);
    // A hash that somebody wrote into the store beside the wrong table does not help either: the table says whose it is.
    const seal = `${String(other.length)} ${createHash('sha256').update(other).digest('hex')}`;
    const { digest: snapshot } = A.policy;
    const [row] = await store.db.knex<{ snapshot: string; derived_table: string }>('snapshots').where({ snapshot });
    const [form = ''] = (row?.derived_table ?? '').split(' ');
    await store.db
      .knex('snapshots')
      .where({ snapshot })
      .update({ derived_table: `${form} ${seal}` });
    writeFileSync(fileOf(A), other);
    expect(await open(A)).toBe('the file is not the table of the snapshot in its name');
    expect(await open(A)).toBe(TABLE);
  });

  it('are not used in another form, or if the store does not know them any more', async () => {
    await open(A);
    const { digest: snapshot } = A.policy;
    const [row] = await store.db.knex<{ snapshot: string; derived_table: string }>('snapshots').where({ snapshot });
    const seal = row?.derived_table ?? '';
    for (const wrong of [null, '', 'nonsense', seal.replace('1-', '0-'), seal.replace(/-le|-be/, '-xe'), `${seal} 1`]) {
      await store.db.knex('snapshots').where({ snapshot }).update({ derived_table: wrong });
      expect(await open(A)).toBe(UNKNOWN);
      expect(await open(A)).toBe(TABLE);
    }
  });

  it('are not used by another build of the same version', async () => {
    const engine = join(await makeFolder(), 'engine');
    cpSync(fromRoot('dist/engine'), engine, { recursive: true });
    const own = codeDigest(engine);
    expect(fileOf(A).endsWith(`-${own}.table`)).toBe(true);
    appendFileSync(join(engine, 'table', 'build.js'), '\n');
    const changed = codeDigest(engine);
    renameSync(join(engine, 'table', 'build.js'), join(engine, 'table', 'made.js'));
    expect(new Set([own, changed, codeDigest(engine)]).size).toBe(3);
  });

  it('are not used through a link, and nothing else in their place stops a start', async () => {
    await open(A);
    const elsewhere = join(folder, 'elsewhere');
    writeFileSync(elsewhere, readFileSync(fileOf(A)));
    rmSync(fileOf(A));
    symlinkSync(elsewhere, fileOf(A));
    expect(await open(A)).toBe('the file is a symbolic link');
    expect(await open(A)).toBe(TABLE);
    rmSync(fileOf(A));
    execFileSync('mkfifo', [fileOf(A)]);
    expect(await open(A)).toBe('the file is not a regular file');
    expect(await open(A)).toBe(TABLE);
    rmSync(fileOf(A));
    mkdirSync(fileOf(A));
    expect(await open(A)).toBe('the file is not a regular file');
    expect(lines.at(-1)?.text).toContain('could not be kept');
  });

  it('are not kept where nothing can be written, which is said once', async () => {
    writeFileSync(folder, 'a file');
    const own = tables();
    await open(A, own);
    expect(lines.map(({ text }) => text)).toEqual([expect.stringContaining('let the gateway write this file')]);
    await open(B, own);
    expect(lines).toEqual([]);
    expect(await open(A)).toBe(FULL);
  });

  it('are not kept of small policies, by readers, or after the end', async () => {
    await open(A, tables({ leastBytes: STORED_LIMITS.leastTableBytes }));
    await open(A, tables({ isReader: true }));
    const ended = tables();
    await ended.close();
    await open(A, ended);
    expect(existsSync(folder)).toBe(false);
  });

  it('go with snapshots that were not used lately, and with drafts of those who died; other files stay', async () => {
    await open(A);
    const old = `${'0'.repeat(64)}.0-le-0.0.0.table`;
    const draft = `.${'0'.repeat(64)}.1-le-0.0.0.table.0123456789ab.tmp`;
    for (const name of [old, draft, 'README']) writeFileSync(join(folder, name), 'x');
    await open(B);
    expect(existsSync(join(folder, draft))).toBe(true);
    expect(existsSync(join(folder, old))).toBe(false);
    // Also where nothing can be written, as on a full disk.
    rmSync(fileOf(B));
    mkdirSync(fileOf(B));
    writeFileSync(join(folder, old), 'x');
    await open(B);
    expect(lines.at(-1)?.text).toContain('could not be kept');
    expect(existsSync(join(folder, old))).toBe(false);
    rmSync(fileOf(B), { recursive: true });
    await open(B);
    expect(readdirSync(folder)).toContain('README');
    expect([await open(A), await open(B)]).toEqual([TABLE, TABLE]);
  });
});
