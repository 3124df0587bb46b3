// Makes the pages: one file each, that opens from disk, loads nothing and sends nothing (docs/playground.md).
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '../..');
const target = join(root, 'dist/server/console');

/** What reads bytes elsewhere reads texts in a page. */
const textsOnly = {
  name: 'texts-only',
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^node:buffer$/ }, ({ path }) => ({ path, namespace: 'texts-only' }));
    onLoad({ filter: /./, namespace: 'texts-only' }, () => ({
      contents: "export const isUtf8 = () => { throw new Error('a page reads texts, and no bytes'); };",
    }));
  },
};

async function bundle(entry) {
  const { outputFiles } = await build({
    entryPoints: [join(here, entry)],
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    target: 'es2023',
    charset: 'utf8',
    legalComments: 'none',
    // No file of the engine or of the page does anything by being loaded, but for the entries.
    treeShaking: true,
    plugins: [textsOnly],
  });
  return outputFiles[0].text;
}

const styles = (
  await build({ entryPoints: [join(here, 'page/style.css')], minify: true, write: false })
).outputFiles[0].text.trim();
const hashOf = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
const inScript = (json) => JSON.stringify(json).replaceAll('<', '\\u003c');

/** `connects`: whether the page asks whoever served it. */
function pageOf({ title, script, later = [], parts, connects = false }) {
  const scripts = [script, ...later].map(hashOf).join(' ');
  const connections = connects ? " connect-src 'self';" : '';
  const policy = `default-src 'none'; script-src ${scripts};${connections} style-src ${hashOf(styles)}; worker-src blob:; img-src data:; base-uri 'none'; form-action 'none'`;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<link rel="icon" href="data:,">
<style>${styles}</style>
<body>
<div id="page"><header><h1>${title}</h1><span class="faint">Opening…</span></header>
<noscript>This page needs JavaScript. ${connects ? 'It asks its gateway alone' : 'It loads nothing and sends nothing'}.</noscript></div>
${parts.join('\n')}
<script>${script}</script>
</body>
</html>
`;
}

function filesOf(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.ya?ml$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => ({ path: relative(folder, file).split(sep).join('/'), text: readFileSync(file, 'utf8') }))
    .filter(({ path }) => !path.split('/').some((part) => part.startsWith('.')) && !path.startsWith('examples/'))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

const [engine, playground, editor, report, operate] = await Promise.all(
  ['worker/main.ts', 'page/playground.ts', 'page/editor.ts', 'page/report.ts', 'operate/console.ts'].map((entry) =>
    bundle(entry),
  ),
);
if ([engine, playground, editor, report].some((script) => /<\/script|<!--/i.test(script)))
  throw new Error('a script would end where its own text says so: write it in another way');
mkdirSync(target, { recursive: true });

/** What is there already is left alone: somebody may be reading it. */
function put(name, page) {
  const file = join(target, name);
  if (!existsSync(file) || readFileSync(file, 'utf8') !== page) writeFileSync(file, page);
}

/** The policy of the README: its YAML blocks that begin with the name of their file. */
function filesOfReadme() {
  const text = readFileSync(join(root, 'README.md'), 'utf8');
  const files = [...text.matchAll(/^```yaml\n(# labs\/(\S+\.yaml)\n.*?)^```$/gms)].map(([, body, path]) => ({
    path,
    text: body,
  }));
  if (!files.some(({ path }) => path === 'policy.yaml')) throw new Error('README.md has no labs/policy.yaml');
  return files;
}

const examples = [
  { name: 'A research facility (shipped)', files: filesOf(join(root, 'policies')) },
  { name: 'Labs (the README)', files: filesOfReadme() },
];
put(
  'playground.html',
  pageOf({
    title: 'Bailiwick playground',
    script: playground,
    later: [editor],
    parts: [
      `<script type="text/plain" id="editor">${editor}</script>`,
      `<script type="text/plain" id="engine">${engine}</script>`,
      `<script type="application/json" id="examples">${inScript(examples)}</script>`,
      '<script type="application/json" id="own"><!--data--></script>',
    ],
  }),
);
put(
  'report.html',
  pageOf({
    title: 'Bailiwick: what changes',
    script: report,
    parts: ['<script type="application/json" id="report"><!--data--></script>'],
  }),
);
put(
  'console.html',
  pageOf({
    title: 'Bailiwick console',
    script: operate,
    connects: true,
    parts: [
      // The package has the engine once: whoever serves this page takes it from the playground (server/lib/console-page.ts).
      '<script type="text/plain" id="engine"><!--engine--></script>',
      '<script type="application/json" id="door"><!--data--></script>',
    ],
  }),
);
