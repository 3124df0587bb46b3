// `bailiwick replay`: repeats every recorded decision, on its own snapshot and on another policy (docs/audit.md
// "Replaying").
import { groupDigits, type Policy } from '../../../engine/index.js';
import {
  isFlip,
  isReproduced,
  type LoggedDecision,
  makeReplay,
  type NotReplayed,
  type Replayed,
} from '../../audit/replay.js';
import { type FoundLine, searchLogs } from '../../audit/search.js';
import type { SettingFlags } from '../../config/index.js';
import { folderOf, LOG_SETTINGS, malformedLines, placesOf, SEARCH, searchOf } from '../audit-log.js';
import { CliFailure, EXIT, usage } from '../exit.js';
import { type CliIo, isClosed, write } from '../io.js';
import { openPolicy } from '../open-policy.js';
import { formats } from '../options.js';
import { escapeJson, escapeText } from '../render/escape.js';
import { startProgress } from '../render/terminal.js';
import { count } from '../render/text.js';
import { type Given, takes, verb } from '../verb.js';

const TAKES = takes({
  ...SEARCH,
  '--against <policy>': 'also decide by this policy folder or snapshot, and list what it would change',
  '--exit-code': `end with ${String(EXIT.differences)} if \`--against\` changes anything`,
  ...formats(),
});

export const defineReplay = verb(TAKES, replay, {
  settings: LOG_SETTINGS,
  examples: {
    'whether each decision is what its snapshot gives': 'bailiwick replay',
    'what a new policy would have changed in September':
      'bailiwick replay --against policies --since 2026-09-01T00:00:00Z',
    'the people who would lose something': `bailiwick replay --against policies | awk '/becomes deny/ { print $2 }' | sort -u`,
  },
  json: [
    'one line for each event: {"log", "seq", "recorded", "own", "against"?, "reason"?}, each of the three null or',
    '{"decision": "allow" | "deny", "step"?, "cause"?, "grants"?, "grantsOmitted"?, "visibility"?}.',
    '`reason` says why a decision was not repeated: authentication, undecided, snapshot_missing, snapshot_damaged, malformed.',
  ],
});

/**
 * Throws `CliFailure`: 8 if a decision is not what its snapshot says, or a snapshot or an event is damaged; 6 if a
 * snapshot is missing.
 */
async function replay(io: CliIo, flags: Given<typeof TAKES> & SettingFlags): Promise<void> {
  if (flags.exitCode === true && flags.against === undefined) throw usage('`--exit-code` needs `--against`');
  const search = searchOf(flags);
  const folder = await folderOf(io, flags.folder, { flags, searched: true });
  const against = flags.against === undefined ? null : (await openPolicy(io, flags.against, 'study')).policy;
  const tally = makeTally();
  const progress = startProgress(io);
  const again = makeReplay(folder, against);
  const show = flags.format === 'json' ? toJson : toText;
  const { malformed } = await searchLogs(folder, search, async (found) => {
    const lines: string[] = [];
    for (const one of found) {
      const replayed = await again(one.event);
      tally.add(replayed);
      const line = show(one, replayed);
      if (line !== null) lines.push(`${line}\n`);
    }
    progress.update(`${groupDigits(tally.decisions())} decisions`);
    if (lines.length > 0 && !isClosed(io.stdout)) await write(io.stdout, lines.join(''));
  });
  progress.done();
  if (flags.format === 'text') await write(io.stdout, `${tally.text(against)}\n`);
  if (flags.exitCode === true && tally.flips() > 0) io.setStatus(EXIT.differences);
  const failure = tally.failure();
  if (failure !== null) throw failure;
  if (malformed > 0) throw malformedLines(malformed);
}

function toJson({ event: { log, seq } }: FoundLine, replayed: Replayed): string {
  return escapeJson(JSON.stringify({ log, seq, ...replayed }));
}

