// `bailiwick calendar <policy>`: each instant at which anybody's access changes by itself.
import { usage } from '../exit.js';
import type { Answer, CliIo } from '../io.js';
import { openPolicy } from '../open-policy.js';
import { formats, instantOption } from '../options.js';
import { paintFor } from '../render/terminal.js';
import { type Given, takes, verb } from '../verb.js';

const TAKES = takes({
  '<policy>': 'policy folder, snapshot file, or `<revision>:<path>` in git',
  '--from <instant>': 'the first instant to look at, as RFC 3339 (default: now)',
  '--until <instant>': 'look at instants before this one, as RFC 3339 (default: a year after the first)',
  ...formats(['ics'], '; ics is iCalendar, for calendar programs'),
});

export const defineCalendar = verb(TAKES, calendar, {
  examples: {
    'who gains and loses what within a year': 'bailiwick calendar policies',
    'the first half of a year': 'bailiwick calendar policies --from 2027-01-01T00:00:00Z --until 2027-07-01T00:00:00Z',
    'a file for a calendar program': 'bailiwick calendar policies --format ics > access.ics',
    'the instants at which a guardrail breaks': `bailiwick calendar policies --format json | jq -r '.changes[] | select(any(.guardrails[]; .holds | not)) | .at'`,
  },
  json: [
    '{"from","until","snapshot","changes":[{"at","gained":[Row],"lost":[Row],"guardrails":[{"id","holds"}]}],"cutAt"?,"unproved"?}',
    'Row: {"namespace","extent","except"?,"identities","scopes","from","until","causes":[{"change":"begins"|"ends","kind","file","line",…}]}',
    '`from` of a row is the instant; `until` is when gained access ends, or when lost access is held again; null for never.',
    'A cause is a grant (id, principal, reason) or a member of a role (role, member) whose window begins or ends.',
    'If there are too many changes, those from `cutAt` on are left out. `unproved`: guardrails whose proofs take too long.',
  ],
});

async function calendar(io: CliIo, { policy: path, from, until, format }: Given<typeof TAKES>): Promise<Answer> {
  const [{ calendarOf }, render] = await Promise.all([
    import('../../../engine/compiler.js'),
    import('../render/calendar.js'),
  ]);
  const first = instantOption(from, '--from');
  const last = until === undefined ? render.yearAfter(first) : instantOption(until, '--until');
  if (last <= first)
    throw usage(
      '`--until` must be after `--from`',
      from === undefined ? 'without `--from` the calendar begins now' : 'exchange the two',
    );
  const { policy, guardrails } = await openPolicy(io, path, 'study');
  const found = calendarOf(policy, { from: first, until: last, violations: guardrails?.violations ?? [] });
  const json = (): object => render.calendarJson(found, policy.digest);
  if (format !== 'ics') return { json, text: () => render.renderCalendar(found, paintFor(io, 'stdout')) };
  const { renderICalendar } = await import('../render/icalendar.js');
  return {
    json,
    notes: () => render.unprovedLines(found, paintFor(io, 'stderr')).join('') + render.cutText(found),
    text: () => renderICalendar(found, { policy: policy.name, stamp: Date.now() }),
  };
}
