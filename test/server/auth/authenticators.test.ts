// What the settings of authentication open, and what is said about them before the first request.
import { beforeEach, describe, expect, it, test } from '@jest/globals';
import { join } from 'node:path';
import { type Identity, instantOf } from '../../../engine/index.js';
import { actorWithoutCredential } from '../../../server/auth/request-actor.js';
import type { Authenticator, CredentialIssuer, SetupFault } from '../../../server/auth/authenticator.js';
import {
  AuthenticationError,
  type AuthenticationSettings,
  makeAuthenticators,
  openAnonymous,
  openRevocations,
  prepareIssuers,
  warnOfNothingPublic,
  warnOfUndeclared,
} from '../../../server/auth/authenticators.js';
import { makeFingerprinter } from '../../../server/auth/fingerprint.js';
import type { RequestActor } from '../../../server/auth/request-actor.js';
import { policyOf } from '../../support/gateway.js';
import { makeFolder } from '../../support/temp-folder.js';
import { INTROSPECTION_SETTINGS, ISSUER_SETTINGS } from '../../support/token-world.js';

const ADA: Identity = { provider: 'orcid', subject: 'ada' };
const NOW = instantOf(Date.parse('2027-01-01T00:00:00Z'));
const POLICY = policyOf([[ADA, '/', ['resource:read']]]);
const POLICY_OF_LOG = { policy: POLICY.name, snapshot: POLICY.digest };

let lines: (readonly [level: string, fields: object, message: string])[];
const level =
  (name: string) =>
  (fields: object, message: string): void =>
    void lines.push([name, fields, message]);
const log = { info: level('info'), warn: level('warn'), error: level('error') };
beforeEach(() => {
  lines = [];
});

const SETTINGS: AuthenticationSettings = {
  keys: { enabled: true },
  oidc: [],
  introspection: [],
  mtls: null,
  revocationsFile: null,
};
const KEYS: Authenticator<RequestActor> = {
  name: 'keys',
  credentialOf: () => null,
  issuers: [],
  close: () => Promise.resolve(),
};
const OIDC = { ...ISSUER_SETTINGS, issuer: 'https://id.example.org', provider: 'orcid' };
const OPAQUE = { ...INTROSPECTION_SETTINGS, url: 'https://id.example.org/ask', clientId: 'c', clientSecretFile: '/s' };
const MTLS = { provider: 'machines', subjectFrom: 'san:uri' } as const;

async function opened(more: Partial<AuthenticationSettings>): Promise<readonly Authenticator<RequestActor>[]> {
  const tools = { fingerprint: makeFingerprinter(Buffer.alloc(32, 1)), clock: { now: () => NOW }, log };
  return makeAuthenticators({ ...SETTINGS, ...more }, KEYS, tools);
}

describe('the ways in', () => {
  test.each<[string, Partial<AuthenticationSettings>, readonly string[]]>([
    ['keys alone', {}, ['keys']],
    ['nothing', { keys: { enabled: false } }, []],
    [
      'signed tokens of several issuers',
      { oidc: [OIDC, { ...OIDC, issuer: 'https://x.example.org' }] },
      ['keys', 'oidc'],
    ],
    ['opaque tokens of two', { introspection: [OPAQUE, OPAQUE] }, ['keys', 'introspection', 'introspection']],
    ['certificates alone', { keys: { enabled: false }, mtls: MTLS }, ['mtls']],
    ['everything', { oidc: [OIDC], introspection: [OPAQUE], mtls: MTLS }, ['keys', 'oidc', 'introspection', 'mtls']],
  ])('are %s', async (_, settings, names) => {
    expect((await opened(settings)).map(({ name }) => name)).toEqual(names);
  });

  it('name where each issuer is in the settings', async () => {
    const made = await opened({ oidc: [OIDC, OIDC], introspection: [OPAQUE, OPAQUE], mtls: MTLS });
    expect(made.flatMap(({ issuers }) => issuers).map(({ setting }) => setting)).toEqual([
      ...['authentication.oidc.0', 'authentication.oidc.1'],
      ...['authentication.introspection.0', 'authentication.introspection.1', 'authentication.mtls'],
    ]);
  });

  it('leave signed tokens to issuers of them, if there are any', async () => {
    const evidence = { bearer: 'a.b.c', certificate: null, address: '' };
    const judges = async (more: Partial<AuthenticationSettings>): Promise<readonly string[]> =>
      (await opened({ introspection: [OPAQUE], ...more }))
        .filter(({ credentialOf }) => credentialOf(evidence) !== null)
        .map(({ name }) => name);
    expect(await judges({})).toEqual(['introspection']);
    expect(await judges({ oidc: [OIDC] })).toEqual(['oidc']);
  });
});

