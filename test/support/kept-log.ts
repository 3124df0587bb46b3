// A log whose lines are kept, for tests that read them.
import type { Logger } from '../../server/lib/ports.js';

export interface LogLine extends Readonly<Record<string, unknown>> {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
}

/** Each line goes to the end of `lines`. */
export function keptLog(lines: LogLine[]): Logger {
  const line =
    (level: LogLine['level']) =>
    (fields: Readonly<Record<string, unknown>>, message: string): void => {
      lines.push({ ...fields, level, message });
    };
  return { info: line('info'), warn: line('warn'), error: line('error') };
}
