// `bailiwick config check|example`: every setting with its source, and an example file to start from. The files that
// settings name are checked as `serve` would: what keeps one from being used, and what `serve` warns about. What depends
// on the policy, the store, the network or other processes is not looked at.
import type { X509Certificate } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { AuditError } from '../../audit/audit-error.js';
import { ClientSecretError, readClientSecret } from '../../auth/client-secret.js';
import { readRevocations, RevocationsError } from '../../auth/revocations.js';
import {
  type ChosenSetting,
  type Config,
  type ConfigFault,
  type FileKind,
  readConfig,
  type SettingFile,
  type SettingFlags,
  storeOf,
  writtenText,
} from '../../config/index.js';
import { exampleConfig } from '../../config/example.js';
import { openTlsIdentity, readCertificates, requirePrivateKey, TlsFileError } from '../../http/tls-files.js';
import { readSmallFile, SmallFileError, systemCodeOf } from '../../lib/small-file.js';
import { CONFIG_LIMITS } from '../../limits/command-line.js';
import { SigningError } from '../../signing/signing-error.js';
import { addReport, CliFailure } from '../exit.js';
import { type Answer, type CliIo, write } from '../io.js';
import { configFailure, formats, lineOfFault } from '../options.js';
import { escapeText } from '../render/escape.js';
import { renderTable } from '../render/text.js';
import { type Given, group, verb } from '../verb.js';

const CHECK = formats();

const defineCheck = verb(CHECK, checkConfig, {
  description:
    'read all settings and the files that they name as `serve` would, but not the policy, the store or the network; list each with its source, or every error with its place',
  settings: ['config', 'policy', 'dataDir', 'databaseUrl', 'listen', 'adminListen', 'adminSocket'],
  examples: {
    'what a gateway would run with, and why': 'bailiwick config check',
    'a file before it is deployed': 'bailiwick config check --config etc/bailiwick.yaml --format json',
  },
  json: [
    '{"ok","file","settings":[{"key","value","source","place"}],"faults":[{"place","message","fix"?}],"warnings":[{"place","message","fix"}]}',
    '`source` is flag, environment, file or default; `place` is null for a default. A secret has no value, but "secret": true.',
  ],
});

const defineExample = verb({}, (io) => write(io.stdout, exampleConfig()), {
  description: 'print a `bailiwick.yaml` with every setting, its default and what it does',
  examples: { 'a file to begin with': 'bailiwick config example > bailiwick.yaml' },
});

export const defineConfig = group({
  verbs: { check: defineCheck, example: defineExample },
  examples: {
    'what a gateway would run with, and why': 'bailiwick config check',
    'a file to begin with': 'bailiwick config example > bailiwick.yaml',
  },
});

async function checkConfig(io: CliIo, options: Given<typeof CHECK> & SettingFlags): Promise<Answer> {
  const read = await readConfig({ flags: options, env: io.env, cwd: io.cwd });
  const { file, settings } = read;
  const found = [
    ...(await checkFiles(read.files, Date.now())),
    ...(read.config === null ? [] : await checkUses(read.config)),
  ];
  const placedAs = (kind: Finding['kind']): readonly ConfigFault[] =>
    found.filter((one) => one.kind === kind).map((one) => placed(one, settings));
  const faults = [...read.faults, ...placedAs('fault')];
  const warnings = placedAs('warning');
  const report = { ok: faults.length === 0, file, settings: settings.map(settingJson), faults, warnings };
  if (options.format !== 'json') {
    for (const one of warnings) await write(io.stderr, `warning: ${escapeText(lineOfFault(one))}\n`);
  }
  if (faults.length > 0) {
    throw addReport(configFailure(faults), report);
  }
  const rows = settings.map((one) => [
    one.key,
    one.isSecret ? '(secret)' : one.written === null ? '-' : escapeText(writtenText(one.written)),
    one.place === null ? 'default' : escapeText(one.place),
  ]);
  return { json: () => report, text: () => renderTable(['SETTING', 'VALUE', 'SOURCE'], rows) };
}

