// Where the files of a policy are, as other programs want to read it: relative to the working directory where the policy is
// in it, so that annotations of a checkout land on its files.
import { isAbsolute, relative, sep } from 'node:path';

export interface Locator {
  /** A path of the policy folder as a path for people and workflow commands. */
  readonly path: (file: string) => string;
  /** As a relative URI reference, and what it is relative to. */
  readonly uri: (file: string) => { readonly uri: string; readonly uriBaseId: string };
}

/** Both absolute. */
export function makeLocator(cwd: string, folder: string): Locator {
  const inside = relative(cwd, folder);
  const isOutside = isAbsolute(inside) || inside.split(sep)[0] === '..';
  const prefix = inside === '' || isOutside ? '' : `${inside.split(sep).join('/')}/`;
  const uriBaseId = isOutside ? 'POLICY' : '%SRCROOT%';
  return {
    path: (file) => (isOutside ? `${folder}/${file}` : prefix + file),
    uri: (file) => ({ uri: (prefix + file).split('/').map(encodeSegment).join('/'), uriBaseId }),
  };
}

/** The bases that `uri` may name, for readers of a report. */
export const URI_BASES: Readonly<Record<string, string>> = Object.freeze({
  '%SRCROOT%': 'the working directory of the command',
  POLICY: 'the policy folder',
});

/** A colon in the first segment would make a scheme of it. */
function encodeSegment(segment: string): string {
  return encodeURIComponent(segment.toWellFormed());
}
