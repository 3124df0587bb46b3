// The engine: one PGlite with one backend, run message by message. It runs on the thread that calls it, so it lives in
// the worker. Any exception other than PostgreSQL's own errors means that the engine is broken and must not be used
// again.
import { PGlite } from '@electric-sql/pglite';
import { EMBEDDED_LIMITS } from '../../limits/store.js';
import { reasonOf } from '../failures.js';
import { PLANNER_SETTINGS, SCHEMA } from '../session-settings.js';
import { DurableFS } from './durable-fs.js';
import { errorFields, framesOf, queryFrame, TYPE } from './wire.js';

export interface EmbeddedEngine {
  /** Runs whole messages and returns the answer. Synchronous: nothing else happens on this thread in the meantime. */
  run(messages: Uint8Array): Buffer;
  /** How many files were synced to the disk so far. */
  syncs(): number;
  /** Makes a checkpoint, so that the next start has nothing to recover. */
  close(): Promise<void>;
}

export interface EngineOptions {
  readonly folder: string;
  /** Called once, when the engine has failed for good. Must not return into the engine. */
  readonly onBroken: (error: unknown) => never;
}

/** PostgreSQL's error exit out of a statement, which PGlite handles. */
const LONGJMP = 100;

/** Opens the folder, creating a database in an empty one. Rejects with the engine's last words when it cannot start. */
export async function openEngine({ folder, onBroken }: EngineOptions): Promise<EmbeddedEngine> {
  const files = new DurableFS(folder);
  const stderr: string[] = [];
  const db = new Engine({
    fs: files,
    startParams: [
      ...PGlite.defaultStartParams.filter((parameter) => parameter !== '-F'),
      ...[
        '-c',
        'wal_sync_method=fsync',
        '-c',
        'TimeZone=UTC',
        '-c',
        `max_wal_size=${EMBEDDED_LIMITS.walSize}`,
        '-c',
        `shared_buffers=${EMBEDDED_LIMITS.sharedBuffers}`,
      ],
      ...[...PLANNER_SETTINGS].flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    onStderr: (line) => {
      stderr.push(line);
      if (stderr.length > EMBEDDED_LIMITS.lastWords) stderr.shift();
      return false;
    },
  });
  try {
    await db.waitReady;
  } catch (error) {
    throw withLastWords(error, stderr);
  }
  const broken = (error: unknown): never => onBroken(withLastWords(error, stderr));
  const module: { _PostgresMainLoopOnce: () => void } = db.Module;
  const once = module._PostgresMainLoopOnce;
  module._PostgresMainLoopOnce = () => {
    try {
      once();
    } catch (error) {
      // PGlite would swallow this error and continue with an engine that has exited.
      if (statusOf(error) !== LONGJMP) broken(error);
      throw error;
    }
  };
  const run = (messages: Uint8Array): Buffer => {
    const output: Buffer[] = [];
    const done = db.execProtocolRawStream(messages, {
      syncToFs: false,
      onRawData: (bytes) => {
        output.push(Buffer.from(bytes)); // a copy: the bytes are the engine's memory
      },
    });
    done.catch(broken);
    return Buffer.concat(output);
  };
  // For the one session that all clients share.
  runWell({ run }, `create schema if not exists ${SCHEMA}`);
  runWell({ run }, `set search_path = ${SCHEMA}`);
  return {
    run,
    syncs: () => files.syncs,
    close: () => db.close(),
  };
}

/** PGlite asks at its start which arrays there are, to parse rows, which nobody does here: a third of a cold start. */
class Engine extends PGlite {
  override _initArrayTypes(): Promise<void> {
    return Promise.resolve();
  }
}

/** Makes a commit to find out whether commits reach the disk. Throws if the engine cannot make it. */
export function isDurable(engine: EmbeddedEngine): boolean {
  const before = engine.syncs();
  runWell(engine, "select pg_logical_emit_message(true, 'bailiwick', 'start')");
  return engine.syncs() > before;
}

/** Throws what the engine refuses the statement for: at a start, that is a damaged store. */
function runWell(engine: Pick<EmbeddedEngine, 'run'>, statement: string): void {
  for (const frame of framesOf(engine.run(queryFrame(statement))))
    if (frame[0] === TYPE.errorResponse) throw new Error(errorFields(frame).get('M') ?? 'no reason given');
}

/** The engine throws little more than "aborted". The reason is in what it wrote to stderr before. */
function withLastWords(error: unknown, stderr: readonly string[]): Error {
  const serious = stderr.filter((line) => /\b(?:PANIC|FATAL):/.test(line));
  const words = serious.length > 0 ? serious : stderr;
  return new Error(words.length === 0 ? reasonOf(error) : words.join('; '), { cause: error });
}

function statusOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'status' in error ? error.status : null;
}
