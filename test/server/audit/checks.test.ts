// Which requests are refused while the log cannot be written, and what a gateway records of its own life.
import { describe, expect, it } from '@jest/globals';
import { type AuditFault, makeChecks, recordLife, type TrailState } from '../../../server/audit/trail.js';

const STATES: readonly TrailState[] = ([null, 'files', 'owner', 'full'] as const).flatMap((unwritten) =>
  ([null, 'files', 'store'] as const).map((behind) => ({ unwritten, behind })),
);

function refusal(check: () => void): unknown {
  try {
    check();
    return null;
  } catch (error) {
    return error;
  }
}

const problem = (fault: AuditFault | null): unknown =>
  fault === null
    ? null
    : expect.objectContaining({
        ...{ code: 'audit.unavailable', detail: expect.objectContaining({ retryAfter: 1 }) },
        title: expect.stringContaining(
          {
            files: 'files of the audit log cannot',
            store: 'the store does not give',
            owner: 'owns the audit log',
            full: 'too many events wait',
          }[fault],
        ),
      });

describe('a log that cannot be written', () => {
  it.each([
    ['refuse', 'all', true],
    ['refuse', 'denied', false],
    ['refuse', 'none', false],
    ['continue', 'all', false],
  ] as const)('with `%s` and queries `%s`: queries are refused: %s', (onFailure, queries, isSo) => {
    for (const state of STATES) {
      const { checkQueries, checkCommands, fault } = makeChecks({ queries, onFailure }, () => state);
      const ofQueries = isSo ? state.unwritten : null;
      expect([refusal(checkQueries), refusal(checkCommands)]).toEqual([problem(ofQueries), problem(state.behind)]);
      expect(fault()).toBe(ofQueries ?? state.behind);
    }
  });
});

describe('the life of a gateway', () => {
  it('is recorded: each policy that decides with where it came from, and the end', () => {
    const recorded: unknown[] = [];
    const listeners: ((change: { to: typeof one }) => void)[] = [];
    const one = {
      ...{ reason: 'first', generation: 3, signers: ['ana'], askedBy: 'ana', policy: { digest: 'sha256:1' } },
      ...({ source: { kind: 'file', path: '/srv/policy.json' }, statement: null } as const),
    };
    let now = one;
    const end = recordLife(
      { recordOwn: (...parts) => void recorded.push(parts) },
      {
        current: () => now,
        subscribe: (listener) => {
          listeners.push(listener);
          return () => undefined;
        },
      },
    );
    now = { ...one, reason: 'second', policy: { digest: 'sha256:2' } };
    for (const tell of listeners) tell({ to: now });
    end();
    const policy = { generation: 3, signers: ['ana'], askedBy: 'ana' };
    expect(recorded).toMatchObject([
      ['gateway.start', { snapshot: 'sha256:1', policy }],
      ['policy.activate', { snapshot: 'sha256:2', policy: { ...policy, reason: 'second' } }],
      ['gateway.stop', { snapshot: 'sha256:2' }],
    ]);
    expect(recorded[0]).not.toMatchObject([{}, { policy: { reason: expect.anything() } }]);
  });
});
