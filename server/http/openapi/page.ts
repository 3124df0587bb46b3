// The API's description as a page: a reader of /docs sees what a program reads at /openapi.json, in the same order.
import type { JsonSchema } from '../../api/schema.js';
import { memberOf } from '../../json/strict-json.js';
import { PROBLEMS_PATH } from '../../problem.js';
import { escapeHtml, htmlPage, toHtml } from '../html.js';
import { curlCommand } from './curl.js';
import type {
  ApiDescription,
  DescribedOperation,
  MediaContent,
  Parameter,
  Response,
  SchemaReference,
} from './description.js';
import { schemaArticle, typeText } from './schema-page.js';

interface Shown {
  readonly method: string;
  readonly path: string;
  readonly operation: DescribedOperation;
}

interface PageAsked {
  /** Scheme and authority of the gateway, as its reader wrote them: for the examples. */
  readonly address: string;
  /** Words that all have to be there; empty for everything. */
  readonly search: string;
}

export function pageOf(description: ApiDescription, { address, search }: PageAsked): string {
  const { info, tags, components } = description;
  const isFound = finder(search);
  const every = Object.entries(description.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]): Shown => ({ method: method.toUpperCase(), path, operation })),
  );
  const shown = every.filter((one) => isFound(wordsOf(one, description)));
  const groups = tags
    .map((tag) => ({ ...tag, shown: shown.filter(({ operation }) => operation.tags.includes(tag.name)) }))
    .filter((group) => group.shown.length > 0);
  const all = Object.entries(components.schemas);
  const schemas = all.filter(([name, schema]) => isFound(`${name} ${JSON.stringify(schema)}`));
  const context = { description, address };
  const page = htmlPage({
    title: 'API',
    style: STYLE,
    body: `<div class="page">
<header id="top">
<h1>The API of this gateway</h1>
<p>${toHtml(info.description)}</p>
<p>The same description is at <a href="/openapi.json">/openapi.json</a> for programs. The <a href="${PROBLEMS_PATH}">problems</a> have a page of their own.</p>
<p>You may send an <code>X-Request-Id</code>; it is echoed in the response and the log.</p>
<p>The examples are for this gateway, and for a shell that has a key:</p>
<pre><code>export BAILIWICK_KEY=&quot;$(cat key.txt)&quot;</code></pre>
</header>
<nav aria-label="Contents">
<p><a href="${search === '' ? '#top' : '/docs'}"><strong>${info.title}</strong></a> <small>${info.version}</small></p>
<form role="search" action="/docs">
<label>Search <input type="search" name="search" maxlength="100" value="${escapeHtml(search)}"></label>
<button>Search</button>
</form>
${groups
  .map(
    (group) => `<p>${group.name}</p>
<ul>
${group.shown.map(({ method, path, operation }) => `<li><a href="#${operation.operationId}"><span class="method">${method}</span> <code>${escapeHtml(path)}</code></a></li>`).join('\n')}
</ul>`,
  )
  .join('\n')}
${schemas.length === 0 ? '' : '<p>Shapes</p>'}
<ul>
${schemas.map(([name]) => `<li><a href="#shape-${name}">${name}</a></li>`).join('\n')}
</ul>
</nav>
<main>
${search === '' ? '' : foundLine(search, { routes: [shown.length, every.length], shapes: [schemas.length, all.length] })}
${groups.map((group) => groupOf(group, context)).join('\n')}
${schemas.length === 0 ? '' : shapesOf(schemas)}
</main>
</div>`,
  });
  return search === '' ? page : leadOut(page);
}

/** Whether a text has all words that are searched for. */
function finder(search: string): (text: string) => boolean {
  const words = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  return (text) => words.every((word) => text.toLowerCase().includes(word));
}

