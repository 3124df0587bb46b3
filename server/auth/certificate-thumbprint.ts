// The thumbprint by which a token names the certificate that it is bound to (RFC 8705, section 3.1).
import { hash, type X509Certificate } from 'node:crypto';

/** `x5t#S256` of a certificate; null if there is none. */
export function certificateThumbprint(certificate: X509Certificate | null): string | null {
  return certificate === null ? null : hash('sha256', certificate.raw, 'buffer').toString('base64url');
}
