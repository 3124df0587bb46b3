// When clients refuse the certificate of the API, or those of clients are refused: at the start, in the log, and where another one
// would take its place.
import { beforeAll, describe, expect, it } from '@jest/globals';
import { X509Certificate } from 'node:crypto';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { instantOf } from '../../../engine/index.js';
import { openTlsIdentity, type TlsIdentity, watchTlsFiles } from '../../../server/http/tls-files.js';
import { copyOf, type Issued, issue, makeAuthority } from '../../support/certificates.js';
import { keptLog, type LogLine } from '../../support/kept-log.js';
import { makeFolder } from '../../support/temp-folder.js';

let folder: string;
let authority: Issued;
let server: Issued;
let other: Issued;
const lines: LogLine[] = [];
const log = keptLog(lines);

beforeAll(async () => {
  folder = await makeFolder();
  authority = await makeAuthority(folder);
  server = await issue(folder, 'server', { authority });
  other = await issue(folder, 'other', { authority });
});

const used = (name: string, issued: Issued): Issued => copyOf(folder, name, issued);

describe('a certificate that clients would refuse', () => {
  const taken = async (days: number): Promise<TlsIdentity> =>
    openTlsIdentity({ ...used('taken', await issue(folder, 'begun', { authority, days })), clientCaFile: null });

  it('never takes the place of one that they accept', async () => {
    const current = await taken(2);
    const [serial, expires] = [current.certificate().serialNumber, current.expires()];
    used('taken', await issue(folder, 'ended', { authority, days: -1 }));
    await expect(current.renew()).rejects.toThrow(/^the certificate in `.*taken-used.crt` expired at \d{4}-/);
    expect([current.certificate().serialNumber, current.expires()]).toEqual([serial, expires]);
    const valid = used('taken', other);
    expect([await current.renew(), valid.certFile.endsWith('.crt')]).toEqual(['renewed', true]);
  });

  it.each([
    ['is valid only from', 2, -1],
    ['expired at', -1, 0],
    [null, 2, 0],
  ])('is known at the start: it %s', async (fault, days, daysLater) => {
    const files = used('early', await issue(folder, 'begun', { authority, days }));
    const clock = { now: () => instantOf(Date.now() + daysLater * 86_400_000) };
    const found = (await openTlsIdentity({ ...files, clientCaFile: null }, clock)).fault();
    if (fault === null) expect(found).toBeNull();
    else expect(found).toMatch(new RegExp(`^${fault} \\d{4}-`));
  });

  it('is known of an issuer in the file, and has a line in the log when that comes, and when it is renewed', async () => {
    const [soon, unused] = [
      await makeAuthority(folder, 'issuing', 1),
      await issue(folder, 'unused', { authority, days: -1 }),
    ];
    const leaf = await issue(folder, 'chained', { authority: soon, days: 9 });
    const files = { ...used('chain', leaf), clientCaFile: null };
    const chain = (...others: readonly Issued[]): void => {
      writeFileSync(files.certFile, [leaf, ...others].map(({ certFile }) => readFileSync(certFile, 'utf8')).join(''));
    };
    let days = 0;
    const clock = { now: () => instantOf(Date.now() + days * 86_400_000) };
    // What clients need not ask for says nothing.
    chain(soon, unused);
    const current = await openTlsIdentity(files, clock);
    expect(current.fault()).toBeNull();
    expect(current.expires()).toBeLessThan(Date.now() + 2 * 86_400_000);
    const watch = watchTlsFiles(current, { log });
    lines.length = 0;
    await watch.pollNow();
    days = 3;
    for (let look = 0; look < 2; look += 1) await watch.pollNow();
    const message = expect.stringMatching(
      /^clients refuse the TLS certificate: it has an issuer that expired at \d{4}-/,
    );
    expect(lines).toMatchObject([{ level: 'error', message }]);
    lines.length = 0;
    // Another one that they refuse.
    chain(soon);
    await watch.pollNow();
    expect(lines).toMatchObject([{ message: 'the TLS certificate was renewed' }, { level: 'error', message }]);
    days = 0;
    await watch.pollNow();
    expect(lines.at(-1)).toMatchObject({ level: 'info', message: 'the TLS certificate is valid' });
    await watch.stop();
  });

  it('has a line in the log where it is one for clients, too', async () => {
    const ends = await issue(folder, 'ending', { authority, days: 1 });
    let days = 0;
    const clock = { now: () => instantOf(Date.now() + days * 86_400_000) };
    const watch = watchTlsFiles(await openTlsIdentity({ ...server, clientCaFile: ends.certFile }, clock), { log });
    lines.length = 0;
    await watch.pollNow();
    days = 1.5;
    for (let look = 0; look < 2; look += 1) await watch.pollNow();
    const message = expect.stringMatching(
      /^client certificates are refused if they are of the authority `[^`]+`, which expired at \d{4}-/,
    );
    expect(lines).toMatchObject([{ level: 'error', message }]);
    await watch.stop();
  });

  it('is known of authorities for clients: of the first to expire that has no successor', async () => {
    const [name, soon, later] = await Promise.all([
      issue(folder, 'ca', { authority, days: -1 }),
      issue(folder, 'soon', { authority, days: 1 }),
      issue(folder, 'later', { authority, days: 3 }),
    ]);
    const end = ({ certFile }: Issued): number => Date.parse(new X509Certificate(readFileSync(certFile)).validTo);
    const expiryOf = async (...listed: readonly Issued[]): Promise<number | null> => {
      const clientCaFile = join(folder, 'bundle.crt');
      writeFileSync(clientCaFile, listed.map(({ certFile }) => readFileSync(certFile, 'utf8')).join(''));
      return (await openTlsIdentity({ ...server, clientCaFile })).clientCaExpires();
    };
    expect(await expiryOf(later, soon)).toBe(end(soon));
    const ended = end(name);
    const old = { ...name, certFile: join(folder, 'old.crt') };
    copyFileSync(name.certFile, old.certFile);
    expect(await expiryOf(old, soon)).toBe(ended);
    await issue(folder, 'ca', { authority, days: 2 });
    expect(await expiryOf(old, name, later)).toBe(end(name));
  });

  it('takes the place of another such one, so that a start does not depend on it', async () => {
    const current = await taken(-1);
    const serial = current.certificate().serialNumber;
    used('taken', await issue(folder, 'ended', { authority, days: -1 }));
    expect([await current.renew(), current.certificate().serialNumber === serial]).toEqual(['renewed', false]);
  });
});
