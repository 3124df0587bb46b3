// `bailiwick audit query`: the events of the log that match, one a line.
import { groupDigits } from '../../../engine/index.js';
import { SET_ODDS } from '../../audit/listed.js';
import { type FoundLine, type LineFault, searchLogs, type Unrecorded } from '../../audit/search.js';
import type { SettingFlags } from '../../config/index.js';
import {
  folderOf,
  LOG_SETTINGS,
  malformedLines,
  placesOf,
  SEARCH,
  searchOf,
  silenceText,
  beginText,
  unverifiedLines,
} from '../audit-log.js';
import { type CliIo, untilReaderGone, write, writeToReader } from '../io.js';
import { formats } from '../options.js';
import { escapeJson, escapeText } from '../render/escape.js';
import { count, linesText } from '../render/text.js';
import { type Given, takes, verb } from '../verb.js';

const TAKES = takes({ ...SEARCH, ...formats() });

export const auditQuery = verb(TAKES, query, {
  description: 'print the events that match all given options, one per line',
  settings: LOG_SETTINGS,
  examples: {
    'who read /labs/x in September, and by which grant':
      'bailiwick audit query --kind query --outcome allowed --namespace /labs/x --since 2026-09-01T00:00:00Z --until 2026-10-01T00:00:00Z',
    'who read or wrote one record': 'bailiwick audit query --record 0197bc63-6539-7ccb-b217-d1b0f3fab080',
    'requests of one actor that were denied': 'bailiwick audit query --actor ci --outcome denied',
    'how often each actor asked': `bailiwick audit query --kind query --format json | jq -r .actor.id | sort | uniq -c`,
  },
  json: [
    'one event per line, as in the log. With `--record`, an event that does not name the record ends with',
    '"shown": "yes" | "maybe", which is not in the log; `maybe` is wrong once in 10,000,000.',
  ],
});

async function query(io: CliIo, flags: Given<typeof TAKES> & SettingFlags): Promise<void> {
  const search = searchOf(flags);
  const folder = await folderOf(io, flags.folder, { flags, searched: true });
  const show = flags.format === 'json' ? jsonLine : eventText;
  const report = await untilReaderGone(
    searchLogs(folder, search, async (found) => {
      await writeToReader(io.stdout, found.map((one) => `${show(one)}\n`).join(''));
      if (flags.format === 'json') await write(io.stderr, found.map(warningOf).join(''));
    }),
  );
  if (report === null) return;
  const { malformed, unrecorded, unverified, found: total, events } = report;
  // Without this, a name that was mistyped looks like somebody who did nothing.
  if (flags.format === 'text' || total === 0) {
    await write(io.stderr, `${groupDigits(total)} of ${count(events, 'event')}\n`);
  }
  if (flags.record !== undefined) await write(io.stderr, unrecordedText(unrecorded));
  if (malformed > 0) throw malformedLines(malformed);
  if (unverified > 0) throw unverifiedLines(unverified);
}

/** As in the log. What is added stands at the end, so that it can be taken away again. */
function jsonLine({ line, shown }: FoundLine): string {
  return escapeJson(shown === undefined ? line : `${line.slice(0, -1)},"shown":"${shown}"}`);
}

/** Without this, an answer about a record would look complete. */
function unrecordedText({ lists, counts, silences, begins }: Unrecorded): string {
  return linesText([
    lists > 0 && `not recorded: which records ${count(lists, 'answer')} showed; this one may be among them`,
    lists > 0 && '  help: to see them, search with `--namespace` and where the record was',
    counts > 0 && `not recorded: which records ${count(counts, 'count')} counted; none was shown`,
    ...silences.map(silenceText),
    ...begins.map(beginText),
  ]);
}

/** The line itself stays as it is in the log. */
function warningOf({ event: { log, seq }, fault }: FoundLine): string {
  return linesText([fault !== null && `warning: [${log} ${String(seq)}] ${UNVERIFIED[fault]}`]);
}

const UNVERIFIED: Readonly<Record<LineFault, string>> = Object.freeze({
  edited: 'DOES NOT VERIFY: it was changed after it was written',
  broken: 'DOES NOT VERIFY: it does not follow the event before it',
  unreadable: 'DOES NOT VERIFY: nobody can read which records it showed',
});

const SHOWN = Object.freeze({
  yes: 'shown',
  maybe: `shown, unless by a chance of 1 in ${groupDigits(SET_ODDS)}`,
});

/** One line: when, outcome, who, what, where, and by which grants or at which step. */
function eventText({ event, fault, shown }: FoundLine): string {
  const { time, outcome, actor, operation, step, cause, grants = [], grantsOmitted, items } = event;
  const { records = [], key, address, log, seq } = event;
  const parts = [
    time,
    outcome.padEnd(7),
    actor.id,
    operation,
    ...placesOf(event),
    grants.length > 0 && `by ${grants.join(', ')}`,
    grantsOmitted !== undefined && `and ${count(grantsOmitted, 'more grant')}`,
    step !== undefined && `at ${step}${cause === undefined ? '' : ` (${cause})`}`,
    items !== undefined && `${groupDigits(items)}x`,
    ...records,
    shown !== undefined && SHOWN[shown],
    key !== undefined && `key ${key}`,
    address !== undefined && `from ${address}`,
    `[${log} ${String(seq)}]`,
    fault !== null && UNVERIFIED[fault],
  ];
  return escapeText(parts.filter((part) => part !== false).join('  '));
}
