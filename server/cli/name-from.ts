// A name that the policy language takes, made from that of a file or folder.
import { isName } from '../../engine/index.js';

/** Null if nothing of the text can be in a name. */
export function nameFrom(text: string): string | null {
  const name = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replaceAll(/^[^a-z0-9]+|-+$/g, '')
    .slice(0, 128);
  return isName(name) ? name : null;
}
