// The policy that `serve` begins with, chosen from what it was given and what the store has, and the source that it follows from then on.
// A policy that cannot be served at the start is reported with its exit status.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, storeOf, tableFolderOf } from '../config/index.js';
import { type Logger, systemClock } from '../lib/ports.js';
import { answered, NoAnswer, noteStuckDisk } from '../lib/stuck-disk.js';
import { SOURCE_LIMITS } from '../limits/policy.js';
import type { PolicySource } from '../policy/active/active-policy.js';
import type { Started, StartOffer, StartOptions } from '../policy/active/start-policy.js';
import { readSnapshotFile, sha256Of } from '../policy/open/snapshot-bytes.js';
import { openBeside, type TableFinder } from '../policy/open/snapshot-thread.js';
import { hasTables, tableFile } from '../policy/open/table-file.js';
import {
  keyringOf,
  type PublicationRule,
  releaseOffer,
  signingReads,
  statementInTime,
  verifyOffer,
} from '../policy/open/verify-offer.js';
import { type SignedStatement, verifyPublication } from '../policy/open/verify-publication.js';
import { faultOfRefusal, type PolicyFault, PolicyRefused, refusal } from '../policy/policy-fault.js';
import type { Content, Offer, Source } from '../policy/sources/source.js';
import { timedSource } from '../policy/sources/timed-source.js';
import type { NamedFile } from '../signing/named-file.js';
import { makeLogger } from '../telemetry/log.js';
import { CliFailure, EXIT, type ExitStatus, usage } from './exit.js';
import { fileFailure } from './files.js';
import type { CliIo } from './io.js';
import { type OpenedPolicy, openPolicy } from './open-policy.js';
import { storeFailure } from './open-store.js';
import { escapeText } from './render/escape.js';
import { asFailure, statusOfFaults } from './statement-flags.js';

export interface PolicyAtStart {
  /** Hands over what is offered and keeps nothing of it. Throws `CliFailure`, and rejects if the store fails. */
  readonly takeOffered: (tables: TableFinder | null) => Promise<StartOffer | NotOffered>;
  /** Null if the gateway only follows the store. */
  readonly source: Source | null;
  /** Whether the store is where policies come from. */
  readonly isInStore: boolean;
  /**
   * Looks again, because what is offered may have become old, and keeps nothing of what was found before. Null if there
   * is nowhere to look again.
   */
  readonly again: (() => Promise<PolicyAtStart>) | null;
}

/** What one look has found. */
interface Found extends Omit<PolicyAtStart, 'again'> {
  /** Keeps nothing of what is offered. */
  readonly forget: () => void;
}

/** Nothing is offered, or nothing that could be served. */
interface NotOffered {
  /** Why. This is reported if the store has no policy either. */
  readonly without: CliFailure;
}

export interface Finding {
  /** The value of `--policy` as it was typed. */
  readonly typed?: string | undefined;
  /** Ends what sources and threads do; what was found then is of no use. Defaults to none. */
  readonly signal?: AbortSignal;
}

/** Throws `CliFailure`. */
export async function policyAtStart(io: CliIo, config: Config, how: Finding = {}): Promise<PolicyAtStart> {
  const { forget, ...found } = await find(io, config, how);
  const again = (): Promise<PolicyAtStart> => {
    forget();
    return policyAtStart(io, config, how);
  };
  return { ...found, again: found.source === null ? null : again };
}

async function find(io: CliIo, config: Config, { typed, signal = NEVER }: Finding): Promise<Found> {
  // The path as it was typed, so that a refusal names what the user knows.
  if (config.policy !== null) {
    return pathAtStart(io, { path: config.policy, shown: typed ?? config.policy }, config, signal);
  }
  const source = await sourceOf(io, config);
  if (source !== null) return offeredAtStart(io, source, config, signal);
  const store = storeOf(config);
  // No store is created only to find that it has no policy.
  if (store.kind === 'embedded' && !existsSync(join(store.dataDir, 'store'))) throw noPolicy();
  return { ...given({ without: noPolicy() }), source: null, isInStore: true };
}

