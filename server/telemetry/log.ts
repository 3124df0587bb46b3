// The gateway's own log: JSON lines for the operator, through pino. Errors are described by name, code and place.
// Messages from the database are shown only where they quote no stored or bound values, because others may read a
// shared log. No line holds a credential, wherever a client has put it.
import type { Writable } from 'node:stream';
import { pino } from 'pino';
import { LOG_LIMITS } from '../limits/logs.js';
import { makeLogDestination } from './log-destination.js';
import { maskCredentials } from '../lib/mask.js';
import type { Logger } from '../lib/ports.js';
import { isTold } from './sql-state.js';

export interface LogOptions {
  /** Where lines go. Defaults to standard error. */
  readonly destination?: Writable;
  /** Fields of every line. Defaults to none. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** The lowest level that is written. Defaults to `info`. */
  readonly level?: LogLevel;
}

export type LogLevel = 'info' | 'warn' | 'error';

export interface ClosableLogger extends Logger {
  /** Resolves when everything that is buffered is written, or cannot be. */
  readonly flush: () => Promise<void>;
}

const STDERR = 2;

export function makeLogger(options: LogOptions = {}): ClosableLogger {
  const own = options.destination === undefined ? makeLogDestination(STDERR) : null;
  const destination = options.destination ?? own;
  const log = pino(
    {
      level: options.level ?? 'info',
      base: options.fields ?? null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: describeError },
    },
    {
      write: (line: string) => {
        destination?.write(maskCredentials(line));
      },
    },
  );
  return {
    info: (fields, message) => {
      log.info(fields, message);
    },
    warn: (fields, message) => {
      log.warn(fields, message);
    },
    error: (fields, message) => {
      log.error(fields, message);
    },
    flush: async () => own?.flush(),
  };
}

/** No class of these begins with E, as the names of the system's errors do (EROFS, EPERM). */
const SQLSTATE = /^(?!E)[0-9A-Z]{5}$/;
/** Their messages name a table, a schema, a role or a kind of statement, and no values. Verbs have words of their own for them. */
const NO_RIGHT = '42501';
const IN_TRANSACTION = /^25/;

/** An error as the log shows it: what it is and where it arose, with its causes. */
export function describeError(error: unknown, causes: number = LOG_LIMITS.causes): unknown {
  if (!(error instanceof Error)) return typeof error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  const stack = placesOf(error);
  const cause = error.cause === undefined || causes === 0 ? undefined : describeError(error.cause, causes - 1);
  if (code !== undefined && SQLSTATE.test(code)) {
    const told =
      isTold(code) || code === NO_RIGHT || IN_TRANSACTION.test(code)
        ? { message: error.message.slice(0, LOG_LIMITS.databaseMessage) }
        : {};
    return { type: 'DatabaseError', code, ...told, ...pick(error, ['routine', 'constraint', 'table']), stack };
  }
  return { type: error.name, code, message: error.message, stack, cause };
}

/** The lines of a stack without its message, which is logged, or kept private, elsewhere. */
function placesOf(error: Error): string | undefined {
  return error.stack
    ?.split('\n')
    .filter((line) => line.startsWith('    at '))
    .join('\n');
}

function pick(error: Error, names: readonly string[]): Record<string, unknown> {
  const facts = new Map<string, unknown>(Object.entries(error));
  return Object.fromEntries(
    names.flatMap((name) => (typeof facts.get(name) === 'string' ? [[name, facts.get(name)]] : [])),
  );
}
