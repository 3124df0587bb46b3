// What `unused` does: it reads the log, finds what no decision needed, makes a policy without that, and decides everything again by both.
import { existsSync } from 'node:fs';
import { findUnused, type Kept, promisedBy, type Rights, rightsOf } from '../../engine/compiler.js';
import { groupDigits, type Instant, instantOf, InvariantError, nearest, parseInstant } from '../../engine/index.js';
import { makeReplay, type Replay } from '../audit/replay.js';
import { searchLogs, type SearchReport } from '../audit/search.js';
import { parseDuration, type SettingFlags } from '../config/index.js';
import { AUDIT_LIMITS } from '../limits/logs.js';
import { CliFailure, EXIT, meantOr, usage } from './exit.js';
import { writeInto } from './files.js';
import { type CliIo, pathOf, pathsOf, print } from './io.js';
import { openPolicy } from './open-policy.js';
import { instantOption } from './options.js';
import type { UNUSED } from './takes/unused.js';
import type { Given } from './verb.js';
import {
  isSame,
  makePastUses,
  makeUseTally,
  type PastPolicies,
  readPastPolicies,
  type UseCounts,
} from './past-uses.js';
import { folderOf, malformedLines, unverifiedLines } from './audit-log.js';
import { paintFor, startProgress } from './render/terminal.js';
import { effectOf, type Folder, makeSmaller } from './smaller-policy.js';
import { renderUnused, unusedJson, type UnusedReport } from './render/unused.js';

type UnusedFlags = Given<typeof UNUSED> & SettingFlags;

/** Throws `CliFailure`: 2 for a policy that is no folder, 8 if the log does not verify as far as this shows, after the result. */
export async function unusedCommand(io: CliIo, { policy: path, ...flags }: UnusedFlags): Promise<void> {
  const period = periodOf(flags);
  if (flags.output !== undefined && existsSync(pathOf(io, flags.output)))
    throw usage(`\`${flags.output}\` exists already`, 'name a new folder');
  const log = await folderOf(io, flags.log, { flags, searched: true });
  const { policy, set, sources } = await openPolicy(io, path, 'study');
  if (set === null)
    throw usage(`\`${path}\` is a snapshot, which has no files to take anything out of`, 'name the policy folder');
  const folder = { set, policy, sources };
  const report = await findIn(io, { folder, log, period, keep: flags.keep ?? [] });
  if (flags.output !== undefined)
    for (const [name, text] of report.smaller.files)
      await writeInto(io, { folder: flags.output, path: name, inputs: pathsOf(io, [path]) }, Buffer.from(text));
  const { smaller } = report.unused;
  const dropped = smaller.grants.size + smaller.scopes.size + smaller.memberships.size;
  if (flags.exitCode === true && dropped > 0) io.setStatus(EXIT.differences);
  await print(io, flags.format, {
    json: () => unusedJson(report),
    text: () => renderUnused(report, { output: flags.output ?? null }, paintFor(io, 'stdout')),
  });
  if (report.search.malformed > 0) throw malformedLines(report.search.malformed);
  if (report.search.unverified > 0) throw unverifiedLines(report.search.unverified);
}

function periodOf({ since, until }: Pick<UnusedFlags, 'since' | 'until'>): UnusedReport['period'] {
  const now = instantOption(undefined, '--until');
  const end = until === undefined ? now : instantOption(until, '--until');
  const long = parseDuration(since);
  const begin = long.ok ? instantOf(end - long.value) : parseInstant(since);
  if (begin === null)
    throw usage(
      '`--since` must be a duration such as `90d`, or an RFC 3339 instant with offset',
      'an instant is written as `2027-01-01T00:00:00Z`',
    );
  if (begin >= end) throw usage('`--since` must be before `--until`');
  return { since: begin, until: end };
}

interface Looking {
  readonly folder: Folder;
  readonly log: string;
  readonly period: UnusedReport['period'];
  readonly keep: readonly string[];
}

