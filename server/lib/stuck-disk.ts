// That a disk does not answer. A thread that waits for one cannot be ended and keeps the process, even one that exits, so
// the program ends itself with SIGKILL once it has said what was not done (cli/main.ts).
let isStuck = false;

export function noteStuckDisk(): void {
  isStuck = true;
}

export function isDiskStuck(): boolean {
  return isStuck;
}
