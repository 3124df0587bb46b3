// Which process this is, and whether another one is still alive: by pid, start time, boot and pid namespace. A pid
// alone is reused, and means something else in another container or after a restart of the machine.
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { systemCodeOf } from './small-file.js';

export interface ProcessIdentity {
  readonly pid: number;
  /** The start of the process in ticks since boot; empty if the system does not tell. */
  readonly born: string;
  /** The id of this boot of the kernel together with the pid namespace; empty if the system does not tell. */
  readonly space: string;
  readonly host: string;
}

export function identifyProcess(): ProcessIdentity {
  return { pid: process.pid, born: statOf(process.pid)?.born ?? '', space: pidSpace(), host: hostname() };
}

/** `unknown`: it runs, or ran, somewhere where its pid means nothing to us. */
export function lifeOf(other: ProcessIdentity): 'alive' | 'dead' | 'unknown' {
  const space = pidSpace();
  if (other.space !== space) return 'unknown';
  if (space === '' || other.born === '') return other.host === hostname() && isGone(other.pid) ? 'dead' : 'unknown';
  const stat = statOf(other.pid);
  if (stat === null || stat.born !== other.born) return 'dead';
  return isGhost(other.pid, stat.state) ? 'dead' : 'alive';
}

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return systemCodeOf(error) === 'ESRCH';
  }
}

/**
 * Whether the process was killed, is not yet collected by its parent, and has no thread left that could still write.
 */
function isGhost(pid: number, state: string): boolean {
  if (state !== 'Z' && state !== 'X') return false;
  try {
    return readdirSync(`/proc/${String(pid)}/task`).length <= 1;
  } catch {
    return true;
  }
}

function pidSpace(): string {
  try {
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return '';
  }
}

function statOf(pid: number): { readonly state: string; readonly born: string } | null {
  try {
    const stat = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' '); // the name before it may hold anything
    const state = fields[0];
    const born = fields[19];
    return state === undefined || born === undefined ? null : { state, born };
  } catch {
    return null;
  }
}
