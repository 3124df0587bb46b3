// `within` in delegated folders. A folder counts as delegated as soon as one file directly in it bounds its grants: its readers and
// its CODEOWNERS then expect every file in it to be bounded.
import type { FileOutline } from '../model/policy-set.js';
import type { LintWorld } from './lint-world.js';
import type { LintContext } from './rule.js';

export function findMissingWithin(world: LintWorld, context: LintContext): void {
  const bounded = new Map<string, FileOutline>();
  for (const outline of world.outlines) {
    const folder = folderOf(outline.file);
    if (outline.within !== null && outline.grantsAt !== null && !bounded.has(folder)) bounded.set(folder, outline);
  }
  for (const { file, within, grantsAt } of world.outlines) {
    const neighbour = bounded.get(folderOf(file));
    if (within !== null || grantsAt === null || neighbour === undefined) continue;
    context.report({
      code: 'LINT_WITHIN_MISSING',
      place: { file, range: grantsAt },
      message: `these grants have no \`within\`, and those of \`${neighbour.file}\` beside them do`,
      help: 'add `within`, or say why in an ignore comment at the head of the file',
      related:
        neighbour.grantsAt === null
          ? []
          : [
              {
                file: neighbour.file,
                range: neighbour.grantsAt,
                message: `these stay within \`${neighbour.within ?? ''}\``,
              },
            ],
    });
  }
}

function folderOf(file: string): string {
  return file.slice(0, file.lastIndexOf('/') + 1);
}
