// Paths of routes, as the documents write them. They are literal, except for `{id}`, which stands for one segment, and
// `{path}`, which stands for a namespace including its leading slash. The open part is used as it was sent: nothing is
// decoded, folded or resolved. So the router, the decision and the store can never understand one path differently. The
// one exception is `%2F` in `{path}`, which is a slash: generated clients encode the slashes of a parameter.

export interface PathTemplate {
  /** For the router. It captures nothing, because the router would decode what it captures. */
  readonly pattern: string | RegExp;
  /** The part of a request's path that the template leaves open, or null if the path does not match. */
  readonly partOf: (path: string) => string | null;
}

interface Open {
  readonly pattern: string;
  readonly read: (sent: string) => string;
}

const OPEN: ReadonlyMap<string, Open> = new Map([
  ['id', { pattern: '[^/]+', read: (sent: string) => sent }],
  ['path', { pattern: '(?:/|%2[Ff]).*', read: (sent: string) => sent.replaceAll(/%2f/gi, '/') }],
]);

export function pathTemplate(text: string): PathTemplate {
  const [before = '', name, after = '', ...more] = text.split(/\{(\w+)\}/);
  if (name === undefined) return { pattern: text, partOf: () => null };
  const open = OPEN.get(name);
  if (open === undefined || more.length > 0) throw new Error(`not a path of a route: ${text}`);
  const pattern = new RegExp(`^${literally(before)}${open.pattern}${literally(after)}$`);
  return {
    pattern,
    partOf: (path) => (pattern.test(path) ? open.read(path.slice(before.length, path.length - after.length)) : null),
  };
}

function literally(text: string): string {
  return text.replaceAll(/[^\w/-]/g, String.raw`\$&`);
}
