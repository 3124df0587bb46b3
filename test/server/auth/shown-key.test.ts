// A key as it is shown: everything that is stored of it, in an order that does not change, and nothing of its secret.
import { expect, it, test } from '@jest/globals';
import { instantOf, parseInstant, scopeSetOf } from '../../../engine/index.js';
import type { StoredKey } from '../../../server/auth/api-keys.js';
import { makeFingerprinter } from '../../../server/auth/fingerprint.js';
import { showKey } from '../../../server/auth/shown-key.js';
import { pathOf } from '../../support/gateway.js';

const fingerprint = makeFingerprinter(Buffer.alloc(32, 1));
const at = (text: string) => parseInstant(text) ?? instantOf(NaN);
const NOW = at('2027-01-01T00:00:00Z');
const KEY: StoredKey = {
  id: 'k',
  actor: 'ada',
  secretHash: Buffer.from('canary of the secret'),
  identities: [],
  scopes: null,
  restrictions: null,
  expires: null,
  admin: false,
  monitor: false,
  createdAt: at('2026-01-01T00:00:00Z'),
  revokedAt: null,
  lastUsedAt: null,
};

it('has all of a key, sorted, and nothing of its secret', () => {
  const shown = showKey(
    {
      ...KEY,
      identities: [
        { provider: 'orcid', subject: 'b' },
        { provider: 'orcid', subject: 'a' },
        { provider: 'github', subject: 'z' },
      ],
      scopes: scopeSetOf(['resource:read', 'namespace:read']),
      restrictions: [pathOf('/z'), pathOf('/a')],
      expires: at('2028-01-01T00:00:00Z'),
      revokedAt: at('2026-06-01T00:00:00Z'),
      lastUsedAt: at('2026-05-01T00:00:00Z'),
      decide: true,
    },
    NOW,
    fingerprint,
  );
  expect(shown).toStrictEqual({
    id: 'k',
    actor: 'ada',
    identities: ['github:z', 'orcid:a', 'orcid:b'],
    scopes: ['namespace:read', 'resource:read'],
    restrictions: ['/a', '/z'],
    admin: false,
    decide: true,
    monitor: false,
    status: 'revoked',
    expires: '2028-01-01T00:00:00.000Z',
    revokedAt: '2026-06-01T00:00:00.000Z',
    lastUsedAt: '2026-05-01T00:00:00.000Z',
    createdAt: '2026-01-01T00:00:00.000Z',
    fingerprint: fingerprint('key', 'k'),
  });
});

it('tells what is not narrowed and what never was from what is empty', () => {
  const open = { scopes: null, restrictions: null, expires: null, revokedAt: null, lastUsedAt: null, decide: false };
  expect(showKey(KEY, NOW, fingerprint)).toMatchObject({ ...open, status: 'active' });
  const empty = { ...KEY, scopes: scopeSetOf([]), restrictions: [] };
  expect(showKey(empty, NOW, fingerprint)).toMatchObject({ scopes: [], restrictions: [] });
});

test('a key expires at its instant, and one that was revoked is shown as revoked', () => {
  const statusAt = (text: string, more: Partial<StoredKey> = {}): string =>
    showKey({ ...KEY, expires: NOW, ...more }, at(text), fingerprint).status;
  expect(statusAt('2026-12-31T23:59:59.999Z')).toBe('active');
  expect(statusAt('2027-01-01T00:00:00Z')).toBe('expired');
  expect(statusAt('2027-01-01T00:00:00.001Z')).toBe('expired');
  expect(statusAt('2027-01-01T00:00:00Z', { revokedAt: NOW })).toBe('revoked');
});
