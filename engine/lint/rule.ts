// What a lint rule is: one function over the world that reports findings. Its page stands with all others in the registry
// of codes; `lint-policy.ts` lists the rules.
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
  /** Null: rules about the clock say nothing. */
  readonly at: Instant | null;
  readonly soonMilliseconds: number;
  /** Namespaces that a store has: of those that grants name all, and some that may be meant. Null: no store was asked. */
  readonly stored: ReadonlySet<string> | null;
  readonly namespacePlace: NamespacePlaces;
  readonly maxPairs: number;
  /** Told where a rule gave up. */
  readonly onLimit: (place: ShownPlace) => void;
  readonly report: (finding: LintFinding) => void;
}

export type LintRule = (world: LintWorld, context: LintContext) => void;

/** Places are null only in a policy that was built in memory. */
export function placed(place: Place | null): ShownPlace {
  return place === null ? NOWHERE : { file: place.file, range: rangeOf(place.lines, place) };
}

const NOWHERE: ShownPlace = Object.freeze({ file: 'policy.yaml', range: FILE_START });

export function relatedTo(place: Place | null, message: string): readonly Related[] {
  return place === null ? [] : [{ ...placed(place), message }];
}
