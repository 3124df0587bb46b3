// The certificate and key of a TLS listener. They are read from files, checked as a pair before anything uses them, and
// read again while the gateway runs. A pair that cannot be used never replaces one that can.
import { constants, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { TLS_LIMITS } from '../limits/http.js';
import { formatInstant, type Instant, instantOf } from '../../engine/index.js';
import { type Clock, type Logger, systemClock } from '../lib/ports.js';
import { readSmallFile, SmallFileError } from '../lib/small-file.js';
import { type Poller, makePoller } from '../lib/poller.js';

/** Absolute paths of PEM files. */
export interface TlsFiles {
  /** The certificate, followed by those that lead to the root. */
  readonly certFile: string;
  readonly keyFile: string;
  /** Certificates of the authorities for client certificates; null if clients are not asked for one. */
  readonly clientCaFile: string | null;
}

/** `message` begins with the path and never quotes the file's content. */
export class TlsFileError extends Error {
  override readonly name = 'TlsFileError';
}

export interface TlsIdentity {
  readonly asksClients: boolean;
  /** What new connections use. */
  readonly context: () => SecureContextOptions;
  /** Calls `listener` with each new context that replaces the current one. */
  readonly onRenewed: (listener: (context: SecureContextOptions) => void) => void;
  /** Reads the files again. Rejects with `TlsFileError` if they cannot be used; the current pair then stays. */
  readonly renew: () => Promise<'same' | 'renewed'>;
  readonly certificate: () => X509Certificate;
  /** What is in use, as the files had it. The private key is part of it, so it is only for processes of this gateway. */
  readonly files: () => ReadPair;
  /** When the certificate expires, or before it that of its issuer. */
  readonly expires: () => Instant;
  /**
   * When the first of the authorities for client certificates expires; null if there are none. One with a later namesake
   * does not count.
   */
  readonly clientCaExpires: () => Instant | null;
  /** Why clients refuse the certificate now, as the end of a sentence; null if they do not for its times. */
  readonly fault: () => string | null;
  /** Which authority for client certificates has expired, and when, as the end of a sentence; null if none has. */
  readonly clientCaFault: () => string | null;
  /** Whether users other than the owner and group of the key file can read it. */
  readonly isKeyExposed: () => boolean;
}

export type CertificateTimes = Pick<TlsIdentity, 'expires' | 'clientCaExpires' | 'fault'>;

/**
 * Rejects with `TlsFileError`. An expired certificate is used only at the start, or in place of another expired one. What
 * another process of this gateway has `accepted` is used in place of what the files have now.
 */
export async function openTlsIdentity(
  files: TlsFiles,
  { now }: Clock = systemClock,
  accepted: ReadPair | null = null,
): Promise<TlsIdentity> {
  let current = checkPair(accepted ?? (await readPair(files)));
  const listeners: ((context: SecureContextOptions) => void)[] = [];
  return {
    asksClients: files.clientCaFile !== null,
    context: () => current.context,
    certificate: () => current.certificate,
    files: () => current.read,
    expires: () => firstToEnd(current).ends,
    clientCaExpires: () => current.clientCa?.ends ?? null,
    fault: () => faultOfTime(current, now()),
    clientCaFault: () => {
      const { clientCa } = current;
      return clientCa === null || now() < clientCa.ends
        ? null
        : `\`${clientCa.name}\`, which expired at ${formatInstant(clientCa.ends)}`;
    },
    isKeyExposed: () => current.isKeyExposed,
    onRenewed: (listener) => {
      listeners.push(listener);
    },
    renew: async () => {
      const found = await readPair(files);
      if (found.every((file, index) => isSame(file, current.read[index] ?? null))) return 'same';
      const next = checkPair(found);
      const at = now();
      if (faultOfTime(current, at) === null) {
        const fault = faultOfTime(next, at);
        if (fault !== null) throw new TlsFileError(`the certificate in \`${files.certFile}\` ${fault}`);
      }
      current = next;
      for (const listener of listeners) listener(current.context);
      return 'renewed';
    },
  };
}

/** All certificates in a file. Rejects with `TlsFileError`. */
export async function readCertificates(path: string): Promise<readonly [X509Certificate, ...X509Certificate[]]> {
  return certificatesIn(await readOne(path));
}

/** Checks that a file has a usable private key, for whatever certificate. Rejects with `TlsFileError` if not. */
export async function requirePrivateKey(path: string): Promise<void> {
  keyIn(await readOne(path));
}

interface ReadFile {
  readonly path: string;
  readonly bytes: Buffer;
  readonly mode: number;
}

function isSame(a: ReadFile | null, b: ReadFile | null): boolean {
  return a === null || b === null ? a === b : a.bytes.equals(b.bytes);
}

/** Certificate, key and, if clients are asked for certificates, the authorities for these. */
export type ReadPair = readonly [cert: ReadFile, key: ReadFile, clientCa: ReadFile | null];

async function readPair({ certFile, keyFile, clientCaFile }: TlsFiles): Promise<ReadPair> {
  const [cert, key] = [await readOne(certFile), await readOne(keyFile)];
  return [cert, key, clientCaFile === null ? null : await readOne(clientCaFile)];
}

async function readOne(path: string): Promise<ReadFile> {
  try {
    const { bytes, facts } = await readSmallFile(path, TLS_LIMITS.fileBytes);
    return { path, bytes, mode: facts.mode };
  } catch (error) {
    if (error instanceof SmallFileError) throw new TlsFileError(`\`${path}\` ${error.message}`, { cause: error });
    throw error;
  }
}

interface Pair {
  readonly read: ReadPair;
  readonly certificate: X509Certificate;
  /** That of its issuer, if the file has it. Clients that have another way to a root need none of those further up. */
  readonly issuer: X509Certificate | null;
  /** The first authority for client certificates to expire. */
  readonly clientCa: Authority | null;
  readonly isKeyExposed: boolean;
  readonly context: SecureContextOptions;
}

function expiryOf({ validTo }: X509Certificate): Instant {
  return instantOf(Date.parse(validTo));
}

interface Authority {
  readonly name: string;
  readonly ends: Instant;
}

/** An authority may be listed beside its successor. */
function firstToExpire(authorities: readonly X509Certificate[]): Authority | null {
  const last = new Map<string, Instant>();
  for (const one of authorities) {
    const [expiry, other] = [expiryOf(one), last.get(one.subject)];
    if (other === undefined || other < expiry) last.set(one.subject, expiry);
  }
  const [first] = [...last].sort(([, one], [, other]) => one - other);
  return first === undefined ? null : { name: first[0].replaceAll('\n', ', '), ends: first[1] };
}

interface Lifetime {
  /** As the beginning of a sentence. */
  readonly of: string;
  readonly begins: Instant;
  readonly ends: Instant;
}

/** Of what clients check on their way to a root. */
function lifetimesOf({
  certificate,
  issuer,
}: Pick<Pair, 'certificate' | 'issuer'>): readonly [Lifetime, ...Lifetime[]] {
  const lifetimeOf = (one: X509Certificate, of: string): Lifetime => {
    return { of, begins: instantOf(Date.parse(one.validFrom)), ends: expiryOf(one) };
  };
  return [lifetimeOf(certificate, ''), ...(issuer === null ? [] : [lifetimeOf(issuer, 'has an issuer that ')])];
}

function firstToEnd(pair: Pair): Lifetime {
  return lifetimesOf(pair).reduce((first, one) => (one.ends < first.ends ? one : first));
}

/** Why clients refuse the certificate at this time, or null. */
function faultOfTime(pair: Pair, at: Instant): string | null {
  for (const { of, begins, ends } of lifetimesOf(pair)) {
    if (at < begins) return `${of}is valid only from ${formatInstant(begins)}`;
    if (at >= ends) return `${of}expired at ${formatInstant(ends)}`;
  }
  return null;
}

/** In the file an issuer may stand beside its successor, of which clients take what they can use. */
function issuerOf(certificate: X509Certificate, others: readonly X509Certificate[]): X509Certificate | null {
  const issuers = others.filter((one) => certificate.checkIssued(one));
  return issuers.reduce<X509Certificate | null>(
    (last, one) => (last === null || expiryOf(last) < expiryOf(one) ? one : last),
    null,
  );
}

const OTHERS_MAY_READ = 0o004;

function checkPair(read: ReadPair): Pair {
  const [cert, key, clientCa] = read;
  const [certificate, ...others] = certificatesIn(cert);
  const privateKey = keyIn(key);
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new TlsFileError(`\`${key.path}\` is not the key of the certificate in \`${cert.path}\``);
  }
  const authority = clientCa === null ? null : firstToExpire(certificatesIn(clientCa));
  const context: SecureContextOptions = {
    minVersion: 'TLSv1.2',
    cert: cert.bytes,
    key: key.bytes,
    ...(clientCa === null ? {} : { ca: clientCa.bytes }),
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION | (clientCa === null ? 0 : NO_RESUMPTION),
  };
  try {
    createSecureContext(context);
  } catch (error) {
    throw new TlsFileError(`\`${cert.path}\` and \`${key.path}\` cannot be used for TLS: ${reasonOf(error)}`, {
      cause: error,
    });
  }
  const isKeyExposed = (key.mode & OTHERS_MAY_READ) !== 0;
  return { read, certificate, issuer: issuerOf(certificate, others), clientCa: authority, isKeyExposed, context };
}

