// The client's certificate as a credential: one name at one place, for as long as the certificate is valid, and nothing else.
import { beforeAll, describe, expect, it, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Instant, instantOf, carriedNames, unrestrictedPolicy } from '../../../engine/index.js';
import type { Evidence } from '../../../server/auth/authenticator.js';
import { makeCertificateAuthenticator, type SubjectFrom } from '../../../server/auth/certificate-authenticator.js';
import { certificateThumbprint } from '../../../server/auth/certificate-thumbprint.js';
import { makeFingerprinter } from '../../../server/auth/fingerprint.js';
import type { RequestActor } from '../../../server/auth/request-actor.js';
import { ApiProblem } from '../../../server/problem.js';
import { type Issued, issue, makeAuthority } from '../../support/certificates.js';
import { credentialOf } from '../../support/credential-of.js';
import { makeFolder } from '../../support/temp-folder.js';

const fingerprint = makeFingerprinter(Buffer.alloc(32, 1));
let now: Instant;
const certificates = new Map<string, X509Certificate>();

const WANTED: readonly (readonly [name: string, names: string])[] = [
  ['importer', 'URI:spiffe://example.org/importer,email:importer@example.org,DNS:importer.example.org'],
  ['two', 'URI:spiffe://example.org/a,URI:spiffe://example.org/b,email:a@example.org,email:b@example.org'],
  ['none', 'DNS:importer.example.org'],
  ['long', `URI:spiffe://example.org/${'a'.repeat(256)}`],
  // A section of its own, so that a value may hold commas.
  [
    'hostile',
    '@alt\n[alt]\nURI.1=http://x/email:adm@example.org, email:adm@example.org\nemail.1=mallory@example.org\n[rest]',
  ],
];

beforeAll(async () => {
  const folder = await makeFolder();
  const authority: Issued = await makeAuthority(folder);
  // One after the other: openssl numbers what an authority signs in a file.
  for (const [name, names] of WANTED) {
    const { certFile } = await issue(folder, name, { authority, usage: 'clientAuth', names });
    certificates.set(name, new X509Certificate(readFileSync(certFile)));
  }
  const [keyFile, certFile] = [join(folder, 'nameless.key'), join(folder, 'nameless.crt')];
  await promisify(execFile)('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/O=nobody'],
    ...['-addext', 'basicConstraints=critical,CA:FALSE', '-keyout', keyFile, '-out', certFile],
  ]);
  certificates.set('nameless', new X509Certificate(readFileSync(certFile)));
  certificates.set('authority', new X509Certificate(readFileSync(authority.certFile)));
  // None of them is valid before the second in which it was made.
  now = instantOf(Date.now());
});

it('is named by tokens as RFC 8705 says: by the SHA-256 of its bytes', () => {
  for (const [name, certificate] of certificates) {
    const digits = certificate.fingerprint256.replaceAll(':', '');
    const expected = Buffer.from(digits, 'hex').toString('base64url');
    expect([name, certificateThumbprint(certificate)]).toEqual([name, expected]);
  }
  expect(certificateThumbprint(null)).toBeNull();
});

function evidenceOf(name: string): Evidence {
  return { bearer: null, certificate: certificates.get(name) ?? null, address: '127.0.0.1' };
}

function actorOf(name: string, subjectFrom: SubjectFrom, at: Instant = now): Promise<RequestActor> {
  const authenticator = makeCertificateAuthenticator({ provider: 'ca', subjectFrom }, { fingerprint });
  return credentialOf(authenticator, evidenceOf(name)).authenticate(at);
}

async function refusalOf(name: string, subjectFrom: SubjectFrom, at: Instant = now): Promise<string> {
  const error: unknown = await actorOf(name, subjectFrom, at).catch((reason: unknown) => reason);
  return error instanceof ApiProblem && error.code === 'auth.invalid' ? (error.detail.reason ?? '') : 'accepted';
}

