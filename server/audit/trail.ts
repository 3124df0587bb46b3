// The audit log of one process: events of the answers that it gives, events from the outbox, and what happens while
// they cannot be written (docs/audit.md "When it cannot be written").
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type { Database } from '../db/database.js';
import { reasonOf, sqlStateOf, toldText } from '../db/failures.js';
import { endsWithin } from '../lib/ends-within.js';
import type { Clock, IdSource, Logger } from '../lib/ports.js';
import { AUDIT_LIMITS } from '../limits/logs.js';
import { ApiProblem } from '../problem.js';
import { AuditError } from './audit-error.js';
import { type Head, readLine } from './chain.js';
import { makeDrainer } from './drainer.js';
import { type AuditEvent, type EventParts, GATEWAY, makeEvent, type Operation } from './event.js';
import type { RecordsHeld } from './listed.js';
import { type AnswerParts, prepareEvent, type PreparedEvent } from './prepare-event.js';
import { type FileLayer, systemFiles } from './file-layer.js';
import { type CheckpointSettings, keepCheckpoints } from './keep-checkpoints.js';
import { listLogs } from './log-files.js';
import { isFrom, missingFrom } from './missing-logs.js';
import { type NotedHead, knownLogs } from './outbox.js';
import { type OwnedLog, ownLog } from './own-log.js';
import { eventPolicy, type Provenance } from './provenance.js';
import { readFiles } from './read-log.js';
import { FULL, makeRoom, type Place, type TakePlace } from './room.js';
import { makeWriter } from './writer.js';

export interface AuditSettings {
  readonly folder: string;
  /** Which queries are recorded. */
  readonly queries: 'all' | 'denied' | 'none';
  /** How events of queries hold the records that were shown. Defaults to a set. */
  readonly records?: RecordsHeld;
  /** Whether queries that must be recorded are answered or refused while the log cannot be written. */
  readonly onFailure: 'refuse' | 'continue';
}

/**
 * Why nothing is recorded: the files cannot be written, the store does not give the events of commands, the process that
 * owns the log is silent, or too many events wait to be written.
 */
export type AuditFault = 'files' | 'store' | 'owner' | 'full';

/** The state that decides which requests are refused. */
export interface TrailState {
  /** Why events that are recorded now do not reach the disk; null if they do. */
  readonly unwritten: AuditFault | null;
  /** Why commands could not be recorded for longer than `limits.auditLag`; null otherwise. */
  readonly behind: AuditFault | null;
}

/** The part of a log that request handlers use. */
export interface Recorder {
  readonly queries: AuditSettings['queries'];
  /** Queues an event about an answer, in the room that its request has. Nobody waits for the disk. */
  readonly record: (parts: NewEvent, place?: Place | null) => void;
  /** Room for the events of a request. */
  readonly takePlace: TakePlace;
  /** Like `record`, for what the gateway does on its own. */
  readonly recordOwn: (operation: OwnOperation, more?: OwnParts) => void;
  /** Counts events that did not get here. */
  readonly noteLost: (events: number) => void;
  /** Throws `audit.unavailable` if a query cannot be recorded now and the settings refuse such queries. */
  readonly checkQueries: () => void;
  /** Throws `audit.unavailable` if commands could not be recorded for longer than `limits.auditLag`. */
  readonly checkCommands: () => void;
  /** Call this after a transaction has written into the outbox. */
  readonly wake: () => void;
  /** Counts of events since the start. */
  readonly counts: () => { readonly written: number; readonly lost: number };
  /** Why queries or commands are refused, as far as recording them goes; null if they are answered. */
  readonly fault: () => AuditFault | null;
  /** What the log waits for. */
  readonly lags: () => AuditLags;
}