describe('the file of revoked credentials', () => {
  it('is not needed, and is read before the first request if there is one', async () => {
    expect(await openRevocations(SETTINGS, log)).toBeNull();
    const revocationsFile = join(await makeFolder({ revoked: 'a'.repeat(64) }), 'revoked');
    const revocations = await openRevocations({ ...SETTINGS, revocationsFile }, log);
    expect(revocations?.has('a'.repeat(64))).toBe(true);
    await revocations?.stop();
  });

  it('prevents a start if it cannot be used', async () => {
    const revocationsFile = join(await makeFolder({ revoked: 'ana' }), 'revoked');
    const error: unknown = await openRevocations({ ...SETTINGS, revocationsFile }, log).catch((e: unknown) => e);
    if (!(error instanceof AuthenticationError)) throw new TypeError('the start was not prevented');
    expect([error.name, error.message]).toEqual([
      'AuthenticationError',
      'the settings of `authentication` cannot be used',
    ]);
    expect(error.faults).toEqual([
      {
        setting: 'authentication.revocationsFile',
        message: expect.stringMatching(/^the file .*has no fingerprint in line 1$/),
        fix: expect.stringContaining('a fingerprint of `whoami`'),
      },
    ]);
  });
});

const undeclared = (setting: string, provider: string): SetupFault => ({
  setting,
  message: `the policy \`test\` does not declare the provider \`${provider}\``,
  fix: `add \`${provider}: {}\` to \`providers\` in policy.yaml, or name another provider`,
});

const faultsOf = (error: unknown): unknown => (error instanceof AuthenticationError ? error.faults : error);

describe('who reads without a credential', () => {
  it('is of a provider that the policy declares', () => {
    expect(openAnonymous(null, POLICY)).toBeNull();
    expect(openAnonymous({ identity: ADA }, POLICY)).toMatchObject({ kind: 'anonymous', identities: [ADA] });
    let error: unknown = null;
    try {
      openAnonymous({ identity: { provider: 'public', subject: 'anyone' } }, POLICY);
    } catch (thrown) {
      error = thrown;
    }
    expect(faultsOf(error)).toEqual([undeclared('authentication.anonymous.identity', 'public')]);
  });

  it('is warned about if the policy lets them see nothing, in whatever family', () => {
    const anyone = actorWithoutCredential({ provider: 'orcid', subject: 'anyone' });
    for (const scope of ['resource:read', 'namespace:read', 'process-run:read'])
      warnOfNothingPublic(anyone, policyOf([[anyone.identities[0] ?? ADA, '/labs/deep', [scope]]]), { at: NOW, log });
    expect(lines).toEqual([]);
    warnOfNothingPublic(anyone, POLICY, { at: NOW, log });
    expect(lines).toEqual([
      [
        'warn',
        { setting: 'authentication.anonymous.identity', ...POLICY_OF_LOG },
        expect.stringMatching(/^no grant of the policy lets `orcid:anyone` read .* find nothing$/),
      ],
    ]);
  });
});

describe('issuers', () => {
  const issuerOf = (setting: string, provider: string, fault: SetupFault | null = null): CredentialIssuer => ({
    setting,
    provider,
    prepare: () => Promise.resolve(fault),
    trouble: () => null,
  });
  const FAULT: SetupFault = { setting: 'b.issuer', message: 'wrong', fix: 'right' };

  it('are all prepared, and nothing is wrong', async () => {
    const prepared: string[] = [];
    const issuer = (setting: string): CredentialIssuer => ({
      ...issuerOf(setting, 'orcid'),
      prepare: () => {
        prepared.push(setting);
        return Promise.resolve(null);
      },
    });
    await prepareIssuers([issuer('a'), issuer('b')], POLICY);
    await prepareIssuers([], POLICY);
    expect(prepared).toEqual(['a', 'b']);
  });

  it('prevent a start with all that is wrong with them at once', async () => {
    const issuers = [issuerOf('a', 'orcid'), issuerOf('b', 'orcid', FAULT), issuerOf('c', 'github')];
    expect(faultsOf(await prepareIssuers(issuers, POLICY).catch((error: unknown) => error))).toEqual([
      undeclared('c.provider', 'github'),
      FAULT,
    ]);
  });

  it('are warned about if a policy that comes into force does not declare their providers', () => {
    warnOfUndeclared([issuerOf('a', 'orcid'), issuerOf('c', 'github')], POLICY, log);
    expect(lines).toEqual([
      ['warn', { setting: 'c.provider', ...POLICY_OF_LOG }, undeclared('c.provider', 'github').message],
    ]);
  });
});
