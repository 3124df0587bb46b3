// The registry that picks the one authenticator for a request's evidence, and the token of a header.
import { expect, it } from '@jest/globals';
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Instant, instantOf } from '../../../engine/index.js';
import { type Authenticator, bearerToken, type Evidence, makeRegistry } from '../../../server/auth/authenticator.js';
import { HTTP_LIMITS } from '../../../server/limits/http.js';
import { ApiProblem } from '../../../server/problem.js';
import { makeAuthority } from '../../support/certificates.js';
import { makeFolder } from '../../support/temp-folder.js';

interface Somebody {
  readonly name: string;
  readonly credentialFingerprint: string | null;
}

const NOW: Instant = instantOf(0);
const NOTHING: Evidence = { bearer: null, certificate: null, address: '192.0.2.1' };
const closed: string[] = [];

/** Judges tokens that begin with its name. */
function judgeOf(name: string, fingerprint: string | null = null): Authenticator<Somebody> {
  return {
    name,
    credentialOf: ({ bearer }) =>
      bearer?.startsWith(name) === true
        ? {
            isUnproven: bearer.endsWith('new'),
            issuer: null,
            authenticate: () => Promise.resolve({ name: bearer, credentialFingerprint: fingerprint }),
          }
        : null,
    issuers: [],
    close: () => {
      closed.push(name);
      return Promise.resolve();
    },
  };
}

const registry = makeRegistry(
  [judgeOf('key'), judgeOf('token', 'print'), judgeOf('token-or-more'), judgeOf('revoked', 'gone')],
  (fingerprint) => fingerprint === 'gone',
);

const actorOf = (bearer: string | null): Promise<Somebody> =>
  registry.credentialOf({ ...NOTHING, bearer }).authenticate(NOW);

async function refusalOf(bearer: string | null): Promise<unknown> {
  const error: unknown = await actorOf(bearer).catch((cause: unknown) => cause);
  if (!(error instanceof ApiProblem)) throw new TypeError('not refused');
  return [error.code, error.detail.fault, error.detail.reason];
}

it('asks the one authenticator that judges what was presented', async () => {
  expect(await actorOf('key-1')).toEqual({ name: 'key-1', credentialFingerprint: null });
  expect(await actorOf('token-1')).toEqual({ name: 'token-1', credentialFingerprint: 'print' });
  expect([registry.credentialOf({ ...NOTHING, bearer: 'key-new' }).isUnproven]).toEqual([true]);
});

it('refuses nothing, what nobody judges, what two judge, and what is revoked, and says which to the operator', async () => {
  expect(await refusalOf(null)).toEqual(['auth.required', undefined, undefined]);
  expect(await refusalOf('')).toEqual(['auth.invalid', 'unreadable', expect.stringContaining('neither an API key')]);
  expect(await refusalOf('token-or-more-1')).toEqual(['auth.invalid', 'unreadable', 'more than one credential']);
  expect(await refusalOf('revoked-1')).toEqual(['auth.invalid', 'revoked', expect.stringContaining('revocations')]);
});

it('refuses a certificate that nobody judges as a credential, not as none', async () => {
  const { certFile } = await makeAuthority(await makeFolder());
  const certificate = new X509Certificate(readFileSync(certFile));
  const { authenticate } = registry.credentialOf({ ...NOTHING, certificate });
  await expect(authenticate(NOW)).rejects.toMatchObject({ code: 'auth.invalid' });
});

it('closes all of them', async () => {
  await registry.close();
  expect(closed).toEqual(['key', 'token', 'token-or-more', 'revoked']);
});

it('takes the token of any Bearer header, and of no other', () => {
  const longest = `Bearer ${'x'.repeat(HTTP_LIMITS.credentialCharacters - 'Bearer '.length)}`;
  expect(bearerToken(undefined)).toBeNull();
  expect(['Bearer a', 'bEARER   a b ', longest].map(bearerToken)).toEqual(['a', 'a b ', longest.slice(7)]);
  expect([`${longest}x`, 'Basic a', 'Bearer', ' Bearer a', 'Bearera', ''].map(bearerToken)).toEqual(Array(6).fill(''));
});
