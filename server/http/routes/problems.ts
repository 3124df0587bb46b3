// GET /docs/problems: the page that `type` of every problem refers to. It is made from the one table of problems when
// the gateway starts. It says nothing about this installation, so it needs no credential.
import { PROBLEMS, PROBLEMS_PATH } from '../../problem.js';
import { htmlPage, toHtml } from '../html.js';
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
h2 { margin: 3rem 0 0; font-size: .95rem; font-weight: 600; color: var(--quiet); }
nav ul { display: flex; flex-wrap: wrap; gap: .1rem 1.1rem; }
.title { font-weight: 600; }
`;

const HTML = htmlPage({
  title: 'Problems',
  style: STYLE,
  body: `<main>
<header>
<h1>Problems</h1>
<p>Bailiwick answers every refused request with <code>application/problem+json</code>. Its <code>code</code> is one of
these and never changes its meaning. <code>errors</code> says where in the body each mistake is.
<code>requestId</code> finds the request in the gateway's log, as <code>requestId</code>, or as
<code>clientRequestId</code> if the client chose it. <a href="/docs">The API</a> says which of them each route can answer with.</p>
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
</main>`,
});

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
