// The files of logs in order, with those that were moved to an archive.
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Fault } from '../../../server/audit/check-chain.js';
import { findParts, type LogPart, skippedTo } from '../../../server/audit/log-parts.js';
import { LOG } from '../../support/audit-log.js';
import { makeFolder } from '../../support/temp-folder.js';

const nameOf = (first: number, log = LOG): string => `${log}.${String(first).padStart(15, '0')}.jsonl`;
const listed = (first: number, log = LOG): string =>
  `${hash('sha256', `${log}${String(first)}`)}  ${nameOf(first, log)}\n`;
const partOf = (at: string, first: number, log = LOG): LogPart => ({ log, first, path: join(at, nameOf(first, log)) });

let folder: string;
beforeEach(async () => {
  const list = [listed(4), listed(7), listed(1), listed(2), 'none\n', listed(6, 'other'), listed(1, 'away')].join('');
  const files = { [nameOf(4)]: '4', [nameOf(7)]: '7', [nameOf(1, 'other')]: '1', [nameOf(9, 'other')]: '9' };
  folder = await makeFolder({ ...files, 'archived.sha256': list });
});

async function find(
  archive: string | null,
): Promise<{ parts: unknown; unread: readonly string[]; faults: readonly Fault[] }> {
  const faults: Fault[] = [];
  const { parts, unread } = await findParts(folder, { archive, report: (fault) => faults.push(fault) });
  return { parts: Object.fromEntries(parts), unread, faults };
}

const UNKNOWN = {
  log: null,
  seq: 1,
  kind: 'archived',
  text: 'archived.sha256 has a line that names no file of a log: none',
};

describe('the files of a log', () => {
  it('begin behind those that are listed and not read, wherever these are missing', async () => {
    expect(await find(null)).toEqual({
      parts: {
        [LOG]: [{ skipTo: 3 }, partOf(folder, 4), partOf(folder, 7)],
        other: [partOf(folder, 1, 'other'), { skipTo: 8 }, partOf(folder, 9, 'other')],
        away: [],
      },
      unread: [nameOf(6, 'other'), nameOf(1), nameOf(2), nameOf(1, 'away')],
      faults: [UNKNOWN],
    });
  });

  it('are those of the archive, too, in order; what is not there or was changed is a fault', async () => {
    const archive = await makeFolder({
      [nameOf(1)]: `${LOG}1`,
      [nameOf(6, 'other')]: 'changed',
      [nameOf(1, 'away')]: 'away1',
    });
    const fault = (first: number, how: string, log = LOG): object => ({
      ...{ log, seq: first, kind: 'archived', text: `${join(archive, nameOf(first, log))} ${how}` },
    });
    const { parts, unread, faults } = await find(archive);
    expect(parts).toMatchObject({
      [LOG]: [partOf(archive, 1), partOf(folder, 4), partOf(folder, 7)],
      other: [partOf(folder, 1, 'other'), partOf(archive, 6, 'other'), partOf(folder, 9, 'other')],
      away: [partOf(archive, 1, 'away')],
    });
    expect([unread, faults]).toEqual([
      [],
      [
        UNKNOWN,
        fault(6, 'was changed: it does not have the digest in archived.sha256', 'other'),
        fault(2, 'is not there'),
      ],
    ]);
  });

  it('are left out up to the last of the places where they are elsewhere', () => {
    expect([skippedTo([]), skippedTo([partOf('/', 1)])]).toEqual([0, 0]);
    expect(skippedTo([{ skipTo: 3 }, partOf('/', 4), { skipTo: 8 }, partOf('/', 9)])).toBe(8);
  });
});
