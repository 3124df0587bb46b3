// The checkpoints that a gateway signs by itself, and what witnesses make of them.
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { BEGINNING, type Head } from '../../../server/audit/chain.js';
import { originOf, parseCheckpoint } from '../../../server/audit/checkpoint.js';
import { type Checkpoints, keepCheckpoints, type CheckpointSettings } from '../../../server/audit/keep-checkpoints.js';
import { leafHash, makeTree } from '../../../server/signing/merkle.js';
import type { Writer } from '../../../server/audit/writer.js';
import { makeKeyPair, type NewKeyPair, openPrivatePem } from '../../../server/signing/ed25519.js';
import { parseNote, parseWitnessKey } from '../../../server/signing/signed-note.js';
import { archiveLog, eventOf, LOG, logFiles, readLines, writerOf } from '../../support/audit-log.js';
import { keptLog, type LogLine } from '../../support/kept-log.js';
import { makeFolder } from '../../support/temp-folder.js';
import { runCli } from '../../support/run-cli.js';
import { startWitness, type TestWitness } from '../../support/witness.js';
import { until } from '../../support/until.js';

const pair = makeKeyPair();
const key = openPrivatePem(pair.privatePem);
if (key === null) throw new Error('a key pair without a private key');

let folder: string;
let lines: LogLine[];
let writer: Writer;
const witnesses: TestWitness[] = [];
beforeEach(async () => {
  folder = await makeFolder();
  lines = [];
  // Every few events begin another file.
  writer = writerOf(folder, { fileBytes: 2_000 });
});
afterEach(async () => {
  await writer.close();
  await Promise.all(witnesses.splice(0).map((one) => one.stop()));
});

let next = 1;
async function write(events: number): Promise<void> {
  for (let n = 0; n < events; n += 1) {
    expect(writer.add(eventOf((next += 1)))).toBe(true);
    await writer.sync();
  }
}

/** Goes on in the log that is there, as a gateway that starts again does. */
async function restart(): Promise<Head> {
  const head = writer.head();
  await writer.close();
  writer = writerOf(folder, { fileBytes: 2_000, head });
  return head;
}

function keepIn(settings: Partial<CheckpointSettings> = {}): Checkpoints {
  if (key === null) throw new Error('no key');
  return keepCheckpoints({
    ...{ folder, log: LOG, head: () => writer.head(), logger: keptLog(lines), key },
    ...{ witnesses: [], events: 5, look: 5, ...settings },
  });
}

const keep = (settings: Partial<CheckpointSettings> = {}): (() => Promise<void>) => keepIn(settings).end;

const asked = (witness: TestWitness): CheckpointSettings['witnesses'] => {
  const witnessKey = parseWitnessKey(witness.verifierKey);
  if (witnessKey === null) throw new Error('a witness without a key');
  return [{ url: witness.url, key: witnessKey }];
};

const noteOf = (): string => readFileSync(join(folder, `${LOG}.checkpoint`), 'utf8');

/** The size of the checkpoint, which must be signed by our key and have the root of what the files hold. */
function sizeOf(note = noteOf(), { publicKey }: Pick<NewKeyPair, 'publicKey'> = pair, folders = [folder]): number {
  const parsed = parseNote(note);
  expect(parsed?.isSignedBy({ name: originOf(LOG), publicKey })).toBe(true);
  const { size, root } = parseCheckpoint(parsed?.text ?? '') ?? { size: 0, root: null };
  const tree = makeTree();
  for (const line of folders.flatMap((one) => readLines(one)).slice(0, size)) tree.push(leafHash(line));
  expect(root).toEqual(tree.root());
  return size;
}

const messages = (): readonly unknown[] =>
  lines.map(({ level, msg, message, reason }) => [level, msg ?? message, reason]);
const SIGNED = ['info', 'a checkpoint of the audit log was signed', undefined];

it('are signed after so many events and at the end, and say so in the log', async () => {
  const end = keep();
  await write(4);
  await sleep(30);
  expect(lines).toEqual([]);
  await write(3);
  await until(() => lines.length > 0);
  const first = sizeOf();
  expect(first).toBeGreaterThanOrEqual(5);
  expect(lines[0]).toMatchObject({ log: LOG, size: first, checkpoint: noteOf() });
  await write(2);
  await end();
  expect(sizeOf()).toBe(9);
  // Nothing new: nothing to sign.
  await restart();
  await keep()();
  expect(lines.map(({ size }) => size)).toEqual([first, 9]);
});