interface Serving extends Omit<StartOptions, 'offered'> {
  readonly found: PolicyAtStart;
  readonly log: Logger;
  /** Ends what the source does. Defaults to none. */
  readonly signal?: AbortSignal;
}

export type StartedFrom = Started & Pick<PolicyAtStart, 'source'>;

const NEVER = new AbortController().signal;

/** How often a start looks again because what it has read may have been replaced. */
const LOOKS = 5;

/**
 * Also returns the source to follow. Throws `CliFailure`: that of the source if there is no policy at all, and 6 if the
 * policy in force cannot be served.
 */
export async function startServing(
  { found, log, signal = NEVER, ...options }: Serving,
  looks = LOOKS,
): Promise<StartedFrom> {
  const taken = await found.takeOffered(options.tables ?? null).catch(async (error: unknown) => {
    throw error instanceof CliFailure ? error : await storeFailure(error);
  });
  signal.throwIfAborted();
  const [offered, without] = 'without' in taken ? [null, taken.without] : [taken, null];
  const { OfferReplaced, startPolicy } = await import('../policy/active/start-policy.js');
  const { source, again } = found;
  const isOffered = source === null || looks === 0 ? {} : { isOffered: () => stillOffers(source, signal) };
  const start = await startPolicy({ ...options, offered, ...isOffered }).catch(async (error: unknown) => {
    if (error instanceof OfferReplaced) return error;
    if (!(error instanceof PolicyRefused)) throw await storeFailure(error);
    const { code, message } = error.fault;
    throw new CliFailure(EXIT.precondition, code, message);
  });
  if (start instanceof OfferReplaced) {
    if (again === null) throw start;
    return startServing({ found: await again(), log, signal, ...options }, looks - 1);
  }
  if (start === null) throw without ?? new TypeError('unreachable: neither a policy nor a reason for none');
  if (without !== null && !found.isInStore) {
    const { policy } = start.candidate;
    log.error(
      {
        ...{ code: without.code, reason: without.message, snapshot: policy.digest, generation: start.generation },
        ageSeconds: Math.floor(start.age / 1000),
      },
      'the source offers nothing that can be served, and what was in force last is',
    );
  }
  // The store is the source there, and has just confirmed it.
  return { ...start, source, ...(found.isInStore ? { age: 0 } : {}) };
}

/** Whoever gets another answer looks again, and is told then what is wrong. */
async function stillOffers(source: Source, signal: AbortSignal): Promise<boolean> {
  const found = await source.look('poll', signal).catch(() => null);
  if (found?.kind === 'offer') await releaseOffer(found.offer);
  return found?.kind === 'same';
}

type TakeOffered = Found['takeOffered'];

type Once = Pick<Found, 'takeOffered' | 'forget'>;

function given(offered: StartOffer | NotOffered): Once {
  return once(() => Promise.resolve(offered));
}

/** The first policy may be large, and must not be held for as long as the gateway runs. */
function once(take: TakeOffered): Once {
  let left: TakeOffered | null = take;
  return {
    takeOffered: (tables) => {
      if (left === null) throw new TypeError('unreachable: the first policy is taken once');
      const taking = left;
      left = null;
      return taking(tables);
    },
    forget: () => {
      left = null;
    },
  };
}

function noPolicy(): CliFailure {
  return new CliFailure(EXIT.usage, 'serve.policy', 'there is no policy to serve', {
    help: 'name a policy folder or a snapshot with --policy',
  });
}

const MAIN = 'refs/heads/main';

/** The source that is followed instead of a path; null if none is set. One that is not used is not loaded. */
async function sourceOf(io: CliIo, { snapshot }: Config): Promise<Source | null> {
  const { directory, url, caFile, privateNetwork, git, ref, path, signersFile } = snapshot.source;
  if (directory !== null) {
    const { makeDirectorySource } = await import('../policy/sources/directory-source.js');
    return timedSource(makeDirectorySource(directory));
  }
  if (git !== null) {
    const { makeGitSource } = await import('../policy/sources/git-source.js');
    return makeGitSource({
      repository: git,
      ref: ref ?? MAIN,
      path: path ?? '',
      signersFile,
      programs: io.env['PATH'] ?? '',
    });
  }
  if (url === null) return null;
  const { makeUrlSource } = await import('../policy/sources/url-source.js');
  const statements = snapshot.requireSignature ? 'required' : 'ignored';
  return makeUrlSource({ url, caFile, reach: privateNetwork ? 'private' : 'public', statements });
}

