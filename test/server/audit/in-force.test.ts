// Which policy was in force, of logs that no gateway writes.
import { expect, it } from '@jest/globals';
import { instantOf } from '../../../engine/index.js';
import { BEGINNING, link } from '../../../server/audit/chain.js';
import { policiesInForce } from '../../../server/audit/in-force.js';
import { eventOf, LOG, logOf } from '../../support/audit-log.js';

it('a start at a time that is none says of no instant what was in force', async () => {
  const start = eventOf(1, { kind: 'admin', operation: 'gateway.start', outcome: 'allowed' });
  const folder = await logOf([link({ ...start, time: 'yesterday' }, LOG, BEGINNING).line]);
  expect(await policiesInForce(folder, instantOf(9_000))).toMatchObject({
    ...{ malformed: 0, logs: [{ log: LOG, event: null, ended: null }] },
  });
});
