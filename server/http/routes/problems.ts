// GET /docs/problems: the page that `type` of every problem refers to. It is made of the one table of problems when the
// gateway starts, says nothing about this installation, and so needs no credential.
import { PROBLEMS, PROBLEMS_PATH } from '../../problem.js';
import type { PublicRoute } from '../route.js';

export const problemsPage: PublicRoute = Object.freeze({
  method: 'GET',
  path: PROBLEMS_PATH,
  operationId: 'showProblems',
  summary: 'The page of all problems',
  access: 'public',
  input: {},
  output: { 200: { type: 'text/html; charset=utf-8', schema: { type: 'string' } } },
  answer: () => ({ status: 200, html: HTML }),
});

type Problem = (typeof PROBLEMS)[number];

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
h2 { margin: 3rem 0 0; font-size: .95rem; font-weight: 600; color: var(--quiet); }
h3 { margin: 0; font-size: 1.05rem; line-height: 1.4; }
p { margin: .35rem 0 0; }
a { color: var(--link); text-underline-offset: .15em; }
code { padding: .08em .32em; border-radius: .25rem; background: var(--code); font: .9em ui-monospace, Menlo, Consolas, monospace; }
h3 a, nav a { text-decoration: none; }
h3 code, nav code { padding: 0; background: none; }
a:hover { text-decoration: underline; }
nav ul { display: flex; flex-wrap: wrap; gap: .1rem 1.1rem; margin: .35rem 0 0; padding: 0; list-style: none; }
section > article { margin-top: .75rem; padding: .9rem 1rem; border: 1px solid var(--line); border-radius: .5rem; }
article:target { border-color: var(--link); background: var(--mark); }
.title { font-weight: 600; }
@media print { article { break-inside: avoid; } }
`;

const HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Problems - Bailiwick</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<header>
<h1>Problems</h1>
<p>Bailiwick answers every refused request with <code>application/problem+json</code>. Its <code>code</code> is one of
these and never changes its meaning. <code>errors</code> says where in the body each mistake is.
<code>requestId</code> finds the request in the gateway's log, as <code>requestId</code>, or as
<code>clientRequestId</code> if the client chose it.</p>
</header>
<nav aria-label="Problems">
<ul>
${PROBLEMS.map(({ code }) => `<li><a href="#${code}"><code>${code}</code></a></li>`).join('\n')}
</ul>
</nav>
${byStatus()
  .map(
    ([status, problems]) => `<section aria-labelledby="status-${status}">
<h2 id="status-${status}">Status ${status}</h2>
${problems.map(articleOf).join('\n')}
</section>`,
  )
  .join('\n')}
</main>
</body>
</html>
`;

function byStatus(): readonly (readonly [status: string, problems: readonly Problem[]])[] {
  const groups = new Map<number, Problem[]>();
  for (const problem of PROBLEMS) groups.set(problem.status, [...(groups.get(problem.status) ?? []), problem]);
  return [...groups].map(([status, problems]) => [String(status), problems]);
}

function articleOf({ code, title, help }: Problem): string {
  return `<article id="${code}">
<h3><a href="#${code}"><code>${code}</code></a></h3>
<p class="title">${toHtml(title)}</p>
<p>${toHtml(help)}</p>
</article>`;
}

/** Text with names in backquotes, as HTML. */
function toHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replace(/`([^`]+)`/g, '<code>$1</code>');
}
