// Pages that a gateway shows to people. They look alike, load nothing from anywhere, and run nothing.

/** Text with names in backquotes, as HTML. */
export function toHtml(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>');
}

export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

export interface PageParts {
  readonly title: string;
  /** Style rules in addition to those of every page. */
  readonly style: string;
  readonly body: string;
}

export function htmlPage({ title, style, body }: PageParts): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} - Bailiwick</title>
<style>${STYLE}${style}</style>
</head>
<body>
${body}
</body>
</html>
`;
}

const STYLE = `
:root { color-scheme: light dark; --ink: #1d232b; --quiet: #5a6573; --paper: #fff; --line: #dde2e8; --code: #eef1f5; --link: #1d5fc2; --mark: #fff6d6; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #dfe4ea; --quiet: #97a3b1; --paper: #14181d; --line: #2c343d; --code: #222931; --link: #85b5ff; --mark: #33300f; }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.6 system-ui, sans-serif; overflow-wrap: anywhere; }
main { max-width: 46rem; margin: 0 auto; padding: 2.5rem 1.25rem 5rem; }
h1 { margin: 0 0 .5rem; font-size: 1.9rem; line-height: 1.2; }
h3 { margin: 0; font-size: 1.05rem; line-height: 1.4; }
p { margin: .35rem 0 0; }
a { color: var(--link); text-underline-offset: .15em; }
code { padding: .08em .32em; border-radius: .25rem; background: var(--code); font: .9em ui-monospace, Menlo, Consolas, monospace; }
h3 a, nav a { text-decoration: none; }
h3 code, nav code { padding: 0; background: none; }
a:hover { text-decoration: underline; }
nav ul { margin: .35rem 0 0; padding: 0; list-style: none; }
nav li * { line-height: 1.5rem; }
nav li a { display: flex; align-items: baseline; }
section > article { margin-top: .75rem; padding: .9rem 1rem; border: 1px solid var(--line); border-radius: .5rem; }
article:target { border-color: var(--link); background: var(--mark); }
@media print { article { break-inside: avoid; } }
`;
