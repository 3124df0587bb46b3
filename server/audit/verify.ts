// Whether the logs of a folder are intact: every event unchanged and in its place, none missing, and every snapshot
// beside them (docs/audit.md "Verifying"). Heads that were noted elsewhere, by people or by the store, show whether the
// end was cut off, or a whole log removed.
import { AUDIT_LIMITS } from '../limits/logs.js';
import { BEGINNING, type ChainLine, type Head } from './chain.js';
import { type ChainCheck, checkChain, type Fault } from './check-chain.js';
import type { Checkpoint } from './checkpoint.js';
import { findParts, type LogPart, skippedTo } from './log-parts.js';
import { leafHash, makeTree } from '../signing/merkle.js';
import { listFault } from './list-fault.js';
import { whatBecameOfEnd } from './lost-end.js';
import { makeNamedSnapshots } from './named-snapshots.js';
import { readFiles } from './read-log.js';

export interface LogReport {
  readonly log: string;
  readonly events: number;
  /** Null if the log has no event. */
  readonly head: Head | null;
}

export interface VerifyReport {
  readonly ok: boolean;
  readonly events: number;
  readonly logs: readonly LogReport[];
  /** The first thousand faults; `count` counts all of them. */
  readonly faults: readonly Fault[];
  readonly count: number;
  /** Names of archived files that were not read. */
  readonly unread: readonly string[];
}

/** A head of one log, as the store has noted it. */
export interface NamedHead extends Head {
  readonly log: string;
}

export interface VerifyOptions {
  /** Heads that were noted elsewhere: each must be in one of the logs. */
  readonly heads?: readonly Head[];
  /** The logs that should be here, and a head of each. */
  readonly known?: readonly NamedHead[];
  /** Checkpoints that were kept elsewhere: each log must have grown from there. */
  readonly checkpoints?: readonly Checkpoint[];
  /** The head at which a log begins, if its older files are kept elsewhere. Other logs of the folder begin at 1. */
  readonly after?: Head;
  /** The folder to which older files were moved. */
  readonly archive?: string;
  readonly onProgress?: (events: number) => void;
}

/** Rejects if the folder cannot be read. */
export async function verifyLogs(folder: string, options: VerifyOptions = {}): Promise<VerifyReport> {
  const { known = [], checkpoints = [], after = BEGINNING, archive = null } = options;
  const faults: Fault[] = [];
  const logs: LogReport[] = [];
  const wanted = makeWanted(options.heads ?? [], known);
  let count = 0;
  let events = 0;
  const report = (fault: Fault): void => {
    count += 1;
    if (faults.length < AUDIT_LIMITS.keptFaults) faults.push(fault);
  };
  const snapshots = makeNamedSnapshots();
  const { parts, unread } = await findParts(folder, { archive, report });
  const beginsAfter = ([first]: readonly LogPart[]): boolean =>
    first !== undefined && 'first' in first && first.first === after.seq + 1;
  const isForOne = [...parts.values()].some(beginsAfter);
  const endOf = (log: string, head: Head | null): Promise<string> =>
    whatBecameOfEnd({ folder, log, last: head?.seq ?? 0, archive });
  for (const [log, files] of parts) {
    const before = isForOne && !beginsAfter(files) ? BEGINNING : after;
    const check = checkChain(log, { report, after: before });
    const growth = checkGrowth(
      checkpoints.filter((one) => one.log === log),
      before.seq > 0 || files.some((part) => 'skipTo' in part),
    );
    const found = await verifyLog(files, {
      ...check,
      take: growth.take,
      see: (line) => {
        snapshots.see(line);
        const fault = listFault(line.value);
        if (fault !== null)
          report({ log, seq: line.seq, kind: 'malformed', text: `event ${String(line.seq)}: ${fault}` });
        wanted.see(log, line);
      },
      onProgress: (more) => options.onProgress?.(events + more),
    });
    for (const { size, how } of growth.left()) {
      const text = textOfGrowth(size, how, how === 'shorter' ? await endOf(log, check.head()) : '');
      report({ log, seq: size, kind: 'checkpoint', text });
    }
    events += found;
    logs.push({ log, events: found, head: check.head() });
  }
  for (const { log, seq } of known) {
    if (parts.has(log)) continue;
    const text = `the log is missing: the store knows it up to event ${String(seq)}`;
    report({ log, seq, kind: 'gone', text });
  }
  for (const { log, size } of checkpoints) {
    if (parts.has(log)) continue;
    report({ log, seq: size, kind: 'checkpoint', text: 'the log of the checkpoint is missing' });
  }
  const [first, ...others] = logs;
  for (const { log: named, seq, how } of wanted.left()) {
    if (named !== null && (!parts.has(named) || seq <= skippedTo(parts.get(named) ?? []))) continue;
    const log = named ?? (others.length === 0 ? (first?.log ?? null) : null);
    const by = named === null ? '' : ' by the store';
    const head = logs.find((one) => one.log === log)?.head ?? null;
    const text =
      how === 'other'
        ? `event ${String(seq)} is not the one that was noted${by}: the log was rewritten`
        : `there is no event ${String(seq)}, which was noted${by} as the end of the log: ${log === null ? CUT_OR_AWAY : await endOf(log, head)}`;
    report({ log, seq, kind: 'head', text });
  }
  await snapshots.check(folder, (fault) => {
    report({ ...fault, kind: 'snapshot' });
  });
  if (events === 0) {
    const text = `there is no event in ${folder}: the log was removed, or it is in another folder`;
    report({ log: null, seq: 1, kind: 'absent', text });
  }
  return { ok: count === 0, events, logs, faults, count, unread };
}

