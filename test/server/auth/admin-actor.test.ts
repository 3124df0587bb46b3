// Admins and monitors are values of their own: frozen, with nothing that a policy could decide about.
import { describe, expect, it, test } from '@jest/globals';
import { adminOfKey, adminOfSocket, monitorOfKey } from '../../../server/auth/admin-actor.js';

const HOLDER = { id: 'root', credentialFingerprint: 'f'.repeat(64) };
/** As a row of the store may have more. */
const ROW = { ...HOLDER, identities: [{ provider: 'orcid', subject: 'ada' }], scopes: null };

describe('who administers', () => {
  test.each([
    ['an admin by key', adminOfKey(ROW), { kind: 'admin', ...HOLDER }],
    ['a monitor by key', monitorOfKey(ROW), { kind: 'monitor', ...HOLDER }],
    ['an operator at the socket', adminOfSocket(), { kind: 'operator', id: 'socket', credentialFingerprint: null }],
  ])('%s is frozen, and has a name, a kind and a credential alone', (_, actor, expected) => {
    expect({ ...actor }).toStrictEqual(expected);
    expect(Object.isFrozen(actor)).toBe(true);
  });

  it('never becomes another by an assignment', () => {
    const monitor = monitorOfKey(HOLDER);
    expect(() => Object.assign(monitor, { kind: 'admin' })).toThrow(TypeError);
    expect(monitor.kind).toBe('monitor');
  });
});