/** Null if there is nothing to say. */
function toText({ event }: FoundLine, replayed: Replayed): string | null {
  const { recorded, own, against, reason } = replayed;
  const says: string[] = [];
  if (recorded !== null && reason !== undefined) says.push(`not replayed: ${REASONS[reason]}`);
  else if (recorded !== null && own !== null && !isReproduced(replayed)) {
    says.push(`not reproduced: recorded ${wordsOf(recorded)}, its snapshot says ${wordsOf(own)}`);
  }
  if (isFlip(replayed) && recorded !== null && against !== null && against !== undefined) {
    const isSeen = recorded.decision === against.decision;
    says.push(isSeen ? 'sees another set' : `${recorded.decision} becomes ${wordsOf(against)}`);
  }
  if (says.length === 0) return null;
  const { time, actor, operation, log, seq } = event;
  const where = [time, actor.id, operation, ...placesOf(event)];
  return escapeText([...where, ...says, `[${log} ${String(seq)}]`].join('  '));
}

const REASONS: Readonly<Record<NotReplayed, string>> = Object.freeze({
  authentication: 'a credential proved or failed to prove who somebody is, and no log holds it',
  undecided: 'no policy decided',
  snapshot_missing: 'its snapshot is not beside the log',
  snapshot_damaged: 'its snapshot beside the log is damaged',
  malformed: 'no gateway writes such an event',
});

/** A decision without the grants that an audit query names. */
function wordsOf({ decision, step, cause, grants }: LoggedDecision): string {
  if (decision === 'allow')
    return grants === undefined || grants.length === 0 ? 'allow' : `allow by ${grants.join(', ')}`;
  return `deny at ${step ?? 'no step'}${cause === undefined ? '' : ` (${cause})`}`;
}

interface Tally {
  readonly add: (replayed: Replayed) => void;
  readonly decisions: () => number;
  readonly flips: () => number;
  readonly text: (against: Policy | null) => string;
  readonly failure: () => CliFailure | null;
}

function makeTally(): Tally {
  const reasons = new Map<NotReplayed, number>();
  const not = (reason: NotReplayed): number => reasons.get(reason) ?? 0;
  let [decisions, reproduced, flips] = [0, 0, 0];
  const failure = (code: string, message: string, help: string): CliFailure =>
    new CliFailure(code === 'replay.snapshot' ? EXIT.precondition : EXIT.integrity, code, message, { help });
  return {
    add: (replayed) => {
      if (replayed.reason !== undefined) reasons.set(replayed.reason, not(replayed.reason) + 1);
      if (replayed.recorded !== null) decisions += 1;
      if (isReproduced(replayed)) reproduced += 1;
      if (isFlip(replayed)) flips += 1;
    },
    decisions: () => decisions,
    flips: () => flips,
    text: (against) => {
      const parts = [
        `${count(decisions, 'decision')}, ${groupDigits(reproduced)} reproduced`,
        against !== null && `${groupDigits(flips)} that ${against.digest} would change`,
        not('authentication') > 0 && `${count(not('authentication'), 'authentication')}, which cannot be replayed`,
        not('undecided') > 0 && `${count(not('undecided'), 'other event')} that no policy decided`,
      ];
      return parts.filter((part) => part !== false).join('; ');
    },
    failure: () => {
      const [missing, damaged] = [not('snapshot_missing'), not('snapshot_damaged') + not('malformed')];
      const different = decisions - reproduced - missing - damaged;
      if (different > 0) {
        const message = `${count(different, 'decision')} ${different === 1 ? 'is' : 'are'} not what the snapshot says`;
        return failure('replay.different', message, 'run `bailiwick audit verify`');
      }
      if (damaged > 0) {
        const message = `${count(damaged, 'decision')} could not be made again: damaged`;
        const help = 'run `bailiwick audit verify`, and restore `snapshots/` beside the log';
        return failure('replay.damaged', message, help);
      }
      if (missing === 0) return null;
      const message = `${count(missing, 'decision')} could not be made again: ${missing === 1 ? 'its snapshot is' : 'their snapshots are'} not beside the log`;
      return failure('replay.snapshot', message, 'put each into `snapshots/` as `<hex digits of its digest>.json`');
    },
  };
}
