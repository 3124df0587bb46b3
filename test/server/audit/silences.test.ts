// When a gateway recorded no queries.
import { describe, expect, it } from '@jest/globals';
import { type Instant, instantOf } from '../../../engine/index.js';
import type { Recording } from '../../../server/audit/event.js';
import { makeSilences, type Silence } from '../../../server/audit/silences.js';
import { storedOf } from '../../support/audit-log.js';

type Done = readonly [at: number, queries: Recording['queries'] | 'old' | 'stop' | 'other', log?: string];

const textOf = (at: number): string => new Date(at).toISOString();

function silencesOf(done: readonly Done[], asked: { readonly since?: number; readonly until?: number } = {}): unknown {
  const instant = (at: number | undefined): Instant | null => (at === undefined ? null : instantOf(at));
  const silences = makeSilences({ since: instant(asked.since), until: instant(asked.until) });
  for (const [at, what, log] of done) {
    const operation = what === 'stop' ? 'gateway.stop' : what === 'other' ? 'policy.activate' : 'gateway.start';
    const isTold = what === 'all' || what === 'denied' || what === 'none';
    const recording = isTold ? { recording: { queries: what, records: 'set' as const } } : {};
    silences.see(storedOf({ at: instantOf(at), kind: 'admin', operation, outcome: 'allowed', ...recording }, log));
  }
  return silences.all();
}

const silence = (
  from: number,
  until: number | null,
  queries: Silence['queries'] = 'none',
  log = 'testlog',
): Silence => ({
  ...{ log, queries, from: textOf(from) },
  until: until === null ? null : textOf(until),
});

describe('a silence', () => {
  it('lasts from a start that records fewer queries to the next start or stop', () => {
    expect(silencesOf([])).toEqual([]);
    expect(
      silencesOf([
        [1, 'all'],
        [2, 'old'],
        [3, 'stop'],
      ]),
    ).toEqual([]);
    expect(
      silencesOf([
        [1, 'none'],
        [2, 'other'],
        [3, 'stop'],
        [4, 'stop'],
      ]),
    ).toEqual([silence(1, 3)]);
    expect(
      silencesOf([
        [1, 'denied'],
        [2, 'none'],
        [3, 'all'],
      ]),
    ).toEqual([silence(1, 2, 'denied'), silence(2, 3)]);
    expect(
      silencesOf([
        [1, 'none'],
        [2, 'old'],
      ]),
    ).toEqual([silence(1, 2)]);
  });

  it('goes on to the end of its log, and into no other one', () => {
    expect(
      silencesOf([
        [1, 'none'],
        [2, 'other'],
      ]),
    ).toEqual([silence(1, null)]);
    expect(
      silencesOf([
        [1, 'none', 'one'],
        [2, 'other', 'two'],
        [3, 'stop', 'two'],
      ]),
    ).toEqual([silence(1, null, 'none', 'one')]);
  });

  it('is told where it overlaps the time that is asked about', () => {
    const done: readonly Done[] = [
      [10, 'none'],
      [20, 'stop'],
    ];
    const all = [silence(10, 20)];
    expect(silencesOf(done, { since: 20 })).toEqual([]);
    expect(silencesOf(done, { since: 19 })).toEqual(all);
    expect(silencesOf(done, { until: 10 })).toEqual([]);
    expect(silencesOf(done, { until: 11 })).toEqual(all);
    expect(silencesOf(done, { since: 1, until: 30 })).toEqual(all);
    expect(silencesOf(done.slice(0, 1), { since: 30 })).toEqual([silence(10, null)]);
  });
});
