// The client's certificate as evidence (mutual TLS, RFC 8705). The listener has verified it against the authorities in
// the settings, and one name at one place in it says whose it is. If a request also has a token, the token is the
// credential.
import type { X509Certificate } from 'node:crypto';
import { formatIdentity, type Instant, makeIdentity } from '../../engine/index.js';
import { type Authenticator, notValid } from './authenticator.js';
import type { Fingerprinter } from './fingerprint.js';
import { actorOf, type RequestActor } from './request-actor.js';

export type SubjectFrom = 'san:uri' | 'san:email' | 'subject:cn';

export interface CertificateSettings {
  readonly provider: string;
  readonly subjectFrom: SubjectFrom;
}

export function makeCertificateAuthenticator(
  { provider, subjectFrom }: CertificateSettings,
  { fingerprint }: { readonly fingerprint: Fingerprinter },
): Authenticator<RequestActor> {
  const actorOfCertificate = (certificate: X509Certificate, at: Instant): RequestActor => {
    // A connection may outlive the certificate that it began with.
    if (at < Date.parse(certificate.validFrom)) throw notValid('expired', 'not valid yet');
    if (at >= Date.parse(certificate.validTo)) throw notValid('expired', 'expired');
    if (certificate.ca) throw notValid('unusable', 'the certificate of an authority');
    const [subject, ...more] = NAMES[subjectFrom](certificate);
    if (subject === undefined || more.length > 0)
      throw notValid('unusable', `the certificate does not have exactly one name at ${subjectFrom}`);
    const made = makeIdentity(provider, subject);
    if (!made.ok) throw notValid('unusable', `the name at ${subjectFrom} is not a subject`);
    return actorOf('certificate', {
      id: formatIdentity(made.identity),
      identities: [made.identity],
      scopes: null,
      restrictions: null,
      // Issuer and serial number identify a certificate. Its bytes do not, because they hold a signature, and there may
      // be several of it.
      credentialFingerprint: fingerprint('certificate', JSON.stringify([certificate.issuer, certificate.serialNumber])),
    });
  };
  return {
    name: 'mtls',
    credentialOf: ({ bearer, certificate }) => {
      if (bearer !== null || certificate === null) return null;
      return {
        isUnproven: false,
        issuer: null,
        authenticate: (at) => Promise.resolve().then(() => actorOfCertificate(certificate, at)),
      };
    },
    issuers: [{ setting: 'authentication.mtls', provider, prepare: () => Promise.resolve(null), trouble: () => null }],
    close: () => Promise.resolve(),
  };
}

const NAMES: Readonly<Record<SubjectFrom, (certificate: X509Certificate) => readonly string[]>> = {
  'san:uri': ({ subjectAltName }) => alternativeNames(subjectAltName, 'URI'),
  'san:email': ({ subjectAltName }) => alternativeNames(subjectAltName, 'email'),
  'subject:cn': (certificate) => commonNames(certificate),
};

/**
 * The names of one type in a text like `URI:spiffe://a/b, email:"a, b@example.org"`. Node writes an ambiguous value as
 * a JSON string.
 */
function alternativeNames(text: string | undefined, type: string): readonly string[] {
  const found: string[] = [];
  for (let at = 0; text !== undefined && at < text.length;) {
    const [part = '', name = '', value = ''] = PART.exec(text.slice(at)) ?? [];
    if (part === '') throw notValid('unusable', 'alternative names that cannot be read');
    if (name === type) found.push(value.startsWith('"') ? String(JSON.parse(value)) : value);
    at += part.length;
  }
  return found;
}

const PART = /^([^:,"]+):("(?:[^"\\]|\\.)*"|[^,"]*)(?:, |$)/;

function commonNames(certificate: X509Certificate): readonly string[] {
  const subject: unknown = certificate.toLegacyObject().subject;
  const names: unknown = typeof subject === 'object' && subject !== null && 'CN' in subject ? subject.CN : [];
  const list: readonly unknown[] = Array.isArray(names) ? names : [names];
  return list.map(String);
}
