// Secrets that a suite has made, and the search for them in all output: answers, headers, lines of the log.
import { inspect } from 'node:util';

const secrets = new Set<string>();

/** The text of a key: what follows the last underscore of its id is the secret. */
export function keepSecret(key: string): void {
  const secret = /^bwk_[^_]+_(.+)$/.exec(key)?.[1];
  if (secret === undefined) throw new Error('not the text of a key');
  secrets.add(secret);
}

/** Throws for output with a secret in it. The message does not repeat it. */
export function assertNoSecret(output: string, where: string): void {
  for (const secret of secrets) {
    if (output.includes(secret)) throw new Error(`${where} holds the secret of a key`);
  }
}

/** A line of the log with all that is in it: errors, their causes, and what the driver hangs on them, which leads back to itself. */
export function lineText(line: unknown): string {
  return inspect(line, { depth: 8, maxArrayLength: null, maxStringLength: null, breakLength: Infinity });
}
