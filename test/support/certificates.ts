// Certificates for tests, made afresh by the machine's openssl: an authority, and the certificates that it signs.
import { execFile } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Paths of PEM files. */
export interface Issued {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface Wanted {
  readonly usage?: 'serverAuth' | 'clientAuth';
  /** From now on; negative is past. */
  readonly days?: number;
  /** As openssl writes them. */
  readonly names?: string;
}

/** A self-signed authority called `name` in a folder, for so many days. */
export async function makeAuthority(folder: string, name = 'authority', days = 30): Promise<Issued> {
  const issued = filesOf(folder, name);
  await run('openssl', [
    'req',
    '-x509',
    ...NEW_KEY,
    '-keyout',
    issued.keyFile,
    '-out',
    issued.certFile,
    '-subj',
    `/CN=${name}`,
    '-days',
    String(days),
  ]);
  return issued;
}

/** A certificate that the authority signs; what is there under the name is replaced. */
export async function issue(
  folder: string,
  name: string,
  {
    authority,
    usage = 'serverAuth',
    days = 2,
    names = 'DNS:localhost,IP:127.0.0.1',
  }: Wanted & { readonly authority: Issued },
): Promise<Issued> {
  const issued = filesOf(folder, name);
  const [request, extensions] = [join(folder, `${name}.csr`), join(folder, `${name}.ext`)];
  await writeFile(extensions, `subjectAltName=${names}\nextendedKeyUsage=${usage}\n`);
  await run('openssl', ['req', ...NEW_KEY, '-keyout', issued.keyFile, '-out', request, '-subj', `/CN=${name}`]);
  await run('openssl', [
    ...['x509', '-req', '-in', request, '-CA', authority.certFile, '-CAkey', authority.keyFile, '-CAcreateserial'],
    ...['-days', String(days), '-extfile', extensions, '-out', issued.certFile],
  ]);
  return issued;
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/** A copy of the files, to be overwritten. */
export function copyOf(folder: string, name: string, { certFile, keyFile }: Issued): Issued {
  const copy = filesOf(folder, `${name}-used`);
  copyFileSync(certFile, copy.certFile);
  copyFileSync(keyFile, copy.keyFile);
  return copy;
}

function filesOf(folder: string, name: string): Issued {
  return { certFile: join(folder, `${name}.crt`), keyFile: join(folder, `${name}.key`) };
}