/** For how many milliseconds something has failed; 0 while it works. */
export interface AuditLags {
  /** Writing the files of the log. */
  readonly file: number;
  /** Taking events from the outbox in the store, while the files can be written. */
  readonly store: number;
  /** Why, while one of them fails. */
  readonly error?: string;
  /** Signing checkpoints; absent where none are signed. */
  readonly checkpoint?: number;
  /** How many events in the store wait for a log that does not take them; absent if none do. */
  readonly stuck?: number;
}

export interface AuditTrail extends Recorder {
  /**
   * Like `record`, for an event that another process of this gateway has made. With `written` it has room there already.
   * That is called once the event is on the disk.
   */
  readonly add: (event: AuditEvent, written?: () => void) => void;
  readonly state: () => TrailState;
  /** The log's name, and its head on the disk. */
  readonly at: () => { readonly log: string; readonly head: Head };
  /** Resolves once another process has taken over the log. Nothing is recorded any more then. */
  readonly taken: Promise<void>;
  /** Call this once no request is answered any more. False if something waits for a disk that does not answer. */
  readonly close: () => Promise<boolean>;
}

export type NewEvent = Omit<AnswerParts, 'id'>;

export interface TrailOptions extends AuditSettings {
  readonly db: Database;
  /** Milliseconds, as `limits.auditLag`. */
  readonly lag: number;
  readonly clock: Clock;
  readonly nextId: IdSource;
  readonly log: Logger;
  /** Signs checkpoints of the log. Defaults to none. */
  readonly checkpoints?: CheckpointSettings | null;
  readonly files?: FileLayer;
  readonly fileBytes?: number;
  readonly retryDelay?: number;
  readonly lookInterval?: number;
  /** Milliseconds after which a disk that does not answer counts as failing, also at the end. */
  readonly patience?: number;
}

