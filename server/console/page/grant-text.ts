// Where a right comes from, in one line.
import type { HeldGrant } from '../../../engine/compiler.js';
import { placeText } from '../../authoring/causes.js';
import { plain } from './words.js';

/** `grant lab-readers (grants/lab.yaml:4) by role staff, role everyone: reason` */
export function grantText(grant: HeldGrant): string {
  const through = (grant.through ?? []).map((link) => `role ${link.role}${placeText(link)}`);
  const chain = through.length === 0 ? '' : ` by ${through.join(', ')}`;
  return plain(`grant ${grant.id}${placeText(grant)}${chain}${grant.reason === undefined ? '' : `: ${grant.reason}`}`);
}
