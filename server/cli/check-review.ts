// What `review check` does: it reads what the reviewers decided, and says what is missing, what is still held, and what appeared since.
import type { PolicySet } from '../../engine/compiler.js';
import type { Identity, Instant, Policy } from '../../engine/index.js';
import { REVIEW_LIMITS } from '../limits/command-line.js';
import { outcomeOf, type ReviewOutcome } from '../review/outcome.js';
import type { Population, ReviewRow } from '../review/population.js';
import { readPopulation } from '../review/read-population.js';
import { type Decisions, readSheets, sheetText } from '../review/sheet.js';
import { readNamedFile } from '../signing/named-file.js';
import { programVersion } from '../lib/version.js';
import { CliFailure, EXIT } from './exit.js';
import { type Answer, type CliIo, namedFile } from './io.js';
import { openStated } from './open-policy.js';
import { instantOption } from './options.js';
import type { CHECK } from './takes/review.js';
import type { Given } from './verb.js';
import { renderOutcome } from './render/review.js';
import { count } from './render/text.js';
import { sheetOf } from './start-review.js';
import { asFailure } from './statement-flags.js';

type CheckFlags = Given<typeof CHECK>;

export interface CheckedReview extends Decisions {
  readonly population: Population;
  readonly outcome: ReviewOutcome;
  readonly policy: Policy;
}

/** Exit status 8 if a sheet is not what it should be, 6 if decisions are missing, 7 if revoked access is still held. */
export async function checkReview(io: CliIo, flags: CheckFlags): Promise<Answer> {
  const checked = await openReview(io, flags, instantOption(flags.at));
  const failure = failureOf(checked, { mayAppear: flags.newAccess !== false });
  if (failure !== null) io.setStatus(failure.status);
  const { population, outcome, missing, faults } = checked;
  const { policy, snapshot, at, digest, selection } = population;
  return {
    json: () => ({
      ok: failure === null,
      review: { policy, snapshot, at, selection, digest },
      ...{ ...outcome, missing, faults },
      error: failure === null ? undefined : { code: failure.code, message: failure.message },
    }),
    text: () =>
      flags.format === 'csv'
        ? decidedSheet(population.rows, { byRow: checked.byRow, states: outcome.states })
        : renderOutcome(checked),
  };
}

/** The rows with what was decided about them and what has become of them. */
export function decidedSheet(
  rows: readonly ReviewRow[],
  { byRow, states }: Pick<Decisions, 'byRow'> & Pick<ReviewOutcome, 'states'>,
): string {
  const stateOf = new Map(rows.map(({ id }, index) => [id, states[index] ?? '']));
  return sheetText(rows, {
    names: ['decision', 'reviewer', 'note', 'state'],
    cells: ({ id }) => {
      const { decision = '', by = [] } = byRow.get(id) ?? {};
      const notes = by.flatMap(({ note }) => note ?? []);
      return [decision, by.map(({ reviewer }) => reviewer).join('; '), notes.join('; '), stateOf.get(id) ?? ''];
    },
  });
}

/** Throws `CliFailure`: 2 for files that cannot be read, 8 for a population that is not what was frozen. */
export async function openReview(
  io: CliIo,
  { file, policy: path, decisions }: Pick<CheckFlags, 'file' | 'policy' | 'decisions'>,
  at: Instant,
): Promise<CheckedReview> {
  const population = readPopulation(await bytesOf(io, file));
  if (typeof population === 'string') {
    const message = `\`${file}\` is not an intact access review: ${population}`;
    throw new CliFailure(EXIT.integrity, 'review.damaged', message);
  }
  const sheets = await Promise.all((decisions ?? [sheetOf(file)]).map((shown) => readText(io, shown)));
  const decided = readSheets(sheets, population);
  const { policy, set } = await openStated(io, path, 'study');
  const outcome = outcomeOf({
    ...{ population, decided: decided.byRow, policy, version: programVersion(), at },
    more: identitiesNow(population, set),
  });
  return { ...decided, population, outcome, policy };
}

async function bytesOf(io: CliIo, shown: string): Promise<Buffer> {
  return (await asFailure(readNamedFile(namedFile(io, shown), REVIEW_LIMITS.fileBytes))).bytes;
}

async function readText(io: CliIo, shown: string): Promise<{ readonly shown: string; readonly text: string }> {
  try {
    return { shown, text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await bytesOf(io, shown)) };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new CliFailure(EXIT.usage, 'sheet.encoding', `\`${shown}\` is not UTF-8`, {
      help: 'save it as "CSV UTF-8"',
      cause: error,
    });
  }
}

/** A selected person may have got more identities. */
function identitiesNow({ selection }: Population, set: PolicySet | null): readonly Identity[] {
  const persons = new Set(selection.persons ?? []);
  return (set?.people ?? []).filter(({ name }) => persons.has(name)).flatMap(({ identities }) => identities);
}

/** Null if everything is decided and done. */
export function failureOf(
  { faults, missing, outcome: { stillHeld, appeared } }: CheckedReview,
  { mayAppear }: { readonly mayAppear: boolean },
): CliFailure | null {
  const are = ({ length }: readonly unknown[]): string => (length === 1 ? 'is' : 'are');
  if (faults.length > 0)
    return new CliFailure(
      EXIT.integrity,
      'review.sheet',
      `${count(faults.length, 'line')} of the sheets cannot be used`,
    );
  if (missing.length > 0) {
    const message = `${count(missing.length, 'row')} ${are(missing)} not decided`;
    return new CliFailure(EXIT.precondition, 'review.incomplete', message);
  }
  if (stillHeld.length > 0) {
    const message = `${count(stillHeld.length, 'revoked row')} ${are(stillHeld)} still held`;
    return new CliFailure(EXIT.differences, 'review.held', message);
  }
  if (mayAppear || appeared.length === 0) return null;
  return new CliFailure(EXIT.differences, 'review.appeared', 'new access has not been reviewed');
}
