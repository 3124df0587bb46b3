// News of revocations: each names the key on the channel that gateways listen to, and is followed by a wait for those that
// hear nothing.
import { expect, it } from '@jest/globals';
import { announceRevocation, leasesEnded, REVOCATIONS_CHANNEL } from '../../../server/auth/revocation-news.js';
import { KEY_LIMITS } from '../../../server/limits/credentials.js';
import { answerRows } from '../../support/row-answers.js';

it('are sent for the key, where gateways listen', async () => {
  const asked: unknown[] = [];
  const rows = (statement: { readonly text: string; readonly bindings: readonly unknown[] }): Promise<never[]> => {
    asked.push(statement.text, statement.bindings);
    return answerRows()();
  };
  await announceRevocation({ rows }, 'k');
  expect(asked).toEqual(['SELECT pg_notify(?, ?)', [REVOCATIONS_CHANNEL, 'k']]);
  // Gateways of other versions share the store.
  expect(REVOCATIONS_CHANNEL).toBe('bailiwick_keys');
});

it('are over when every lease has ended, also one that began late', async () => {
  const begun = performance.now();
  await leasesEnded();
  // A timer may fire a millisecond early.
  expect(performance.now() - begun).toBeGreaterThan(KEY_LIMITS.lease + KEY_LIMITS.leaseMargin - 2);
});