async function pathAtStart(io: CliIo, named: NamedFile, config: Config, signal: AbortSignal): Promise<Found> {
  const { path, shown } = named;
  if (shown.includes(':') && !existsSync(path)) {
    throw usage(
      `there is no folder or snapshot \`${shown}\`, and a gateway does not serve a revision: it follows what it serves`,
      'to serve a branch or a tag, name its repository with `--policy-git`',
    );
  }
  // Made before the policy is read, so that any change from here on is noticed.
  const { makePathSource } = await import('../policy/sources/path-source.js');
  const soon = <Answer>(ask: (heard: () => void) => Promise<Answer>, silence: number): Promise<Answer> =>
    answered(ask, silence).catch((error: unknown) => {
      throw error instanceof NoAnswer ? fileFailure(error, shown) : error;
    });
  const followed =
    shown === '-' ? null : timedSource(await soon((heard) => makePathSource(path, heard), SOURCE_LIMITS.silence));
  const start = { source: followed, isInStore: false };
  const take = async (opened: Pick<OpenedPolicy, 'policy' | 'bytes' | 'source'>): Promise<StartOffer | NotOffered> => {
    const { policy, bytes, source } = opened;
    const statement = await requirePublication(opened, named, config).catch(expired);
    if (statement !== null && 'without' in statement) return statement;
    const from: PolicySource = source === 'stdin' ? { kind: source } : { kind: source, path };
    // What was compiled just now states what was computed just now.
    return { policy, bytes, statement, labels: source === 'folder' ? 'verified' : 'unverified', from };
  };
  if (followed !== null && (await soon(() => hasTable({ kind: 'file', path }, config), SOURCE_LIMITS.lookTime))) {
    const offered = once(async (tables) => {
      const opening = openBeside({ kind: 'file', path }, { signed: null, tables, signal });
      const opened = await opening.catch((error: unknown) => {
        throw error instanceof PolicyRefused ? notServed(followed, error.fault) : error;
      });
      return take({ ...opened, source: 'file' });
    });
    return { ...start, ...offered };
  }
  return { ...start, ...given(await take(await openPolicy(io, shown, 'serve'))) };
}

/** What a source offers under such a statement is not taken, and what is in force stays so. */
function expired(error: unknown): NotOffered {
  if (error instanceof CliFailure && error.status === EXIT.stale) return { without: error };
  throw error;
}

/**
 * Whether a table was kept of exactly this snapshot. Then this version has verified it before, and there is a store,
 * which has the hash of the table: so the snapshot is opened once the store is.
 */
async function hasTable(content: Content, config: Config): Promise<boolean> {
  const folder = tableFolderOf(config);
  if (folder === null || !hasTables(folder)) return false;
  const digest = await digestOf(content);
  return digest !== null && existsSync(tableFile(folder, digest));
}

/** Null if it is no snapshot that can be read. */
async function digestOf(content: Content): Promise<string | null> {
  if (content.kind === 'folder') return null;
  if (content.digest !== undefined) return content.digest;
  if (content.kind === 'parts') return sha256Of(...content.parts);
  const read = await readSnapshotFile(content.path);
  return read.kind === 'read' ? sha256Of(read.bytes) : null;
}