/** Throws `AuditError` if the log cannot be continued. */
export async function openTrail(options: TrailOptions): Promise<AuditTrail> {
  const { db, folder, queries, records = 'set', onFailure, lag: longest, clock, nextId, log: logger } = options;
  const { files = systemFiles, checkpoints = null, patience = AUDIT_LIMITS.writePatience, ...rest } = options;
  const owned = await ownLog(folder);
  const { log } = owned;
  try {
    const known = await knownLogs(db);
    await checkNoted(known, owned);
    const place = { host: hostname(), folder: resolve(folder) };
    const missing = await missingFrom(folder, known.filter(isFrom(place, db.kind)));
    const told = { file: '', store: '' };
    const writer = makeWriter({ ...rest, ...owned, files, logger: noting(logger, told, 'file'), patience });
    const draining = { ...rest, db, folder, log, writer, isOwner: owned.isOwner, place };
    const drainer = await makeDrainer({ ...draining, logger: noting(logger, told, 'store') });
    const begun = writer.head().seq;
    let lost = 0;
    let lostEver = 0;
    const lose = (events: number): void => {
      if (lost === 0) logger.error({ log }, 'events of the audit log are lost, because too many wait to be written');
      lost += events;
      lostEver += events;
    };
    const lags = (): AuditLags => {
      const now = performance.now();
      const drain = drainer.failing();
      const file = now - Math.min(writer.failingSince() ?? now, drain?.by === 'files' ? drain.since : now);
      // Without its files, the log takes nothing from the store either.
      const store = file > 0 || drain === null ? 0 : now - drain.since;
      const error = store > 0 || writer.failingSince() === null ? told.store : told.file;
      const checkpoint = kept === null ? {} : { checkpoint: now - (kept.failingSince() ?? now) };
      const stuck = drainer.stuck();
      return { file, store, ...(file + store > 0 ? { error } : {}), ...checkpoint, ...(stuck > 0 ? { stuck } : {}) };
    };
    const state = (): TrailState => {
      const { file, store } = lags();
      const behind = file > longest ? 'files' : store > longest ? 'store' : null;
      return { unwritten: writer.failingSince() !== null ? 'files' : writer.isFull() ? 'full' : null, behind };
    };
    /** The log itself says how many events it lacks, as soon as it has room for that. */
    const noteLoss = (): void => {
      if (lost === 0 || writer.failingSince() !== null || !writer.add(own('audit.lost', { items: lost }))) return;
      logger.warn({ log, events: lost }, 'the audit log takes events again, and says how many it has lost');
      lost = 0;
    };
    const add = (event: PreparedEvent, written?: () => void): void => {
      noteLoss();
      if (!writer.add(event, written)) lose(1);
    };
    const own: MakeOwn = (operation, more = {}) =>
      makeEvent({
        outcome: 'allowed',
        ...more,
        id: nextId(),
        requestId: nextId(),
        at: clock.now(),
        kind: 'admin',
        actor: GATEWAY,
        operation,
      });
    if (missing.length > 0) {
      const lost = missing.map(({ hash, log: name, seq }) => ({ hash, log: name, seq }));
      logger.error({ log, lost }, 'audit logs that the store knows are missing: see `bailiwick audit verify`');
      writer.add(own('audit.missing', { lost }));
    }
    if (owned.torn !== null) {
      logger.warn({ log, kept: owned.torn }, 'an incomplete line at the end of the audit log was cut off');
      writer.add(own('audit.cut'));
    }
    if (!owned.isFenced) logger.warn({ log }, UNFENCED);
    drainer.wake();
    const kept =
      checkpoints === null ? null : keepCheckpoints({ ...checkpoints, folder, log, head: writer.head, logger });
    return {
      queries,
      record: (parts, place) => {
        const event = prepareEvent({ ...parts, id: nextId() }, records);
        add(event, place?.use() ?? undefined);
      },
      takePlace: makeRoom({ isStrict: onFailure === 'refuse' }),
      add,
      noteLost: lose,
      state,
      recordOwn: (operation, more) => {
        const begun = operation === 'gateway.start' ? { recording: { queries, records } } : {};
        add(own(operation, { ...more, ...begun }));
      },
      ...makeChecks({ queries, onFailure }, state),
      counts: () => ({ written: writer.head().seq - begun, lost: lostEver }),
      lags,
      wake: drainer.wake,
      at: () => ({ log, head: writer.head() }),
      taken: owned.taken,
      close: async () => {
        const ended = async (work: Promise<void>, undone: string): Promise<boolean> => {
          const isOver = await endsWithin(work, patience);
          if (!isOver) logger.error({ log, patience }, undone);
          return isOver;
        };
        await ended(drainer.close(), UNDONE.drain);
        noteLoss();
        const isWritten = await writer.close();
        if (!isWritten && kept !== null) logger.error({ log }, UNDONE.sign);
        const isSigned = isWritten && (kept === null || (await ended(kept.end(), UNDONE.sign)));
        // What has not ended may still write, so nobody else may have the log before this process is gone.
        if (isSigned) return ended(owned.release(), UNDONE.release);
        logger.error({ log }, UNDONE.keep);
        return false;
      },
    };
  } catch (error) {
    await endsWithin(owned.release(), patience);
    throw error;
  }
}

/** The same log. It keeps the words of the last error that a part of the trail has told. */
function noting<Part extends string>(logger: Logger, told: Record<Part, string>, part: Part): Logger {
  return {
    ...logger,
    error: (fields, message) => {
      const { error } = fields;
      const state = sqlStateOf(error);
      if (error !== undefined) told[part] = state === null ? reasonOf(error) : toldText(state, error);
      logger.error(fields, message);
    },
  };
}

/** Which requests are refused in each state of the log. */
export function makeChecks(
  { queries, onFailure }: Pick<AuditSettings, 'queries' | 'onFailure'>,
  state: () => TrailState,
): Pick<Recorder, 'checkQueries' | 'checkCommands' | 'fault'> {
  const ofQueries = (): AuditFault | null => (onFailure === 'refuse' && queries === 'all' ? state().unwritten : null);
  const ofCommands = (): AuditFault | null => state().behind;
  const check = (fault: AuditFault | null): void => {
    if (fault !== null) throw new ApiProblem('audit.unavailable', { retryAfter: 1, title: TITLES[fault] });
  };
  return {
    checkQueries: () => {
      check(ofQueries());
    },
    checkCommands: () => {
      check(ofCommands());
    },
    fault: () => ofQueries() ?? ofCommands(),
  };
}

