// CODEOWNERS: which lines are for a folder or a file that can be named, and which lines take something away from others.
import { ForeignFault, type ForeignFile, type SourcePlace, type Unsaid } from '../imported-policy.js';

export interface OwnerLine extends SourcePlace {
  readonly text: string;
  /** The pattern as written. */
  readonly pattern: string;
  /** `a/b` for `/a/b/`, and the empty string for `*`; null if it is for files that no one path names. */
  readonly folder: string | null;
  /** Logins and `organization/team`, in lower case. */
  readonly owners: readonly string[];
}

export interface CodeOwners {
  readonly file: string;
  readonly repository: string;
  readonly lines: readonly OwnerLine[];
  readonly unsaid: readonly Unsaid[];
}

export function isCodeOwners({ path }: ForeignFile): boolean {
  return /(?:^|\/)CODEOWNERS$/.test(path);
}

/** The repository is the folder in which the file is, or the one around it if that is `.github` or `docs`. Throws `ForeignFault`. */
export function readCodeOwners({ path: file, text }: ForeignFile): CodeOwners {
  const folders = file
    .split('/')
    .slice(0, -1)
    .filter((name) => name !== '' && name !== '.');
  // Of one folder called `docs` nobody knows whether it is a repository or is in one.
  if (['.github', 'docs'].includes(folders.at(-1) ?? '')) folders.pop();
  const repository = folders.at(-1) ?? '';
  if (repository === '' || repository === '..')
    throw new ForeignFault(
      { file, line: 1 },
      'does not say which repository it is of: name it with its folder, such as `shop/CODEOWNERS`',
    );
  const unsaid: Unsaid[] = [];
  const lines = text.split(/\r?\n/).flatMap((raw, i): readonly OwnerLine[] => {
    const line = raw.replace(/(^|\s)#.*$/, '').trim();
    if (line === '') return [];
    const [pattern = '', ...names] = line.split(/\s+/);
    const place = { file, line: i + 1 };
    if (/^!|[[\]]/.test(pattern)) {
      unsaid.push({ ...place, rule: line, why: 'GitHub does not take such a pattern, and skips the line' });
      return [];
    }
    if (pattern === '/') {
      unsaid.push({ ...place, rule: line, why: '`/` matches no file: write `*` for all of them' });
      return [];
    }
    const owners = names.filter((name) => name.startsWith('@'));
    for (const name of names)
      if (!name.startsWith('@'))
        unsaid.push({ ...place, rule: line, why: `\`${name}\` is an address: only GitHub knows whose account it is` });
    const own = owners.map((name) => name.slice(1).toLowerCase());
    return [{ ...place, text: line, pattern, folder: folderOf(pattern), owners: own }];
  });
  return { file, repository: repository.toLowerCase(), lines, unsaid };
}

function folderOf(pattern: string): string | null {
  if (pattern === '*' || pattern === '**' || pattern === '/**') return '';
  const whole = pattern.replace(/\/\*\*$/, '/');
  const inner = whole.replace(/^\/|\/$/g, '');
  // Without a slash at the start or in the middle it is for every folder of that name.
  const isAnchored = whole.startsWith('/') || inner.includes('/');
  return isAnchored && !/[*?\\]/.test(inner) && inner !== '' && !inner.includes('//') ? inner : null;
}