function placed({ key, message, fix }: Finding, settings: readonly ChosenSetting[]): ConfigFault {
  const given = settings.find((one) => [key, `${key}File`].includes(one.key) && one.place !== null);
  const place = given?.place ?? key;
  return { place, message: `\`${key}\`: ${message}`, fix };
}

function settingJson({ key, written, isSecret, level, place }: ChosenSetting): object {
  return { key, value: written, source: level, place, ...(isSecret ? { secret: true } : {}) };
}

/** A finding about one setting, by its key. */
interface Finding {
  readonly kind: 'fault' | 'warning';
  readonly key: string;
  readonly message: string;
  readonly fix: string;
}

/** What `serve` asks of settings that are right by themselves. */
async function checkUses(config: Config): Promise<readonly Finding[]> {
  const [{ externalSource, replicaSources }, { StoreError }, { requireStoreOfGateway }, { readWitness }] =
    await Promise.all([
      import('../../db/external.js'),
      import('../../db/failures.js'),
      import('../open-store.js'),
      import('../open-audit.js'),
    ]);
  const { requireAuthentication } = await import('./serve.js');
  const store = storeOf(config);
  // Nothing waits for a connection here.
  const limits = { ...config.database, acquireTimeout: 0 };
  const asked: readonly (readonly [key: string, ask: () => unknown])[] = [
    [
      'dataDir',
      () => {
        requireStoreOfGateway(config);
      },
    ],
    [
      'authentication.keys.enabled',
      () => {
        requireAuthentication(config);
      },
    ],
    ...(store.kind === 'embedded'
      ? []
      : ([
          ['databaseUrl', () => externalSource({ url: store.url, ...limits })],
          ['databaseReadUrl', () => replicaSources(store.readUrls, limits)],
        ] as const)),
    ...config.audit.witnesses.map(
      (witness, index) => [`audit.witnesses.${String(index)}.key`, () => readWitness(witness)] as const,
    ),
  ];
  return asked.flatMap(([key, ask]): readonly Finding[] => {
    try {
      ask();
      return [];
    } catch (error) {
      if (error instanceof StoreError) return [{ kind: 'fault', key, message: error.message, fix: error.help }];
      if (!(error instanceof CliFailure)) throw error;
      return [{ kind: 'fault', key, message: error.message, fix: error.detail.help ?? '' }];
    }
  });
}

async function checkFiles(files: readonly SettingFile[], now: number): Promise<readonly Finding[]> {
  const own = (await Promise.all(files.map((file) => checkFile(file, now)))).flat();
  const [certificate, key] = ['certificate', 'private key'].map((kind) => files.find((file) => file.kind === kind));
  if (certificate === undefined || key === undefined) return own;
  if (own.some((one) => one.kind === 'fault' && [certificate.key, key.key].includes(one.key))) return own;
  return [...own, ...(await checkPair(certificate, key))];
}

/** Checks whether a certificate and a key that can each be used also belong together. */
async function checkPair(certificate: SettingFile, key: SettingFile): Promise<readonly Finding[]> {
  try {
    await openTlsIdentity({ certFile: certificate.path, keyFile: key.path, clientCaFile: null });
    return [];
  } catch (error) {
    return [findingOf('fault', key, wordsOf(error))];
  }
}

async function checkFile(file: SettingFile, now: number): Promise<readonly Finding[]> {
  try {
    const words = await WARNINGS_OF[file.kind](file.path, now);
    return words.map((message) => findingOf('warning', file, message));
  } catch (error) {
    return [findingOf('fault', file, wordsOf(error, file.path))];
  }
}

/** Rejects if the file cannot be used. Otherwise resolves to warnings about it. */
type Check = (path: string, now: number) => Promise<readonly string[]>;

