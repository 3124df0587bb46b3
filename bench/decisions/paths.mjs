// Functions on paths, for contestants that have no notion of them.

/** Whether `path` is `ancestor` or below it; `/labs/optics2` is not below `/labs/optics`. */
export function isWithin(path, ancestor) {
  if (ancestor === '/' || path === ancestor) return true;
  return path.charCodeAt(ancestor.length) === 0x2f && path.startsWith(ancestor);
}

/** The path itself, its parent, and so on up to the root. */
export function ancestorsOf(path) {
  const paths = [path];
  for (let cut = path.lastIndexOf('/'); cut > 0; cut = path.lastIndexOf('/', cut - 1)) paths.push(path.slice(0, cut));
  if (path !== '/') paths.push('/');
  return paths;
}