/**
 * Node does not verify a client again when it resumes a session. Without tickets each connection verifies its client
 * certificate.
 */
const NO_RESUMPTION = constants.SSL_OP_NO_TICKET;

const BLOCK = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

function certificatesIn({ path, bytes }: ReadFile): readonly [X509Certificate, ...X509Certificate[]] {
  const [first, ...others] = bytes.toString('latin1').match(BLOCK) ?? [];
  if (first === undefined) throw new TlsFileError(`\`${path}\` has no certificate in PEM form`);
  try {
    return [new X509Certificate(first), ...others.map((block) => new X509Certificate(block))];
  } catch (error) {
    throw new TlsFileError(`\`${path}\` has a certificate that cannot be read`, { cause: error });
  }
}

function keyIn({ path, bytes }: ReadFile): KeyObject {
  try {
    return createPrivateKey(bytes);
  } catch (error) {
    const isEncrypted = bytes.includes('ENCRYPTED');
    const message = isEncrypted
      ? 'has an encrypted key: give one that is not encrypted'
      : 'has no private key in PEM form';
    throw new TlsFileError(`\`${path}\` ${message}`, { cause: error });
  }
}

/** OpenSSL's own words, which quote nothing from the files. */
function reasonOf(error: unknown): string {
  return error instanceof Error && 'reason' in error ? String(error.reason) : 'OpenSSL refuses them';
}