const TITLES: Readonly<Record<AuditFault, string>> = Object.freeze({
  files: 'The request cannot be recorded now: the files of the audit log cannot be written',
  store: 'The request cannot be recorded now: the store does not give its events to the audit log',
  full: FULL,
  owner: 'The request cannot be recorded now: the process that owns the audit log does not answer',
});

type OwnOperation = Extract<Operation, `${'audit' | 'gateway' | 'policy'}.${string}`>;
type OwnParts = Partial<Pick<EventParts, 'items' | 'lost' | 'outcome' | 'policy' | 'recording' | 'snapshot'>>;
type MakeOwn = (operation: OwnOperation, more?: OwnParts) => AuditEvent;

/** Records that a gateway starts and by which policies it decides. Returns a function that records that it stops. */
export function recordLife(trail: Pick<Recorder, 'recordOwn'>, policies: Policies): () => void {
  const partsOf = ({ policy, reason: _, ...rest }: RecordedPolicy, reason?: string): OwnParts => ({
    snapshot: policy.digest,
    policy: eventPolicy({ ...rest, ...(reason === undefined ? {} : { reason }) }),
  });
  trail.recordOwn('gateway.start', partsOf(policies.current()));
  policies.subscribe(({ to }) => {
    trail.recordOwn('policy.activate', partsOf(to, to.reason));
  });
  return () => {
    trail.recordOwn('gateway.stop', { snapshot: policies.current().policy.digest });
  };
}

interface RecordedPolicy extends Pick<Provenance, 'askedBy' | 'generation' | 'signers' | 'source' | 'statement'> {
  readonly reason: string;
  readonly policy: { readonly digest: string };
}

/** The part of the active policy that is recorded. */
interface Policies {
  readonly current: () => RecordedPolicy;
  readonly subscribe: (listener: (change: { readonly to: RecordedPolicy }) => void) => () => void;
}

const UNFENCED =
  'the owner of the audit log before this one may still write into its last file, which could not be copied: see `bailiwick audit verify`';

/** What was not done at the end because something does not answer. */
const UNDONE = Object.freeze({
  drain: 'events may be left in the outbox: the next start of this audit log takes them',
  sign: 'the last checkpoint of the audit log was not signed: the next start signs it',
  release: 'the lock of the audit log could not be released: it is free once this process is gone',
  keep: 'the audit log stays locked until this process is gone, because the disk may still take what was written',
});

/**
 * The store has noted the head of each log. A log that ends before its noted head, or has a different event there, is
 * not continued as if it were intact.
 */
async function checkNoted(known: readonly NotedHead[], { folder, log, head }: OwnedLog): Promise<void> {
  const noted = known.find((one) => one.log === log);
  if (noted === undefined) return;
  const there = noted.seq === head.seq ? head.hash : await hashAt(folder, log, noted.seq);
  if (there === noted.hash) return;
  const how = there === null ? 'has lost its end' : 'was rewritten';
  throw new AuditError(
    'audit.truncated',
    `the audit log ${log} ${how}: event ${String(noted.seq)} is not the one that the store has noted`,
  );
}

async function hashAt(folder: string, log: string, seq: number): Promise<string | null> {
  const files = (await listLogs(folder)).get(log) ?? [];
  const file = files.findLast(({ first }) => first <= seq);
  for await (const { lines } of readFiles(file === undefined ? [] : [file])) {
    for (const text of lines) {
      const line = text === null ? null : readLine(text);
      if (line?.seq === seq) return line.hash;
    }
  }
  return null;
}
