// Where rights come from and what changed them, in one line each.
import type { Cause, HeldGrant } from '../../../engine/compiler.js';
import { plain } from './words.js';

interface Placed {
  readonly file?: string;
  readonly line?: number;
}

export function placeText({ file, line }: Placed): string {
  return file === undefined ? '' : ` (${file}${line === undefined ? '' : `:${String(line)}`})`;
}

export function causeText(cause: Cause): string {
  const place = placeText(cause);
  switch (cause.kind) {
    case 'grant': {
      const fields = cause.fields === undefined ? '' : `: ${cause.fields.join(', ')}`;
      const reason = cause.reason === undefined ? '' : `: ${cause.reason}`;
      return plain(`grant ${cause.id} to ${cause.principal} was ${cause.change}${fields}${place}${reason}`);
    }
    case 'member':
      return plain(
        cause.change === 'changed'
          ? `the window of ${cause.member} in role ${cause.role} was changed${place}`
          : `${cause.member} was ${cause.change} ${cause.change === 'added' ? 'to' : 'from'} role ${cause.role}${place}`,
      );
    case 'role':
      return plain(`role ${cause.role} was ${cause.change}${place}`);
  }
}

/** `grant lab-readers (grants/lab.yaml:4) by role staff, role everyone: reason` */
export function grantText(grant: HeldGrant): string {
  const through = (grant.through ?? []).map((link) => `role ${link.role}${placeText(link)}`);
  const chain = through.length === 0 ? '' : ` by ${through.join(', ')}`;
  return plain(`grant ${grant.id}${placeText(grant)}${chain}${grant.reason === undefined ? '' : `: ${grant.reason}`}`);
}