/** Of a head that may be in any log. */
const CUT_OR_AWAY = 'its end was cut off, or its newest files are absent';

interface Wanted {
  readonly see: (log: string, line: ChainLine) => void;
  /** Heads that were not found. `other`: there is another event of that number. */
  readonly left: () => readonly WantedHead[];
}

interface WantedHead extends Head {
  readonly log: string | null;
  how: 'found' | 'other' | 'absent';
}

/** Heads that must be among the lines. Those of people may be in any log. */
function makeWanted(heads: readonly Head[], known: readonly NamedHead[]): Wanted {
  const all = [...heads.map((head) => ({ ...head, log: null })), ...known].map((head): WantedHead => {
    return { ...head, how: 'absent' };
  });
  const bySeq = new Map<number, readonly WantedHead[]>();
  for (const head of all) bySeq.set(head.seq, [...(bySeq.get(head.seq) ?? []), head]);
  return {
    see: (log, { seq, hash }) => {
      for (const head of bySeq.get(seq) ?? []) {
        if (head.log !== null && head.log !== log) continue;
        if (head.hash === hash) head.how = 'found';
        else if (head.how === 'absent') head.how = 'other';
      }
    },
    left: () => all.filter(({ how }) => how !== 'found'),
  };
}

interface Growth {
  /** Takes the next line. */
  readonly take: (text: string | null) => void;
  /** Checkpoints that the lines do not fit, by their size. */
  readonly left: () => readonly { readonly size: number; readonly how: Misfit }[];
}

/** `partial`: the first events are elsewhere. */
type Misfit = 'shorter' | 'other' | 'partial';

/** Compares the lines with the roots of checkpoints, each when the log has its size. */
function checkGrowth(checkpoints: readonly Checkpoint[], isPartial: boolean): Growth {
  const tree = makeTree();
  const left = new Map<Checkpoint, 'shorter' | 'other'>(checkpoints.map((one) => [one, 'shorter']));
  return {
    take: (text) => {
      if (left.size === 0) return;
      tree.push(leafHash(text ?? ''));
      for (const one of checkpoints) {
        if (one.size !== tree.size()) continue;
        if (tree.root().equals(one.root)) left.delete(one);
        else left.set(one, 'other');
      }
    },
    left: () =>
      [...left].flatMap(([{ size }, how]) => (size === 0 ? [] : [{ size, how: isPartial ? 'partial' : how }])),
  };
}

function textOfGrowth(size: number, how: Misfit, end: string): string {
  const events = `the first ${String(size)} events`;
  switch (how) {
    case 'partial':
      return `${events} cannot be compared with the checkpoint, because older files are elsewhere: name their folder with --archive`;
    case 'other':
      return `${events} are not those of the checkpoint: the log was rewritten, or one of them was changed`;
    case 'shorter':
      return `the checkpoint is about ${events}, and the log has fewer: ${end}`;
  }
}

interface OnEvents extends ChainCheck {
  readonly take: (text: string | null) => void;
  readonly see: (line: ChainLine) => void;
  readonly onProgress: (events: number) => void;
}

async function verifyLog(
  parts: readonly LogPart[],
  { begin, isLate, line, torn, skip, take, see, onProgress }: OnEvents,
): Promise<number> {
  let events = 0;
  for (const [index, part] of parts.entries()) {
    const next = parts[index + 1];
    begin(next !== undefined && 'first' in next ? next.first : null);
    if ('skipTo' in part) {
      skip(part.skipTo);
      continue;
    }
    for await (const group of readFiles([part])) {
      for (const text of group.lines) {
        if (isLate(text)) continue;
        take(text);
        const found = line(text);
        if (found === null) continue;
        events += 1;
        see(found);
      }
      if (group.torn > 0) torn(group.file.path, group.torn);
      onProgress(events);
    }
  }
  return events;
}
