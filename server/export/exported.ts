// What an exporter makes of a policy: files of a folder, and what the other language cannot say.
export interface Exported {
  /** By name. The content comes in pieces, since a large policy is a long text. */
  readonly files: ReadonlyMap<string, Iterable<string>>;
  /** One sentence each. */
  readonly unsaid: readonly string[];
}

/** A list of JSON items, one a line, as pieces of a text. */
export function* listed(before: string, items: Iterable<string>, after: string): Generator<string> {
  yield before;
  let isFirst = true;
  for (const item of items) {
    yield `${isFirst ? '' : ','}\n${item}`;
    isFirst = false;
  }
  yield `\n${after}`;
}