describe('a certificate', () => {
  test.each<[SubjectFrom, string]>([
    ['san:uri', 'spiffe://example.org/importer'],
    ['san:email', 'importer@example.org'],
    ['subject:cn', 'importer'],
  ])('is for the one name at %s', async (subjectFrom, subject) => {
    const actor = await actorOf('importer', subjectFrom);
    expect(actor).toMatchObject({
      kind: 'certificate',
      id: `ca:${subject}`,
      identities: [{ provider: 'ca', subject }],
      namespaceRestrictions: null,
    });
    expect(carriedNames(actor.credentialScopes, unrestrictedPolicy())).toHaveLength(10);
  });

  test.each<[string, SubjectFrom]>([
    ['two', 'san:uri'],
    ['two', 'san:email'],
    ['none', 'san:uri'],
    ['none', 'san:email'],
    ['nameless', 'san:uri'],
    ['nameless', 'san:email'],
    ['nameless', 'subject:cn'],
  ])('%s has not one name at %s', async (name, subjectFrom) => {
    expect(await refusalOf(name, subjectFrom)).toBe(`the certificate does not have exactly one name at ${subjectFrom}`);
  });

  it('is nobody by a name that no policy can name', async () => {
    expect(await refusalOf('long', 'san:uri')).toBe('the name at san:uri is not a subject');
  });

  it('is counted by what is wrong with it', async () => {
    const { validFrom, validTo } = certificates.get('importer') ?? { validFrom: '', validTo: '' };
    const asked = [
      ['importer', 'san:uri', instantOf(Date.parse(validFrom) - 1)],
      ['importer', 'san:uri', instantOf(Date.parse(validTo))],
      ['authority', 'subject:cn', now],
      ['two', 'san:uri', now],
      ['long', 'san:uri', now],
    ] as const;
    const faults = asked.map(async ([name, from, at]) => {
      const error: unknown = await actorOf(name, from, at).catch((reason: unknown) => reason);
      return error instanceof ApiProblem ? error.detail.fault : error;
    });
    expect(await Promise.all(faults)).toEqual(['expired', 'expired', 'unusable', 'unusable', 'unusable']);
  });

  it('is proven by the connection, and its settings have no issuer who could be away', async () => {
    const authenticator = makeCertificateAuthenticator({ provider: 'ca', subjectFrom: 'san:uri' }, { fingerprint });
    expect(authenticator.credentialOf(evidenceOf('importer'))?.isUnproven).toBe(false);
    const [issuer, ...more] = authenticator.issuers;
    expect([authenticator.name, issuer?.setting, issuer?.provider, more]).toEqual([
      'mtls',
      'authentication.mtls',
      'ca',
      [],
    ]);
    expect([await issuer?.prepare(), issuer?.trouble()]).toEqual([null, null]);
    await authenticator.close();
  });

  it('is not who a name within another name says', async () => {
    expect((await actorOf('hostile', 'san:email')).id).toBe('ca:mallory@example.org');
    expect((await actorOf('hostile', 'san:uri')).id).toBe('ca:http://x/email:adm@example.org, email:adm@example.org');
  });

  it('counts while it is valid, also on a connection that began earlier', async () => {
    const { validFrom, validTo } = certificates.get('importer') ?? { validFrom: '', validTo: '' };
    const [from, to] = [instantOf(Date.parse(validFrom)), instantOf(Date.parse(validTo))];
    expect(await refusalOf('importer', 'san:uri', from)).toBe('accepted');
    expect(await refusalOf('importer', 'san:uri', instantOf(from - 1))).toBe('not valid yet');
    expect(await refusalOf('importer', 'san:uri', instantOf(to - 1))).toBe('accepted');
    expect(await refusalOf('importer', 'san:uri', to)).toBe('expired');
  });

  it('of an authority is nobody', async () => {
    expect(await refusalOf('authority', 'subject:cn')).toBe('the certificate of an authority');
  });

  it('D12 has a fingerprint of its own, by its issuer and its number', async () => {
    const { issuer, serialNumber } = certificates.get('two') ?? { issuer: '', serialNumber: '' };
    const named = fingerprint('certificate', JSON.stringify([issuer, serialNumber]));
    expect((await actorOf('two', 'subject:cn')).credentialFingerprint).toBe(named);
    const prints = await Promise.all(
      ['importer', 'two', 'none', 'importer'].map(
        async (name) => (await actorOf(name, 'subject:cn')).credentialFingerprint,
      ),
    );
    expect(new Set(prints).size).toBe(3);
  });

  it('is the credential only if there is no token', () => {
    const { credentialOf: claim } = makeCertificateAuthenticator(
      { provider: 'ca', subjectFrom: 'san:uri' },
      { fingerprint },
    );
    expect(claim(evidenceOf('importer'))).not.toBeNull();
    expect(claim({ ...evidenceOf('importer'), bearer: 'x' })).toBeNull();
    expect(claim({ ...evidenceOf('importer'), bearer: '' })).toBeNull();
    expect(claim({ bearer: null, certificate: null, address: '127.0.0.1' })).toBeNull();
  });
});