it('that cannot be written leave no drafts behind, and are written once they can', async () => {
  const place = join(folder, `${LOG}.place`);
  mkdirSync(place);
  const end = keep();
  await write(5);
  await until(() => lines.length > 0);
  rmdirSync(place);
  await until(() => lines.length > 1);
  await end();
  expect(messages()).toEqual([['warn', 'a checkpoint of the audit log could not be written', undefined], SIGNED]);
  expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual([]);
});

it('go on after a start where older files were moved away, from what was kept with the last checkpoint', async () => {
  const elsewhere = await makeFolder();
  await write(20);
  await keep()();
  await restart();
  const [first = '', second = ''] = logFiles(folder);
  for (const path of [first, second]) renameSync(path, join(elsewhere, path.slice(folder.length + 1)));
  await write(6);
  await keep()();
  expect(lines.map(({ size }) => size)).toEqual([20, 26]);
  for (const path of [first, second]) renameSync(join(elsewhere, path.slice(folder.length + 1)), path);
  expect(sizeOf()).toBe(26);
});

it('go on after a crash between the checkpoint and what is kept with it, though older files were moved away', async () => {
  const elsewhere = await makeFolder();
  const place = join(folder, `${LOG}.place`);
  await write(20);
  await keep()();
  const before = readFileSync(place);
  await write(6);
  await keep()();
  const after = readFileSync(place);
  writeFileSync(place, before);
  await restart();
  const [first = ''] = logFiles(folder);
  renameSync(first, join(elsewhere, 'first'));
  await keep()();
  expect(lines.map(({ size }) => size)).toEqual([20, 26]);
  expect(readFileSync(place)).toEqual(after);
  await write(4);
  await keep()();
  expect(lines.map(({ size }) => size)).toEqual([20, 26, 30]);
  renameSync(join(elsewhere, 'first'), first);
  expect(sizeOf()).toBe(30);
});

