// What the audit log says of a snapshot, for `evidence`: when it was put in force, by whom, and a proof of each such event.
import type { StoredEvent } from '../audit/event-schema.js';
import { ARCHIVE_LIST } from '../audit/archived-files.js';
import type { Fault } from '../audit/check-chain.js';
import { parseLogFileName } from '../audit/log-files.js';
import { findParts } from '../audit/log-parts.js';
import { searchFiles } from '../audit/search.js';
import type { SettingFlags } from '../config/index.js';
import { formatPublicKey } from '../../engine/index.js';
import type { CliIo } from './io.js';
import type { EVIDENCE } from './takes/evidence.js';
import type { Given } from './verb.js';
import { proofsOf, signingKeyOf } from './prove-audit.js';
import { logFailure, malformedLines } from './audit-log.js';
import { readKey, readNote, trusted } from './read-checkpoint.js';

export type EvidenceFlags = Given<typeof EVIDENCE> & SettingFlags;

/** What goes into the ZIP file, and what could not be found. */
export interface Bundle {
  readonly add: (name: string, bytes: Uint8Array | string) => void;
  readonly missing: (what: string) => void;
}

/** When a snapshot was put in force, by the audit log. */
export interface LoggedActivations {
  /** Each time that it began to decide, in the order of time. */
  readonly events: readonly StoredEvent[];
  /** Their lines, as in the log. */
  readonly lines: readonly string[];
  /** The digest of what decided before the first of them; null if nothing is known of it. */
  readonly before: string | null;
  /** Logs of which older files were not read. */
  readonly unread: readonly string[];
}

interface Searched {
  readonly folder: string;
  /** Where archived files are; null if they are not read. */
  readonly archive: string | null;
}

/** Throws `CliFailure` 8 if lines of the log are no events, or the archive is not as listed: some of the answer may be lost. */
export async function findActivations({ folder, archive }: Searched, digest: string): Promise<LoggedActivations> {
  const faults: Fault[] = [];
  const { parts, unread } = await findParts(folder, { archive, report: (fault) => void faults.push(fault) });
  const [fault] = faults;
  if (fault !== undefined) throw logFailure(fault.text);
  const files = new Map([...parts].map(([log, all]) => [log, all.flatMap((one) => ('path' in one ? [one] : []))]));
  const elsewhere = new Set(unread.map((name) => parseLogFileName(name)?.log));
  const all: { readonly event: StoredEvent; readonly line: string }[] = [];
  const { malformed } = await searchFiles(files, { outcomes: ['allowed'], kinds: ['admin'] }, (found) => {
    for (const { event, line } of found)
      if (event.operation === 'gateway.start' || event.operation === 'policy.activate') all.push({ event, line });
    return Promise.resolve();
  });
  if (malformed > 0) throw malformedLines(malformed);
  all.sort((a, b) => (a.event.time < b.event.time ? -1 : a.event.time > b.event.time ? 1 : a.event.seq - b.event.seq));
  const first = all.findIndex(({ event }) => event.snapshot === digest);
  const own = all.filter(({ event }) => event.snapshot === digest);
  return {
    events: own.map(({ event }) => event),
    lines: own.map(({ line }) => line),
    before: all.slice(0, Math.max(first, 0)).findLast(({ event }) => event.snapshot !== null)?.event.snapshot ?? null,
    unread: [...files].flatMap(([log, [oldest]]) => (elsewhere.has(log) || (oldest?.first ?? 1) > 1 ? [log] : [])),
  };
}

interface LogRequest extends Searched {
  readonly activations: LoggedActivations;
  readonly flags: EvidenceFlags;
}

/** Throws `CliFailure` if the log is not that of the checkpoint, or has a fault. */
export async function proveActivations(
  io: CliIo,
  bundle: Bundle,
  { activations, folder, archive, flags }: LogRequest,
): Promise<void> {
  const { events, lines, unread } = activations;
  const hint = archive === null ? 'name their folder with --archive' : `${ARCHIVE_LIST} does not list them`;
  for (const log of unread)
    bundle.missing(`when else it was put in force: older files of the log ${log} were not read; ${hint}`);
  if (events.length === 0) {
    if (unread.length === 0) bundle.missing('when it was in force: the log has no event that put it in force');
    return;
  }
  bundle.add('log/activations.jsonl', lines.map((line) => `${line}\n`).join(''));
  const key = (await signingKeyOf(io, flags))?.publicKey ?? null;
  // Each file is read once, so that what was trusted is what goes into the file.
  const kept = flags.checkpoint === undefined ? null : await readNote(io, flags.checkpoint);
  const keptKey = kept === null || flags.publicKey === undefined ? null : await readKey(io, flags.publicKey);
  for (const log of new Set(events.map((event) => event.log))) {
    const seqs = events.filter((event) => event.log === log).map(({ seq }) => seq);
    const covering = kept?.checkpoint.log === log ? kept : null;
    const publicKey = covering === null ? key : keptKey;
    if (publicKey === null) {
      const how =
        covering === null
          ? 'sign one with --key, or name one that was kept with --checkpoint'
          : 'name the key of the checkpoint with --public-key';
      bundle.missing(`a checkpoint of the log ${log}, and the proofs of its events: ${how}`);
      continue;
    }
    const size = covering === null ? Infinity : trusted(covering.text, publicKey).size;
    const within = seqs.filter((seq) => seq <= size);
    const late = seqs.length - within.length;
    if (late > 0)
      bundle.missing(`proofs of ${String(late)} of its events in ${log}: they are later than the checkpoint`);
    if (within.length === 0) continue;
    const proved = await proofsOf(io, { folder, log, archive, seqs: within, kept: covering }, flags);
    bundle.add(`log/${log}.checkpoint`, proved.checkpoint);
    bundle.add(`log/${log}.pem`, pemOf(publicKey));
    for (const [seq, text] of proved.proofs) bundle.add(`log/${log}-${String(seq)}.tlog-proof`, text);
  }
}

export function pemOf(publicKey: Uint8Array): string {
  return `-----BEGIN PUBLIC KEY-----\n${formatPublicKey(publicKey)}\n-----END PUBLIC KEY-----\n`;
}
