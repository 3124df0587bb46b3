// The tree of a file whose text may have faults: read as repaired, with its places in the file, and without what a fault is
// in.
import type { EngineLimits } from '../limits.js';
import { readTree } from './read-tree.js';
import { faultInFile, isIndent, isTouched, type Repair, withoutFaulty } from './repair.js';
import type { DecodedText } from './text.js';
import type { Node, SourceFault } from './tree.js';

export interface RepairedReading {
  /** Null where there is nothing, or nothing that could be read. */
  readonly node: Node | null;
  /** The file says nothing. */
  readonly isEmpty: boolean;
  /** Something could not be read, and has been reported or excused: the tree may be checked and not be used. */
  readonly isBroken: boolean;
  /** How many faults of syntax were not reported, for tabs that indent their lines. */
  readonly excused: number;
}

export function readRepaired(
  { text, faults }: DecodedText,
  repair: Repair,
  { limits, report }: { readonly limits: EngineLimits; readonly report: (fault: SourceFault) => void },
): RepairedReading {
  if (faults.length === 0) {
    const parsed = readTree({ text, limits, report });
    const node = parsed.kind === 'empty' ? null : parsed.node;
    return { node, isEmpty: parsed.kind === 'empty', isBroken: parsed.kind === 'broken', excused: 0 };
  }
  let excused = 0;
  const indents = faults.filter((fault) => isIndent(text, fault));
  const parsed = readTree({
    text: repair.text,
    limits,
    report: (fault) => {
      report(faultInFile(fault, repair));
    },
    isExcused: (part) => {
      const isTabbed = isTouched(indents, repair.placeOf(part));
      if (isTabbed) excused += 1;
      return isTabbed;
    },
  });
  // The rest of an empty file is in its faults.
  if (parsed.kind === 'empty' || parsed.node === null) return { node: null, isEmpty: false, isBroken: true, excused };
  const node = withoutFaulty(parsed.node, repair, faults);
  return { node, isEmpty: false, isBroken: true, excused };
}
