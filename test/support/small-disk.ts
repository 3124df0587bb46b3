// Disks of their own, small enough to be filled, where this user may mount file systems.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Whether it is mounted now. */
export function mount(folder: string, options: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

export function unmount(folder: string): void {
  execFileSync('umount', ['-l', folder]);
}

export function mayMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'bailiwick-mount-'));
  const isMounted = mount(folder, 'size=64k');
  if (isMounted) unmount(folder);
  rmSync(folder, { recursive: true, force: true });
  return isMounted;
}

/** Takes all the room on the disk of the folder but some kilobytes. The result gives it back. */
export function fill(folder: string): () => void {
  const file = join(folder, 'filling');
  try {
    execFileSync('dd', ['if=/dev/zero', `of=${file}`, 'bs=64k'], { stdio: 'ignore' });
  } catch {
    // full
  }
  return () => {
    rmSync(file);
  };
}