/** If the source offers nothing now, the gateway can still begin with the policy that was in force last. */
async function offeredAtStart(io: CliIo, source: Source, config: Config, signal: AbortSignal): Promise<Found> {
  const log = makeLogger({ level: config.log.level, destination: io.stderr });
  const start = { source, isInStore: false };
  const orNot = (error: unknown): NotOffered => ({ without: notServed(source, faultOfRefusal(error)) });
  const open = async (offer: Offer, tables: TableFinder | null): Promise<StartOffer> => {
    const { from, onTaken } = offer;
    const verified = await verifyOffer(
      offer,
      { rule: publicationRule(config), clock: systemClock, log, tables },
      signal,
    );
    onTaken?.();
    return { ...verified, from };
  };
  try {
    const found = await source.look('now', signal);
    if (found.kind !== 'offer') throw refusal('source.unsettled', 'somebody is still writing there');
    if (!(await hasTable(found.offer.content, config))) return { ...start, ...given(await open(found.offer, null)) };
    return { ...start, ...once((tables) => open(found.offer, tables).catch(orNot)) };
  } catch (error) {
    return { ...start, ...given(orNot(error)) };
  }
}

function notServed({ facts }: Source, { code, message, problems }: PolicyFault): CliFailure {
  const text = problems.map((line) => escapeText(line)).join('\n');
  const place = Object.values(facts).join(' ');
  return new CliFailure(statusOf(code), code, `the policy of \`${place}\` is not served: ${message}`, {
    ...(text === '' ? {} : { text }),
    report: { source: facts, problems },
  });
}

const STATUSES: ReadonlyMap<string, ExitStatus> = new Map<string, ExitStatus>([
  ['policy.invalid', EXIT.policyInvalid],
  ['policy.tests_failed', EXIT.testsFailed],
  ['policy.guardrail_violated', EXIT.guardrailViolated],
  ['source.forged', EXIT.integrity],
  ['source.unreachable', EXIT.away],
  // Whoever publishes does that elsewhere, and may be about to.
  ['source.missing', EXIT.away],
  ['source.unsettled', EXIT.away],
]);
const PUBLISHED = /^(?:snapshot|signature|statement)\./;

function statusOf(code: string): ExitStatus {
  const status = STATUSES.get(code);
  if (status !== undefined) return status;
  if (PUBLISHED.test(code)) return statusOfFaults([{ code }]);
  return code.startsWith('source.') ? EXIT.precondition : EXIT.usage;
}

/** What is demanded of a snapshot, now and while the gateway runs: that it was published. Null if no signature is required. */
export function publicationRule({ snapshot }: Config): PublicationRule | null {
  const { requireSignature, keyringFile, environment } = snapshot;
  if (!requireSignature || keyringFile === null) return null;
  return { keyring: { path: keyringFile, shown: keyringFile }, environment };
}

/**
 * The statement under which it was published; null if none is required. Throws `CliFailure` 2, 6, 8 or 9, like
 * `verify`.
 */
async function requirePublication(
  { policy, source }: Pick<OpenedPolicy, 'policy' | 'source'>,
  { path, shown }: NamedFile,
  config: Config,
): Promise<SignedStatement | null> {
  const rule = publicationRule(config);
  if (rule === null) return null;
  if (source !== 'file') {
    throw new CliFailure(
      EXIT.usage,
      'serve.signature',
      `a signature is required, and ${source === 'folder' ? `\`${shown}\` is a folder` : 'a snapshot on stdin has no statement beside it'}`,
      { help: 'serve a snapshot file that was signed: `bailiwick compile`, then `bailiwick sign`' },
    );
  }
  const { signal } = new AbortController();
  const verify = async (): ReturnType<typeof verifyPublication> => {
    const keyring = await keyringOf(rule, signal);
    const expected = { keyring, at: systemClock.now(), environment: rule.environment, minimumGeneration: null };
    return verifyPublication(policy, statementInTime({ path, shown }, signal), expected);
  };
  const { faults, signed } = await asFailure(verify()).catch(async (error: unknown) => {
    if (!(await signingReads.end(0))) noteStuckDisk();
    throw error;
  });
  if (signed !== null) return signed;
  const [{ code, message } = { code: 'signature.missing', message: 'it has no statement' }] = faults;
  throw new CliFailure(statusOfFaults(faults), code, `\`${shown}\` is not served: ${message}`, {
    help: `see \`bailiwick verify ${shown} --keyring ${rule.keyring.shown}\``,
    report: { snapshot: policy.digest, faults },
  });
}
