// A lint rule is one function that looks at the world and reports findings. The registry of codes has the pages, and
// `lint-policy.ts` lists the rules.
import type { LintCode } from '../diagnostics/diagnostic-codes.js';
import type { Related } from '../diagnostics/diagnostic.js';
import type { Instant } from '../model/instant.js';
import type { Place } from '../model/policy-set.js';
import { FILE_START, rangeOf } from '../model/span.js';
import type { NamespacePlaces } from './grant-places.js';
import type { LintWorld } from './lint-world.js';

/** Where a finding is shown. */
export type ShownPlace = Pick<Related, 'file' | 'range'>;

export interface LintFinding {
  readonly code: LintCode;
  readonly place: ShownPlace;
  readonly message: string;
  readonly help?: string;
  readonly related?: readonly Related[];
}

export interface LintContext {
  /** If it is null, rules about the clock report nothing. */
  readonly at: Instant | null;
  readonly soonMilliseconds: number;
  /** Namespaces that a store has: all of those that grants name, plus some that may have been meant. Null without a store. */
  readonly stored: ReadonlySet<string> | null;
  readonly namespacePlace: NamespacePlaces;
  readonly maxPairs: number;
  /** Called with the place at which a rule gave up, and what was not compared. */
  readonly onLimit: (place: ShownPlace, message: string) => void;
  readonly report: (finding: LintFinding) => void;
}

export type LintRule = (world: LintWorld, context: LintContext) => void;

/** What is said where grants were compared from the last to the first. */
export const GRANTS_BEFORE = 'the grants before this one were not compared with others';

/** Places are null only in a policy that was built in memory. */
export function placed(place: Place | null): ShownPlace {
  return place === null ? NOWHERE : { file: place.file, range: rangeOf(place.lines, place) };
}

const NOWHERE: ShownPlace = Object.freeze({ file: 'policy.yaml', range: FILE_START });

export function relatedTo(place: Place | null, message: string): readonly Related[] {
  return place === null ? [] : [{ ...placed(place), message }];
}
