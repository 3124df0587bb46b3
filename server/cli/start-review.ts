// What `review start` does: it freezes who holds what into a population, and writes the sheet for the reviewers beside it.
import { existsSync } from 'node:fs';
import { heldRights } from '../../engine/compiler.js';
import {
  compareTexts,
  formatIdentity,
  groupDigits,
  type Identity,
  type Policy,
  ROOT,
  type ScopeName,
} from '../../engine/index.js';
import { REVIEW_LIMITS } from '../limits/command-line.js';
import { makePopulation, type Population, populationText, type Selection } from '../review/population.js';
import { type LastUses, readLastUses } from '../review/last-uses.js';
import { sheetText } from '../review/sheet.js';
import { programVersion } from '../lib/version.js';
import { identitiesOf, personsOf, readIdentity, readNamespace } from './actor.js';
import { logFailure } from './audit-log.js';
import { CliFailure, EXIT, usage } from './exit.js';
import { writeWhole } from './files.js';
import { type Answer, type CliIo, pathOf, pathsOf, write } from './io.js';
import { openStated } from './open-policy.js';
import { instantOption } from './options.js';
import type { START } from './takes/review.js';
import type { Given } from './verb.js';
import { noteOnPlace, notesOn } from './render/answers.js';
import { countsText, selectionText } from './render/review.js';
import { count, linesText } from './render/text.js';

/** Throws `CliFailure`: 3 or 8 for the policy, 6 if there is a review already, 8 if the log is damaged. Nothing is written then. */
export async function startReview(io: CliIo, flags: Given<typeof START>): Promise<Answer> {
  const { policy: path, output } = flags;
  const sheet = sheetOf(output);
  const at = instantOption(flags.at);
  const under = flags.under === undefined ? ROOT : readNamespace(flags.under);
  const named = flags.identity?.map(readIdentity);
  const there = [output, sheet].filter((file) => existsSync(pathOf(io, file)));
  if (there.length > 0 && flags.replace !== true) {
    const message = `${there.map((file) => `\`${file}\``).join(' and ')} ${there.length === 1 ? 'is' : 'are'} there already, and may hold decisions`;
    throw new CliFailure(EXIT.precondition, 'review.exists', message, {
      help: 'name another file with `-o`; to start again, `--replace`',
    });
  }
  const { policy, set } = await openStated(io, path, 'study');
  const people = flags.person?.flatMap((person) => identitiesOf(person, { set, shown: path }));
  const identities =
    named === undefined && people === undefined ? null : distinct([...(people ?? []), ...(named ?? [])]);
  const scopes = flags.scope === undefined ? null : scopesOf(flags.scope, policy);
  const rights = heldRights(policy, { at, under, identities, scopes }, REVIEW_LIMITS.rows);
  if (rights === null)
    throw usage(
      `the review would have more than ${groupDigits(REVIEW_LIMITS.rows)} rows`,
      'select a part of it with `--under`, `--scope`, `--person` or `--identity`',
    );
  const selection: Selection = {
    under,
    persons: flags.person === undefined ? null : [...new Set(flags.person)].sort(compareTexts),
    identities: identities?.map(formatIdentity).sort(compareTexts) ?? null,
    scopes,
  };
  const uses = flags.log === undefined ? null : await usesOf(io, flags.log, at);
  const population = makePopulation({
    ...{ policy, version: programVersion(), at, selection, rights },
    persons: set === null ? new Map() : personsOf(set),
    ...(uses === null ? {} : { usage: uses.usage, lastUse: uses.lastUse }),
  });
  const inputs = pathsOf(io, [path, flags.log]);
  await writeWhole(pathOf(io, output), Buffer.from(populationText(population)), { shown: output, inputs });
  await writeWhole(pathOf(io, sheet), Buffer.from(sheetText(population.rows)), { shown: sheet, inputs });
  if (under !== ROOT) await write(io.stderr, noteOnPlace(policy, under));
  if (named !== undefined) await write(io.stderr, notesOn(policy, named));
  const { rows: _, ...head } = population;
  return { json: () => ({ file: output, sheet, ...head }), text: () => textOf(population, { output, sheet }) };
}

/** The sheet stands beside the file: `q4.json` and `q4.csv`. */
export function sheetOf(file: string): string {
  return `${file.endsWith('.json') ? file.slice(0, -'.json'.length) : file}.csv`;
}

function distinct(identities: readonly Identity[]): readonly Identity[] {
  return [...new Map(identities.map((identity) => [formatIdentity(identity), identity])).values()];
}

/** Names, and the patterns that policies may use. */
function scopesOf(texts: readonly string[], { scopes }: Policy): readonly ScopeName[] {
  const found = texts
    .flatMap((text) => text.split(','))
    .flatMap((text) => {
      const [family = '', action = ''] = text.split(':', 2);
      const isMeant = (scope: ScopeName): boolean =>
        scope === text ||
        (action === '*' && family !== '*' && scope.startsWith(`${family}:`)) ||
        (family === '*' && (action === 'read' || action === 'write') && scope.endsWith(`:${action}`));
      const meant = scopes.filter(isMeant);
      if (meant.length === 0)
        throw usage(
          `\`${text}\` is not a scope of this policy`,
          `scopes are ${scopes.join(', ')}; or \`<family>:*\`, \`*:read\`, \`*:write\``,
        );
      return meant;
    });
  return [...new Set(found)].sort(compareTexts);
}

async function usesOf(io: CliIo, log: string, at: Parameters<typeof readLastUses>[1]): Promise<LastUses> {
  // With the slash a file is not found.
  if (!existsSync(`${pathOf(io, log)}/`))
    throw new CliFailure(EXIT.usage, 'audit.absent', `there is no audit log in \`${log}\``, { help: 'check the path' });
  const uses = await readLastUses(pathOf(io, log), at);
  if (uses.damaged === 0) return uses;
  const message = `${count(uses.damaged, 'line')} of the audit log in \`${log}\` ${uses.damaged === 1 ? 'does' : 'do'} not verify`;
  throw logFailure(message);
}

function textOf(
  population: Population,
  { output, sheet }: { readonly output: string; readonly sheet: string },
): string {
  const { policy, snapshot, at, usage: log, counts, digest } = population;
  const used =
    log === null
      ? 'not looked up; name the audit log with --log'
      : log.from === null
        ? 'the log has no events'
        : `by ${count(log.events, 'event')} from ${log.from} until ${log.until ?? ''}`;
  return linesText([
    `wrote     ${output}, and ${sheet} for the reviewers`,
    `policy    ${policy}`,
    `snapshot  ${snapshot}`,
    `at        ${at}`,
    `reviewed  ${selectionText(population.selection)}`,
    `rows      ${countsText(counts)}`,
    `last used ${used}`,
    `digest    ${digest}`,
  ]);
}
