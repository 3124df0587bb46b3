// What `unused` is asked and what it finds.
import type { Kept, Rights, Unused } from '../../engine/compiler.js';
import type { Instant } from '../../engine/index.js';
import type { SearchReport } from '../audit/search.js';
import type { SettingFlags } from '../config/index.js';
import type { Format } from './options.js';
import type { PastPolicies, UseCounts } from './past-uses.js';
import type { Effect, Folder, SmallerPolicy } from './smaller-policy.js';

export type UnusedFlags = SettingFlags & {
  readonly log?: string;
  readonly since: string;
  readonly until?: string;
  readonly keep?: readonly string[];
  readonly output?: string;
  readonly exitCode?: true;
  readonly format: Format;
};

/** Everything that was found, for whoever prints it. */
export interface UnusedReport {
  readonly folder: Folder;
  readonly rights: Rights;
  readonly unused: Unused;
  readonly period: { readonly since: Instant; readonly until: Instant };
  /** Rights about which no decision of the period says anything. */
  readonly tooNew: Kept;
  readonly smaller: SmallerPolicy;
  readonly effect: Effect;
  readonly counts: UseCounts;
  readonly past: PastPolicies;
  readonly search: SearchReport;
}
