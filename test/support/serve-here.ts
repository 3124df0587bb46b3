// Gateways of the command line inside the test's own process: one start takes a third of the processor time of a process of its own. For
// what a gateway does with its settings, its store and its files; what is about the process itself is tested with serve-process.ts.
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { main } from '../../server/cli/main.js';
import { makeIo } from './cli-io.js';
import { argumentsOf, type ServeArgs, startServing } from './serve-process.js';

export interface ServedHere {
  readonly ready: Readonly<Record<string, unknown>>;
  readonly port: number;
  readonly stderr: () => string;
  /** Ends it as SIGTERM does: the exit status. */
  readonly stop: () => Promise<number | null>;
}

/** Starts a gateway and waits until it says that it listens. There is one at a time: a signal is for all of a process. */
export async function serveHere(dataDir: string, ...args: ServeArgs): Promise<ServedHere> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  let errors = '';
  stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const env = { PATH: process.env['PATH'] ?? '' };
  const ended = main(argumentsOf(dataDir, args), { ...makeIo({ env }).io, stdout, stderr });
  const line = await Promise.race([
    once(stdout, 'data').then(([chunk]: Buffer[]) => String(chunk)),
    ended.then((status) => Promise.reject(new Error(`ended with ${String(status)}: ${errors}`))),
  ]);
  const ready = JSON.parse(line) as Readonly<Record<string, unknown>>;
  if (typeof ready['url'] !== 'string') throw new Error(`it says ${line} and ${errors}`);
  return {
    ready,
    port: Number(new URL(ready['url']).port),
    stderr: () => errors,
    stop: () => {
      process.emit('SIGTERM', 'SIGTERM');
      return ended;
    },
  };
}

/** The same in a process of its own: one with workers is several. */
export async function serveThere(dataDir: string, ...args: ServeArgs): Promise<ServedHere> {
  const { ready, port, stderr, child, ended } = await startServing(dataDir, ...args);
  const stop = (): Promise<number | null> => {
    child.kill('SIGTERM');
    return ended;
  };
  return { ready, port, stderr, stop };
}
