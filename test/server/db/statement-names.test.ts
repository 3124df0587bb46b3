// Which statements are prepared: those that come again, and never more than a connection should hold.
import { describe, expect, it } from '@jest/globals';
import { makeStatementNames } from '../../../server/db/statement-names.js';

describe('the names of statements', () => {
  it('are given from the third time on, and stay', () => {
    const nameOf = makeStatementNames();
    expect([nameOf('a'), nameOf('a')]).toEqual([null, null]);
    const name = nameOf('a');
    expect(name).not.toBeNull();
    for (let index = 0; index < 1_000; index += 1) nameOf(`other ${String(index)}`);
    expect(nameOf('a')).toBe(name);
  });

  it('differ, and end where the texts are 160,000 characters: what comes later goes without', () => {
    const nameOf = makeStatementNames();
    const given = new Set<string>();
    for (let round = 0; round < 4; round += 1) {
      for (let index = 0; index < 200; index += 1) {
        const name = nameOf(`text ${String(index).padStart(4_000)}`);
        if (name !== null) given.add(name);
      }
    }
    expect(given.size).toBe(39);
  });

  it('are not given to long texts, of which one would take megabytes on every connection', () => {
    const nameOf = makeStatementNames();
    for (let times = 0; times < 5; times += 1) expect(nameOf('x'.repeat(16_001))).toBeNull();
  });

  it('are not given to what came long ago: texts that never come again push it out', () => {
    const nameOf = makeStatementNames();
    nameOf('rare');
    nameOf('rare');
    for (let index = 0; index < 300; index += 1) nameOf(`once ${String(index)}`);
    expect(nameOf('rare')).toBeNull();
  });
});