/** What a reader may remember of a route: its method and path, its names and words, and what it refuses with. */
function wordsOf({ method, path, operation }: Shown, { components }: ApiDescription): string {
  const { operationId, tags, summary, parameters, responses } = operation;
  const own = parameters.flatMap((one) => ('$ref' in one ? [] : [one.name, one.description]));
  const codes = Object.values(responses).flatMap((answer) => codesOf(problemOf(answer, components.responses)));
  return [`${method} ${path}`, operationId, ...tags, summary, ...own, ...codes].join(' ');
}

function problemOf(
  answer: Response | SchemaReference,
  known: ApiDescription['components']['responses'],
): JsonSchema | undefined {
  return '$ref' in answer ? known[nameOf(answer)]?.content['application/problem+json']?.schema : undefined;
}

type Part = readonly [found: number, of: number];

function foundLine(search: string, { routes, shapes }: { readonly routes: Part; readonly shapes: Part }): string {
  const part = ([found, of]: Part, what: string): string => `${String(found)} of ${String(of)} ${what}`;
  return `<p role="status">${part(routes, 'routes')} and ${part(shapes, 'shapes')} have <strong>${escapeHtml(search)}</strong>. <a href="/docs">Show all</a></p>`;
}

function shapesOf(schemas: readonly (readonly [string, JsonSchema])[]): string {
  return `<section aria-labelledby="shapes">
<h2 id="shapes">Shapes</h2>
<p>What bodies and answers are made of. A name with <code>?</code> may be absent.</p>
${schemas.map(([name, schema]) => schemaArticle(name, schema)).join('\n')}
</section>`;
}

/** Links to what was not found lead to the page with everything. */
function leadOut(page: string): string {
  const ids = new Set([...page.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id));
  return page.replaceAll(/href="#([^"]+)"/g, (link, id: string) => (ids.has(id) ? link : `href="/docs#${id}"`));
}

interface Group {
  readonly name: string;
  readonly description: string;
  readonly shown: readonly Shown[];
}

interface Context {
  readonly description: ApiDescription;
  readonly address: string;
}

function groupOf({ name, description: about, shown }: Group, context: Context): string {
  const id = name.toLowerCase().replaceAll(' ', '-');
  return `<section aria-labelledby="${id}">
<h2 id="${id}">${name}</h2>
<p>${toHtml(about)}</p>
${shown.map((one) => articleOf(one, context)).join('\n')}
</section>`;
}

function articleOf({ method, path, operation }: Shown, { description: api, address }: Context): string {
  const { operationId, summary, description, parameters, requestBody, security } = operation;
  // Parameters of every operation are described in the introduction.
  const all = parameters.filter((one): one is Parameter => !('$ref' in one));
  const [type, body] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  const line = curlCommand({
    address,
    method,
    path,
    parameters: all,
    body: body?.example,
    type,
    credential: security.length > 0,
  });
  return `<article id="${operationId}">
<h3><a href="#${operationId}"><span class="method">${method}</span> <code>${escapeHtml(path)}</code></a></h3>
<p class="title">${toHtml(summary)}</p>
<p>${toHtml(description)}</p>
<pre><code>${escapeHtml(line)}</code></pre>
<dl>
${requestBody === undefined ? '' : `<dt>Takes</dt><dd>${contentsOf(requestBody.content)}</dd>`}
${answersOf(operation)}
${parametersOf(all)}
${refusalsOf(operation, api.components.responses)}
</dl>
</article>`;
}

function contentsOf(content: Readonly<Record<string, MediaContent>>): string {
  const shapes = new Set(Object.values(content).map(({ schema }) => typeText(schema)));
  return `${[...shapes].join(' or ')} as ${Object.keys(content)
    .map((type) => `<code>${type}</code>`)
    .join(' or ')}`;
}

function answersOf({ responses }: DescribedOperation): string {
  return Object.entries(responses)
    .flatMap(([status, answer]) => ('$ref' in answer ? [] : [[status, answer] as const]))
    .map(([status, { content, headers }]) => {
      const own = Object.keys(headers).filter((name) => name === 'ETag' || name === 'Location');
      const beside = own.length === 0 ? '' : ` with ${own.map((name) => `<code>${name}</code>`).join(' and ')}`;
      return `<dt>Answers ${status}</dt><dd>${contentsOf(content)}${beside}</dd>`;
    })
    .join('\n');
}