async function findIn(io: CliIo, { folder, log, period, keep }: Looking): Promise<UnusedReport> {
  const rights = rightsOf(folder.set);
  const kept = keptBy(rights, keep);
  const uses = makePastUses(folder.policy, rights);
  const present = makeReplay(log, folder.policy);
  /** `after`: also decides everything by the smaller policy. */
  const readUses = async (after: Replay | null): Promise<LogSummary> => {
    const tally = makeUseTally();
    const progress = startProgress(io);
    let [changed, events] = [0, 0];
    const reading = searchLogs(log, period, async (found) => {
      for (const { event } of found) {
        const replayed = await present(event);
        tally.add(event, replayed);
        uses.add(event, replayed);
        if (after !== null && !isSame(replayed.against, (await after(event)).against)) changed += 1;
      }
      events += found.length;
      progress.update(`${groupDigits(events)} events${after === null ? '' : ', by the smaller policy'}`);
      if (uses.needs.count() > AUDIT_LIMITS.needs) throw tooMany();
    });
    const report = await reading.finally(progress.done);
    return { counts: tally.counts, report, changed };
  };
  const first = await readUses(null);
  const past = await readPastPolicies(log, first.counts.snapshots);
  const tooNew = newRights(rights, { past, until: period.until });
  const promised = promisedBy(folder.set, rights);
  for (;;) {
    const size = uses.needs.count();
    const unused = findUnused(rights, uses.needs.all(), {
      grants: new Set([...kept.grants, ...tooNew.grants]),
      memberships: new Set([...kept.memberships, ...tooNew.memberships]),
      promised,
    });
    const smaller = makeSmaller(folder, rights, unused.smaller);
    const { counts, report, changed } = await readUses(makeReplay(log, smaller.policy));
    if (changed === 0) {
      const effect = effectOf(folder, smaller);
      return { folder, rights, unused, period, tooNew, smaller, effect, counts, past, search: report };
    }
    // A gateway wrote on meanwhile. What it wrote is among the needs now.
    if (uses.needs.count() === size)
      throw new InvariantError('the smaller policy meets every need, and yet decides otherwise');
  }
}

interface LogSummary {
  readonly counts: UseCounts;
  readonly report: SearchReport;
  /** Decisions that the smaller policy makes otherwise. */
  readonly changed: number;
}

function tooMany(): CliFailure {
  const message = `the decisions of the log needed more than ${groupDigits(AUDIT_LIMITS.needs)} different accesses`;
  return new CliFailure(EXIT.precondition, 'unused.too_many', message, { help: 'name a shorter time with `--since`' });
}

/** The grants to keep, and every membership that leads to one of them. */
function keptBy(rights: Rights, ids: readonly string[]): Kept {
  const known = rights.grants.map(({ id }) => id);
  for (const id of ids) {
    if (known.includes(id)) continue;
    throw usage(`the policy has no grant \`${id}\``, meantOr(nearest(id, known), 'see the ids of its grants'));
  }
  const grants = new Set(rights.grants.flatMap(({ id }, at) => (ids.includes(id) ? [at] : [])));
  const roles = new Set(
    [...grants].flatMap((at) => {
      const principal = rights.grants[at]?.principal;
      return principal?.kind === 'role' ? [principal.role] : [];
    }),
  );
  const memberships = new Set<number>();
  for (const role of roles) {
    for (const [at, { role: of, member }] of rights.memberships.entries()) {
      if (of !== role) continue;
      memberships.add(at);
      if (member.kind === 'role') roles.add(member.role);
    }
  }
  return { grants, memberships };
}

/** Not in force before the end of the period; or in no policy by which anything was decided, where all of them are known. */
function newRights(rights: Rights, { past, until }: { readonly past: PastPolicies; readonly until: Instant }): Kept {
  const isLater = ({ notBefore }: { readonly notBefore?: Instant | null }): boolean =>
    (notBefore ?? -Infinity) >= until;
  const isUnseen = (id: string): boolean => past.unknown === 0 && past.names.length > 0 && !past.since.has(id);
  const grants = rights.grants.flatMap((grant, at) => (isLater(grant) || isUnseen(grant.id) ? [at] : []));
  const memberships = rights.memberships.flatMap(({ member }, at) => (isLater(member) ? [at] : []));
  return { grants: new Set(grants), memberships: new Set(memberships) };
}