it('are not signed where what was kept leads to something else than the last one', async () => {
  await write(20);
  await keep()();
  const place = readFileSync(join(folder, `${LOG}.place`), 'utf8');
  await write(6);
  await keep()();
  const last = noteOf();
  // Of an earlier size, and of no tree of this log.
  const other = place.includes('"roots":["A') ? 'B' : 'A';
  writeFileSync(join(folder, `${LOG}.place`), place.replace(/("roots":\[")./, `$1${other}`));
  await restart();
  const [first = ''] = logFiles(folder);
  renameSync(first, join(await makeFolder(), 'first'));
  await write(1);
  await keep()();
  expect(lines.at(-1)).toMatchObject({ level: 'error', reason: expect.stringContaining('is not in the folder') });
  expect(noteOf()).toBe(last);
});

it.each([
  [
    'is gone',
    (path: string): void => {
      rmSync(path);
    },
  ],
  [
    'was changed',
    (path: string): void => {
      writeFileSync(path, readFileSync(path, 'utf8').replace(/[1-9]/, '9'));
    },
  ],
  [
    'is the root alone, of which no tree can grow',
    (path: string): void => {
      const root = noteOf().split('\n')[2] ?? '';
      writeFileSync(path, readFileSync(path, 'utf8').replace(/"roots":\[.*\]/, `"roots":["${root}"]`));
    },
  ],
  [
    'is of another place',
    (path: string): void => {
      writeFileSync(path, readFileSync(path, 'utf8').replace(/"bytes":\d+/, '"bytes":3'));
    },
  ],
])('hold where what was kept with the last one %s', async (_, damage) => {
  await write(9);
  await keep()();
  damage(join(folder, `${LOG}.place`));
  await write(1);
  const end = keep({ events: 1 });
  await end();
  // Bytes that do not end with a line are no lines of the log, and nothing is signed about those.
  const isSigned = lines.length === 2 && lines[1]?.level === 'info';
  if (isSigned) expect(sizeOf()).toBe(10);
  else expect(messages()[1]).toEqual(['error', expect.stringContaining('no checkpoint'), expect.any(String)]);
});

it('are not signed about a log that was written anew, whose hashes fit', async () => {
  await write(9);
  await keep()();
  const note = noteOf();
  await writer.close();
  for (const path of logFiles(folder)) rmSync(path);
  rmSync(join(folder, `${LOG}.place`));
  writer = writerOf(folder, { head: BEGINNING });
  await write(12);
  await keep()();
  expect(messages().slice(1)).toEqual([
    [
      'error',
      'no checkpoint of the audit log is signed: see `bailiwick audit verify`',
      'the log does not begin with the events of its last checkpoint',
    ],
  ]);
  expect(noteOf()).toBe(note);
});

it('of another key are not begun from what the last key has left, and go on once the archived files are back', async () => {
  const others = makeKeyPair();
  const other = openPrivatePem(others.privatePem);
  if (other === null) throw new Error('a key pair without a private key');
  await write(20);
  await keep()();
  const [note, place] = [noteOf(), readFileSync(join(folder, `${LOG}.place`))];
  const elsewhere = await archiveLog(folder);
  await restart();
  await write(6);
  const again = keepIn({ key: other });
  await until(() => lines.length > 1);
  expect(messages().at(-1)).toEqual([
    'error',
    expect.stringContaining('copy them back into the folder'),
    'the file with event 1 is not in the folder',
  ]);
  expect(again.failingSince()).not.toBeNull();
  expect([noteOf(), readFileSync(join(folder, `${LOG}.place`))]).toEqual([note, place]);
  for (const path of logFiles(elsewhere)) copyFileSync(path, join(folder, basename(path)));
  await until(() => lines.length > 2);
  expect(again.failingSince()).toBeNull();
  await again.end();
  expect([messages().at(-1), lines.length, sizeOf(noteOf(), others)]).toEqual([SIGNED, 3, 26]);
});

it('of another key go on from one of all events that was put in the place of the last', async () => {
  const cwd = await makeFolder();
  const cli = async (...args: readonly string[]): Promise<void> => {
    expect(await runCli(args, { cwd })).toMatchObject({ status: 0 });
  };
  await cli('keygen', '-o', 'new.key');
  const other = openPrivatePem(readFileSync(join(cwd, 'new.key'), 'utf8'));
  if (other === null) throw new Error('a file without a private key');
  await write(20);
  await keep()();
  const elsewhere = await archiveLog(folder);
  await restart();
  await write(6);
  const again = keepIn({ key: other });
  await until(() => lines.length > 1);
  expect(lines.at(-1)).toMatchObject({ level: 'error' });
  const to = join(folder, `${LOG}.checkpoint`);
  await cli('audit', 'checkpoint', folder, '--archive', elsewhere, '--key', 'new.key', '-o', to);
  await until(() => again.failingSince() === null);
  await write(5);
  await again.end();
  expect(messages().slice(2)).toEqual([SIGNED]);
  expect(sizeOf(noteOf(), other, [elsewhere, folder])).toBe(31);
});

it('are signed by a witness, each as the growth of the one before', async () => {
  const witness = await startWitness('witness.example/w1');
  witnesses.push(witness);
  const end = keep({ witnesses: asked(witness), events: 1 });
  for (const events of [1, 2, 4, 7, 1, 16]) {
    await write(events);
    const { seq } = writer.head();
    await until(() => lines.some(({ size, level }) => size === seq && level === 'info'));
    expect(sizeOf()).toBe(seq);
    expect(noteOf()).toMatch(/\n\u2014 witness\.example\/w1 [A-Za-z0-9+/=]+\n$/);
    expect(witness.signed.get(originOf(LOG))?.size).toBe(seq);
  }
  await end();
  // What it has signed is known after a start, too.
  await restart();
  await write(3);
  await keep({ witnesses: asked(witness) })();
  expect(new Set(witness.answers)).toEqual(new Set([200]));
  expect(witness.signed.get(originOf(LOG))?.size).toBe(34);
  // If it is not, the witness says it.
  rmSync(join(folder, `${LOG}.place`));
  await restart();
  await write(3);
  await keep({ witnesses: asked(witness) })();
  expect(witness.answers.slice(-2)).toEqual([409, 200]);
  expect(witness.signed.get(originOf(LOG))?.size).toBe(37);
});

it('are signed by a witness that was away, though what it has missed was archived and the gateway starts again', async () => {
  const [here, away] = [await startWitness('w.example/here'), await startWitness('w.example/away')];
  witnesses.push(here, away);
  const settings = { witnesses: [...asked(here), ...asked(away)] };
  await write(11);
  await keep(settings)();
  away.answer = 503;
  const place = join(folder, `${LOG}.place`);
  let before = readFileSync(place);
  for (const events of [9, 14, 3]) {
    await write(events);
    before = readFileSync(place);
    await keep(settings)();
    await restart();
  }
  // As a crash leaves it before what is kept with the checkpoint is written.
  writeFileSync(place, before);
  await keep(settings)();
  await archiveLog(folder);
  away.answer = null;
  for (const size of [43, 49]) {
    await write(6);
    await keep(settings)();
    expect(noteOf()).toContain('w.example/away');
    expect([here, away].map(({ signed }) => signed.get(originOf(LOG))?.size)).toEqual([size, size]);
  }
  expect(here.answers).toEqual([200, 200, 200, 200, 409, 200, 200]);
  expect(away.answers).toEqual([200, 503, 503, 503, 200, 200]);
});

it('need archived files only where nobody knows how the log has grown since a witness signed it', async () => {
  const witness = await startWitness('w.example/w');
  witnesses.push(witness);
  const settings = { witnesses: asked(witness) };
  await write(11);
  await keep(settings)();
  // What it has signed is changed in what was kept, so that is not believed.
  const place = join(folder, `${LOG}.place`);
  const [first = '', second = ''] = readFileSync(place, 'utf8').split('\n');
  const other = second.includes('"roots":["A') ? 'B' : 'A';
  writeFileSync(place, `${first}\n${second.replace(/("roots":\[")./, `$1${other}`)}\n`);
  await keep()();
  expect(readFileSync(place, 'utf8')).toBe(`${first}\n`);
  await write(15);
  await keep()();
  const elsewhere = await archiveLog(folder);
  await write(6);
  await keep(settings)();
  const reason = 'the file with event 1 is not in the folder: copy it back until the witness has signed';
  expect(lines.at(-2)).toMatchObject({ level: 'error', message: expect.stringContaining('a witness has not'), reason });
  expect(lines.at(-1)).toMatchObject({ level: 'info', size: 32 });
  for (const path of logFiles(elsewhere)) copyFileSync(path, join(folder, basename(path)));
  await write(1);
  await keep(settings)();
  expect(noteOf()).toContain('w.example/w');
  expect(witness.answers).toEqual([200, 409, 409, 200]);
});

it('are signed by others while a witness is away, which then takes all that it has missed', async () => {
  const [here, away] = [await startWitness('w.example/here'), await startWitness('w.example/away')];
  witnesses.push(here, away);
  const both = [...asked(here), ...asked(away)];
  await write(3);
  await keep({ witnesses: both })();
  away.answer = 503;
  await write(3);
  await keep({ witnesses: both })();
  expect(noteOf()).toContain('w.example/here');
  expect(noteOf()).not.toContain('w.example/away');
  expect(lines.filter(({ level }) => level === 'warn')).toMatchObject([
    {
      message: 'a witness has not signed the checkpoint of the audit log',
      witness: 'w.example/away',
      reason: 'it answers 503',
    },
  ]);
  away.answer = null;
  await write(5);
  await keep({ witnesses: both })();
  expect(noteOf()).toContain('w.example/away');
  expect([here, away].map(({ signed }) => signed.get(originOf(LOG))?.size)).toEqual([11, 11]);
});

it.each([
  ['other events', 12, 'the log does not begin with what it has signed before'],
  ['more events', 3, 'it has signed 9 events before'],
  ['as many other events', 9, 'it has signed another checkpoint of this size'],
])('are reported where a witness has signed %s', async (_, events, reason) => {
  const witness = await startWitness('w.example/w');
  witnesses.push(witness);
  await write(9);
  await keep({ witnesses: asked(witness) })();
  await writer.close();
  // Whoever has all files can write all of them anew.
  for (const path of [...logFiles(folder), join(folder, `${LOG}.place`), join(folder, `${LOG}.checkpoint`)])
    rmSync(path);
  writer = writerOf(folder, { head: BEGINNING });
  await write(events);
  await keep({ witnesses: asked(witness) })();
  expect(lines.filter(({ level }) => level === 'error')).toMatchObject([
    { message: 'a witness contradicts the checkpoint of the audit log: see `bailiwick audit verify`', reason },
  ]);
});

it('take no signature but a true one of the witness itself', async () => {
  const [witness, other] = [await startWitness('w.example/w'), await startWitness('w.example/w')];
  witnesses.push(witness, other);
  await write(2);
  // The name is right, and the key is that of another.
  const settings = [{ url: witness.url, key: asked(other)[0]?.key ?? { name: '', publicKey: new Uint8Array() } }];
  await keep({ witnesses: settings })();
  expect(noteOf()).not.toContain('w.example/w');
  expect(lines[0]).toMatchObject({ level: 'warn', reason: 'its answer has no signature of its key' });
  expect(SIGNED).toEqual(messages()[1]);
});
