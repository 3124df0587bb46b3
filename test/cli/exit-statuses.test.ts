// How a command and a gateway end that fail for the store or for the audit log: one status for each code. What mends
// itself is 10, and a supervisor tries again; everything else is for somebody to mend.
import { expect, test } from '@jest/globals';
import { AuditError } from '../../server/audit/audit-error.js';
import { auditFailure, type ExitStatus } from '../../server/cli/exit.js';
import { statusOfGateway, statusOfStore } from '../../server/cli/open-store.js';
import type { StoreErrorCode } from '../../server/db/failures.js';

/** Where they differ, the command's first. */
const STORE: Readonly<Record<StoreErrorCode, ExitStatus | readonly [ExitStatus, ExitStatus]>> = {
  'store.url': 2,
  'store.unreachable': 10,
  'store.refused': 6,
  'store.pooler': 6,
  'store.tls': 6,
  'store.full': [6, 10],
  'store.locked': 10,
  'store.folder': 6,
  'store.socket': 6,
  'store.unsupported': 6,
  'store.version': 6,
  'store.corrupt': 8,
  'store.silent': 10,
  'store.replaced': 10,
  'store.start': 6,
  'store.foreign': 6,
  'store.busy': 10,
  'store.timeout': 10,
  'store.connections': 10,
  'store.failed': 10,
  'store.read_only': [6, 10],
  'store.rights': 6,
  'store.grants': 6,
  'store.closed': 6,
  'store.not_committed': 1,
};

test.each(Object.entries(STORE))('%s', (code, statuses) => {
  const [command, gateway] = typeof statuses === 'number' ? [statuses, statuses] : statuses;
  expect([statusOfStore(code), statusOfGateway(code)]).toEqual([command, gateway]);
});

const AUDIT: Readonly<Record<AuditError['code'], ExitStatus>> = {
  'audit.folder': 6,
  'audit.full': 10,
  'audit.unreadable': 6,
  'audit.damaged': 8,
  'audit.truncated': 8,
};

test.each(Object.keys(AUDIT) as readonly AuditError['code'][])('%s', (code) => {
  expect(auditFailure(new AuditError(code, 'why'))).toMatchObject({ code, status: AUDIT[code] });
});
