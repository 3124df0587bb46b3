// Local execution: whoever asks is the one local actor, whatever the request carries.
import { expect, it } from '@jest/globals';
import { instantOf } from '../../../engine/index.js';
import { makeFingerprinter } from '../../../server/auth/fingerprint.js';
import { makeLocalAuthenticator } from '../../../server/auth/local-authenticator.js';

const fingerprint = makeFingerprinter(Buffer.alloc(32, 1));

it('is one actor for every request, whose fingerprint is that of the installation', async () => {
  const authenticator = makeLocalAuthenticator(fingerprint);
  expect([authenticator.name, authenticator.issuers]).toEqual(['local', []]);
  const actors = await Promise.all(
    [null, '', 'bwk_x'].map(async (bearer) => {
      const credential = authenticator.credentialOf({ bearer, certificate: null, address: '127.0.0.1' });
      return [credential?.isUnproven, await credential?.authenticate(instantOf(0))] as const;
    }),
  );
  const expected = { kind: 'local', id: 'local', credentialFingerprint: fingerprint('local', 'local') };
  for (const [isUnproven, actor] of actors) {
    expect(isUnproven).toBe(false);
    expect(actor).toMatchObject(expected);
    expect(actor).toBe(actors[0]?.[1]);
  }
  await authenticator.close();
});
