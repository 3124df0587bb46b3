// Policies of casbin in CSV, and the model that says how they are meant. Only the RBAC model can be read: a subject, by itself or by its roles,
// may do the action on the object that a line names.
import { ForeignFault, type ForeignFile, type SourcePlace, type Unsaid } from '../imported-policy.js';

export interface CasbinPermission extends SourcePlace {
  readonly subject: string;
  readonly object: string;
  readonly action: string;
  readonly effect: 'allow' | 'deny';
}

/** Whoever is `member` has what `role` has. */
export interface CasbinLink extends SourcePlace {
  readonly member: string;
  readonly role: string;
}

export interface CasbinRules {
  readonly permissions: readonly CasbinPermission[];
  readonly links: readonly CasbinLink[];
  /** Whether a line that denies counts, by the effect of the model; it does where no model is given. */
  readonly denials: 'count' | 'ignored';
  /** Lines that are of another model. */
  readonly unsaid: readonly Unsaid[];
}

/** Throws `ForeignFault`. */
export function readCasbin(files: readonly ForeignFile[]): CasbinRules {
  const permissions: CasbinPermission[] = [];
  const links: CasbinLink[] = [];
  const unsaid: Unsaid[] = [];
  let denials: CasbinRules['denials'] = 'count';
  for (const { path: file, text } of files) {
    if (file.endsWith('.conf')) {
      denials = requireRbac(file, text);
      continue;
    }
    for (const [i, line] of text.split(/\r?\n/).entries()) {
      const place = { file, line: i + 1 };
      const values = valuesOf(line, place);
      if (values === null) continue;
      const [kind = '', ...rest] = values;
      const [first = '', second = '', third = '', effect = 'allow'] = rest;
      if (kind === 'p' && (rest.length === 3 || (rest.length === 4 && (effect === 'allow' || effect === 'deny'))))
        permissions.push({
          ...place,
          subject: first,
          object: second,
          action: third,
          effect: effect === 'deny' ? 'deny' : 'allow',
        });
      else if (kind === 'g' && rest.length === 2) links.push({ ...place, member: first, role: second });
      else unsaid.push({ ...place, rule: line.trim(), why: whyNot(kind, rest.length, place) });
    }
  }
  return { permissions, links, denials, unsaid };
}

function whyNot(kind: string, length: number, place: SourcePlace): string {
  if (kind === 'g' && length === 3) return 'it gives a role in a domain, and the RBAC model has no domains';
  if (kind === 'p' && length > 3) return 'it has more than a subject, an object, an action and allow or deny';
  if (/^[pg]\d+$/.test(kind)) return `\`${kind}\` is of a model with several kinds of rules`;
  throw new ForeignFault(place, 'is not a line of casbin: write `p, subject, object, action` or `g, member, role`');
}

/** Null for an empty line and a comment. */
function valuesOf(line: string, place: SourcePlace): readonly string[] | null {
  if (line.trim() === '' || line.trimStart().startsWith('#')) return null;
  const values: string[] = [];
  const value = /\s*(?:"((?:[^"]|"")*)"\s*|([^",]*))(,|$)/y;
  for (;;) {
    const found = value.exec(line);
    if (found === null)
      throw new ForeignFault(place, 'has a quotation mark in the middle of a value, or one that does not end');
    const [, quoted, bare = '', end] = found;
    values.push(quoted === undefined ? bare.trim() : quoted.replaceAll('""', '"').trim());
    if (end === '') return values;
  }
}

const PARTS = ['g(r.sub,p.sub)', 'r.obj==p.obj', 'r.act==p.act'];
const ALLOWING = 'some(where(p.eft==allow))';
const EFFECTS = [ALLOWING, `${ALLOWING}&&!some(where(p.eft==deny))`];

/** Refuses a model that means something else by the same lines. Returns whether its effect counts lines that deny. */
function requireRbac(file: string, text: string): CasbinRules['denials'] {
  let denials: CasbinRules['denials'] = 'count';
  for (const [i, line] of text.split(/\r?\n/).entries()) {
    const place = { file, line: i + 1 };
    const [, key = '', written = ''] = /^\s*(\w+)\s*=\s*(.*)$/.exec(line) ?? [];
    const value = written.replace(/\s+/g, '');
    const isOurs =
      key === 'm'
        ? value.split('&&').sort().join() === [...PARTS].sort().join()
        : key === 'e'
          ? EFFECTS.includes(value)
          : key === 'r'
            ? value === 'sub,obj,act'
            : key === 'p'
              ? value === 'sub,obj,act' || value === 'sub,obj,act,eft'
              : key === 'g'
                ? value === '_,_'
                : key === '';
    if (!isOurs)
      throw new ForeignFault(place, `\`${line.trim()}\` is not of the RBAC model, the only one that can be imported`);
    if (key === 'e') denials = value === ALLOWING ? 'ignored' : 'count';
  }
  return denials;
}
