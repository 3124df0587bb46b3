// The Unix socket of the gateway: whoever can open it is the operator, unless a credential is presented there.
import { expect, it } from '@jest/globals';
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { instantOf } from '../../../engine/index.js';
import { type Evidence, makeRegistry } from '../../../server/auth/authenticator.js';
import { makeSocketAuthenticator } from '../../../server/auth/socket-authenticator.js';
import { makeAuthority } from '../../support/certificates.js';
import { makeFolder } from '../../support/temp-folder.js';

const NOTHING: Evidence = { bearer: null, certificate: null, address: '' };

it('makes whoever presents nothing the operator, which counts as no attempt', async () => {
  const registry = makeRegistry([makeSocketAuthenticator()], () => false);
  const credential = registry.credentialOf(NOTHING);
  expect(credential.isUnproven).toBe(false);
  expect(await credential.authenticate(instantOf(0))).toMatchObject({ kind: 'operator', id: 'socket' });
  expect(registry.issuers).toEqual([]);
  await registry.close();
});

it('does not speak for a credential that is presented anyway', async () => {
  const { certFile } = await makeAuthority(await makeFolder());
  const certificate = new X509Certificate(readFileSync(certFile));
  const { name, credentialOf } = makeSocketAuthenticator();
  expect(name).toBe('socket');
  for (const presented of [{ bearer: 'bwk_x' }, { bearer: '' }, { certificate }, { bearer: 'x', certificate }])
    expect(credentialOf({ ...NOTHING, ...presented })).toBeNull();
});