const WARNINGS_OF: Readonly<Record<FileKind, Check>> = {
  certificate: async (path, now) => ageWarnings(path, await readCertificates(path), now),
  authorities: async (path, now) => {
    const certificates = await readCertificates(path);
    // An expired certificate may be listed beside its successor.
    const outdated = certificates.flatMap((one) => ageWarnings(path, [one], now));
    return outdated.length < certificates.length ? [] : outdated.slice(0, 1);
  },
  'private key': async (path) => {
    await requirePrivateKey(path);
    return exposure(path);
  },
  secret: async (path) => {
    await readClientSecret(path);
    return exposure(path);
  },
  keyring: async (path) => {
    const { readKeyring } = await import('../../signing/keyring-file.js');
    await readKeyring({ path, shown: path });
    return [];
  },
  'signing key': async (path) => {
    const { readSigningKey } = await import('../../signing/key-file.js');
    await readSigningKey({ path, shown: path });
    return [];
  },
  // `serve` makes one that is not there.
  'audit folder': async (path) => {
    const { listLogs } = await import('../../audit/log-files.js');
    await listLogs(path).catch(async (error: unknown) => {
      if (systemCodeOf(error) !== 'ENOENT') throw (await import('../../audit/own-log.js')).folderFault(path, error);
    });
    return [];
  },
  revocations: async (path) => {
    await readRevocations(path);
    return [];
  },
  signers: async (path) => {
    const { bytes } = await readSmallFile(path, CONFIG_LIMITS.fileBytes);
    const lines = bytes.toString('utf8').split('\n');
    if (!lines.some((line) => /^[^#\s]/.test(line)))
      throw new SmallFileError('unreadable', 'lists no key that may sign');
    return [];
  },
  // A value that cannot be read has already been reported with the setting.
  'value of a setting': exposure,
};

const FIXES: Readonly<Record<FileKind, string>> = {
  certificate: 'name a PEM file with the certificate of the API, and after it those that lead to its root',
  'private key': 'name a PEM file with the private key of `tls.certFile`, not encrypted, that its owner alone can read',
  authorities: 'name a PEM file with the certificates of the authorities',
  keyring: 'name a file with a `threshold` and `keys`, each a `name` and the `publicKey` that `bailiwick keygen` shows',
  'signing key': 'name a private key of `bailiwick keygen` that its owner alone can read',
  'audit folder': 'name a folder that this user may read and write',
  revocations: 'name a file with a fingerprint of `whoami` or the log in each line; it may be empty',
  secret: 'name a file with the secret of the client and nothing else, that its owner alone can read',
  signers: 'name a file of allowed signers in the format of `ssh-keygen`',
  'value of a setting': 'let its owner alone read it',
};

function ageWarnings(path: string, certificates: readonly X509Certificate[], now: number): readonly string[] {
  const isOver = certificates.find(({ validTo }) => Date.parse(validTo) <= now);
  if (isOver !== undefined) return [`the certificate in \`${path}\` expired on ${dayOf(isOver.validTo)}`];
  const isEarly = certificates.find(({ validFrom }) => Date.parse(validFrom) > now);
  return isEarly === undefined
    ? []
    : [`the certificate in \`${path}\` is not valid before ${dayOf(isEarly.validFrom)}`];
}

function dayOf(text: string): string {
  return new Date(text).toISOString().slice(0, 10);
}

const OTHERS_MAY_READ = 0o004;

async function exposure(path: string): Promise<readonly string[]> {
  const facts = await stat(path).catch(() => null);
  const isExposed = facts !== null && (facts.mode & OTHERS_MAY_READ) !== 0;
  return isExposed ? [`every user of this machine can read \`${path}\``] : [];
}

function findingOf(kind: Finding['kind'], file: SettingFile, message: string): Finding {
  return { kind, key: file.key, message, fix: FIXES[file.kind] };
}

/** `path` is prefixed if the error's message does not begin with it. */
function wordsOf(error: unknown, path = ''): string {
  if (error instanceof SmallFileError || error instanceof RevocationsError || error instanceof ClientSecretError)
    return `the file \`${path}\` ${error.message}`;
  if (error instanceof TlsFileError) return `the file ${error.message}`;
  if (error instanceof AuditError) return error.message;
  if (error instanceof SigningError)
    return error.faults.length === 0 ? `the file ${error.message}` : error.faults.join('; ');
  throw error;
}