/**
 * Reads the files from time to time and compares their content. Logs which pair it took, which it could not take, and
 * when clients begin to refuse the one in use.
 */
export function watchTlsFiles(
  identity: TlsIdentity,
  { log, interval = TLS_LIMITS.pollInterval }: { readonly log: Logger; readonly interval?: number },
): Poller {
  let told: string | null = null;
  const tellFaults = faultsTold(identity, log);
  return makePoller(interval, async (why) => {
    if (why === 'now') told = null;
    try {
      const isNew = (await identity.renew()) === 'renewed';
      if (isNew) log.info(describe(identity), 'the TLS certificate was renewed');
      tellFaults(isNew);
      told = null;
    } catch (error) {
      tellFaults(false);
      const reason = error instanceof TlsFileError ? error.message : 'the files cannot be read';
      if (reason !== told) {
        log.error({ reason, error }, 'the TLS certificate was not renewed, and the one in use stays');
      }
      told = reason;
    }
  });
}

/** Before `clientCaFault`. */
export const CA_REFUSED = 'client certificates are refused if they are of the authority';

/** What the start has told of is told again only of files that are new. */
function faultsTold(identity: TlsIdentity, log: Logger): (isNew: boolean) => void {
  const kinds = [
    {
      read: identity.fault,
      fields: () => describe(identity),
      begins: 'clients refuse the TLS certificate: it',
      ends: 'the TLS certificate is valid',
    },
    {
      read: identity.clientCaFault,
      fields: () => ({}),
      begins: CA_REFUSED,
      ends: 'the authorities of client certificates are valid',
    },
  ].map((kind) => ({ ...kind, told: kind.read() }));
  return (isNew) => {
    for (const kind of kinds) {
      const fault = kind.read();
      if (fault === kind.told && !isNew) continue;
      if (fault !== null) log.error(kind.fields(), `${kind.begins} ${fault}`);
      else if (!isNew) log.info(kind.fields(), kind.ends);
      kind.told = fault;
    }
  };
}

function describe(identity: TlsIdentity): Readonly<Record<string, unknown>> {
  const { subject, validTo, fingerprint256 } = identity.certificate();
  return { subject, validTo, fingerprint256 };
}
