// What changed a right, in one line: worded alike on a terminal, in a comment and in a page. Strings of the policy are not escaped in it, so
// whoever shows it makes them harmless.
import type { Cause, ChangeKind, Turn } from '../../engine/compiler.js';

/** Of `diff` and of `calendar`. */
export type AnyCause = Cause<ChangeKind | Turn>;

interface Placed {
  readonly file?: string;
  readonly line?: number;
}

/** ` (file:line)`; nothing for a policy that was built in memory. */
export function placeText({ file, line }: Placed): string {
  return file === undefined ? '' : ` (${file}:${String(line ?? 1)})`;
}

/** `: "text"`; nothing where the policy gives none. Its own quotes do not end it. */
export function whyText(text: string | undefined): string {
  return text === undefined ? '' : `: "${text.replaceAll(/["\\]/g, '\\$&')}"`;
}

/** ``grant `amx-staff` was changed: scopes (grants/amx.yaml:4)``, and what the policy says about it and about its role */
export function causeText(cause: AnyCause): string {
  const place = placeText(cause);
  const about = whyText(cause.description);
  switch (cause.kind) {
    case 'grant': {
      const fields = cause.fields === undefined ? '' : `: ${cause.fields.join(', ')}`;
      const whose = about === '' ? '' : `; ${cause.principal}${about}`;
      return `grant \`${cause.id}\` to ${cause.principal} ${verbText(cause.change)}${fields}${place}${whyText(cause.reason)}${whose}`;
    }
    case 'member':
      return `${memberText(cause.change, cause.member, `role ${cause.role}`)}${place}${about}`;
    case 'role':
      return `role ${cause.role} was ${cause.change}${place}${about}`;
  }
}

function verbText(change: ChangeKind | Turn): string {
  return change === 'begins' || change === 'ends' ? change : `was ${change}`;
}

function memberText(change: ChangeKind | Turn, member: string, role: string): string {
  switch (change) {
    case 'begins':
    case 'ends':
      return `the membership of ${member} in ${role} ${change}`;
    case 'changed':
      return `the window of ${member} in ${role} was changed`;
    case 'added':
      return `${member} was added to ${role}`;
    case 'removed':
      return `${member} was removed from ${role}`;
  }
}
