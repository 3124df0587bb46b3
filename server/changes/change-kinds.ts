// What may happen to a record, as the feed shows it and as it is stored.

/** `departed` is the other half of `moved`: what those see who see the old place but not the new one. */
const KINDS = ['created', 'changed', 'moved', 'archived', 'restored', 'deleted', 'departed'] as const;

export type RecordChangeKind = (typeof KINDS)[number];

/** The number of a kind in the store. Migrations spell it out. */
export function changeCode(kind: RecordChangeKind): number {
  return KINDS.indexOf(kind);
}

export function changeKind(code: number): RecordChangeKind {
  const kind = KINDS[code];
  if (kind === undefined) throw new TypeError('a change of no kind');
  return kind;
}