function parametersOf(parameters: readonly Parameter[]): string {
  return parameters
    .map(
      ({ name, in: place, required, description }) =>
        `<dt><code>${escapeHtml(name)}</code></dt><dd>${toHtml(description)} <small>${PLACES[place]}${required ? '' : ', may be absent'}</small></dd>`,
    )
    .join('\n');
}

const PLACES = Object.freeze({ path: 'in the path', query: 'query parameter', header: 'header' });

function refusalsOf({ responses }: DescribedOperation, known: ApiDescription['components']['responses']): string {
  const refused = Object.entries(responses).flatMap(([status, answer]) => {
    const codes = codesOf(problemOf(answer, known));
    return codes.length === 0 ? [] : [[status, codes] as const];
  });
  const lines = refused.map(
    ([status, codes]) =>
      `<li>${status} ${codes.map((code) => `<a href="${PROBLEMS_PATH}#${code}"><code>${code}</code></a>`).join(' ')}</li>`,
  );
  return `<dt>Errors</dt><dd><details><summary>${String(lines.length)} statuses</summary><ul>${lines.join('\n')}</ul></details></dd>`;
}

/** The problem codes that an answer's schema allows. */
function codesOf(schema: JsonSchema | undefined): readonly string[] {
  const properties = memberOf(schema, 'properties');
  const codes = memberOf(memberOf(properties, 'code'), 'enum');
  return Array.isArray(codes) ? codes.map(String) : [];
}

function nameOf({ $ref }: SchemaReference): string {
  return $ref.slice($ref.lastIndexOf('/') + 1);
}

const STYLE = `
.page { display: grid; grid-template-columns: minmax(0, 1fr); max-width: 80rem; margin: 0 auto; }
.page > header { max-width: 46rem; padding: 2.5rem 1.25rem 0; }
.page > nav { padding: 2rem 1.25rem 0; font-size: .9rem; }
.page > nav p { margin: .8rem 0 0; color: var(--quiet); }
.page > nav form { margin: .8rem 0; }
.page > nav input { max-width: 100%; font: inherit; }
.page > nav button { font: inherit; }
.page > nav code { font-size: .85em; }
.page > nav ul { display: flex; flex-wrap: wrap; gap: 0 1rem; }
.page > nav .method { flex: none; width: 4.6em; }
@media (min-width: 60rem) {
  .page { grid-template: auto 1fr / 21rem minmax(0, 1fr); }
  .page > nav { grid-area: 1 / 1 / 3; position: sticky; top: 0; align-self: start; max-height: 100vh; overflow-y: auto; padding-bottom: 2rem; }
  .page > nav ul { display: block; }
}
main { margin: 0; padding-top: 0; }
h2 { margin: 3rem 0 0; font-size: 1.3rem; }
pre { margin: .6rem 0 0; padding: .7rem .8rem; border-radius: .4rem; background: var(--code); white-space: pre-wrap; font-size: .85rem; line-height: 1.5; }
pre code { padding: 0; background: none; font-size: 1em; }
.method { display: inline-block; min-width: 3.4em; font: 700 .8em ui-monospace, Menlo, Consolas, monospace; color: var(--link); }
.title { font-weight: 600; }
article:target { background: none; outline: 1px solid var(--link); }
dl { display: grid; grid-template-columns: minmax(0, 10rem) minmax(0, 1fr); gap: .3rem 1rem; margin: .8rem 0 0; }
dt { color: var(--quiet); }
dd { margin: 0; }
dd ul { margin: .3rem 0 0; padding: 0; list-style: none; }
summary { cursor: pointer; color: var(--link); }
small { color: var(--quiet); }
@media (max-width: 40rem) { dl { grid-template-columns: minmax(0, 1fr); gap: 0; } dd { margin-bottom: .5rem; } }
`;
