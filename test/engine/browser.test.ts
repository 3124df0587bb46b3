// The engine outside Node: bundled as for a browser, in a realm without Node's globals and without shared memory, and in a
// real page and a real worker. It compiles the same snapshot and decides alike.
import { readdirSync, readFileSync } from 'node:fs';
import { createContext, runInContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { build } from 'esbuild';
import fc from 'fast-check';
import * as inNode from '../../engine/snapshot/sha256-node.js';
import * as portable from '../../engine/snapshot/sha256-portable.js';
import * as compiler from '../../engine/compiler.js';
import * as engine from '../../engine/index.js';
import { hasBrowser, openBrowser, type TestBrowser } from '../support/browser.js';
import { fromRoot } from '../support/root.js';
import { testRuns } from '../support/test-runs.js';

interface Bundle {
  readonly text: string;
  readonly inputs: readonly string[];
}

/** As an application's own build makes it, which finds everything by package.json. */
async function bundle(contents: string): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: fromRoot('.') },
    ...{
      bundle: true,
      minify: true,
      write: false,
      metafile: true,
      format: 'iife',
      platform: 'browser',
      target: 'es2023',
    },
  });
  return { text: outputFiles[0]?.text ?? '', inputs: Object.keys(metafile.inputs) };
}

interface Asked {
  readonly files: readonly { readonly path: string; readonly text: string }[];
  readonly questions: readonly (readonly [identity: string, scope: string, target: string])[];
  readonly at: number;
}

type Doors = Pick<
  typeof engine,
  'ALL_SCOPES' | 'canonicalize' | 'instantOf' | 'judgeRaw' | 'loadSnapshot' | 'parseIdentity' | 'visibility'
> &
  Pick<typeof compiler, 'compilePolicy' | 'readPolicy'>;

/** What an application does with the two doors. It is also run elsewhere, from its own text: it must not use anything around it. */
function answers(doors: Doors, { files, questions, at }: Asked): readonly string[] {
  const read = doors.readPolicy(files.map(({ path, text }) => ({ path, bytes: new TextEncoder().encode(text) })));
  if (read.policy === null) throw new Error(JSON.stringify(read.diagnostics));
  const compiled = doors.compilePolicy(read.policy);
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.diagnostics));
  const loaded = doors.loadSnapshot(compiled.snapshot.bytes);
  if (!loaded.ok) throw new Error(loaded.fault.message);
  const instant = doors.instantOf(at);
  const verdicts = questions.map(([text, scope, target]) => {
    const parsed = doors.parseIdentity(text);
    const place = doors.canonicalize(target);
    if (!parsed.ok || !place.ok) throw new Error(`${text} ${target}`);
    const identities = [parsed.identity];
    const rest = { namespaceRestrictions: null, kind: 'request' as const };
    const request = { kind: 'access', scope, target } as const;
    const verdict = doors.judgeRaw(loaded.policy, {
      actor: { ...rest, identities, credentialScopes: null },
      request,
      at: instant,
    });
    const family = scope.slice(0, scope.indexOf(':'));
    const seen = doors.visibility(loaded.policy, {
      actor: { ...rest, identities, credentialScopes: doors.ALL_SCOPES },
      request: { family, context: place.path, reach: 'subtree' },
      at: instant,
    });
    return `${verdict} ${JSON.stringify(seen)}`;
  });
  return [loaded.policy.digest, loaded.policy.decisions, ...verdicts];
}

const FOLDER = fromRoot('policies');
const PATHS = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter(
  (path) => path.endsWith('.yaml') && !/(^|\/)\./.test(path),
);
const files = PATHS.map((path) => ({ path, text: readFileSync(`${FOLDER}/${path}`, 'utf8') }));
const WORDS = files.map(({ text }) => text).join('\n');
const identities = [...new Set([...WORDS.matchAll(/\b(?:orcid|github|staff|ad):[\w-]+/g)].map(([word]) => word))].slice(
  0,
  25,
);
const places = [...new Set([...WORDS.matchAll(/(?<=[\s"])(?:\/[a-z0-9-]+)+/g)].map(([word]) => word))].slice(0, 15);
const asked: Asked = {
  files,
  questions: identities.flatMap((who, i) =>
    places.map((place, j) => [who, engine.SCOPES[(i + j) % 10] ?? 'resource:read', place] as const),
  ),
  at: Date.parse('2027-01-01T00:00:00Z'),
};
const expected = answers({ ...engine, ...compiler }, asked);
const BOTH = `import * as engine from 'bailiwick'; import * as compiler from 'bailiwick/compiler'; globalThis.doors = { ...engine, ...compiler };`;
const RUN = `JSON.stringify((${answers.toString()})(globalThis.doors, ${JSON.stringify(asked)}))`;

test('asks about people who may and people who may not', () => {
  expect(identities.length).toBeGreaterThan(5);
  expect(places.length).toBeGreaterThan(5);
  const allowed = expected.filter((text) => text.startsWith('allow ')).length;
  expect(allowed).toBeGreaterThan(5);
  expect(allowed).toBeLessThan(asked.questions.length / 2);
});

const EMBEDDING = readFileSync(fromRoot('docs/embedding.md'), 'utf8');

test.each([
  ['bailiwick', 130_000],
  ['bailiwick/compiler', 600_000],
])('%s bundles for a browser, with nothing of Node and of the gateway', async (door, most) => {
  const { text, inputs } = await bundle(`export * from '${door}'`);
  const size = Buffer.byteLength(text);
  const kilobytes = (bytes: number): string => (bytes / 1000).toFixed(1);
  process.stderr.write(
    `${door} takes ${kilobytes(size)} kB minified, ${kilobytes(gzipSync(text).length)} kB gzipped\n`,
  );
  expect(size).toBeLessThan(most);
  // As docs/embedding.md says, to five parts in a hundred.
  const [, index, compilers] = /about (\d+) kB and (\d+) kB after gzip/.exec(EMBEDDING) ?? [];
  const told = Number(door === 'bailiwick' ? index : compilers) * 1_000;
  expect(Math.abs(gzipSync(text).length / told - 1)).toBeLessThan(0.05);
  const foreign = inputs.filter(
    (path) =>
      !/^(?:dist\/engine\/|node_modules\/(?:@noble\/hashes|fast-json-stable-stringify|yaml|immer)\/|<stdin>)/.test(
        path,
      ),
  );
  expect(foreign).toEqual([]);
  expect(inputs).not.toContain('dist/engine/snapshot/sha256-node.js');
  expect(/["'`]node:|\brequire\("/.test(text)).toBe(false);
});

test('a bundle of one call has little else', async () => {
  const { text } = await bundle(`import { canonicalize } from 'bailiwick'; console.log(canonicalize(location.hash))`);
  expect(text.length).toBeLessThan(2_000);
});

test('a realm that has the language, TextEncoder and TextDecoder alone answers alike', async () => {
  const { text } = await bundle(BOTH);
  const realm = createContext({ TextEncoder, TextDecoder });
  runInContext('delete globalThis.SharedArrayBuffer; delete globalThis.WebAssembly;', realm);
  runInContext(text, realm);
  expect(JSON.parse(String(runInContext(RUN, realm)))).toEqual(expected);
});

(hasBrowser ? describe : describe.skip)('in a browser', () => {
  let browser: TestBrowser;

  beforeAll(async () => {
    browser = await openBrowser();
  });

  afterAll(async () => {
    await browser.close();
  });

  it('answers alike in a page and in a worker', async () => {
    const { text } = await bundle(BOTH);
    const page = await browser.context.newPage();
    await page.addScriptTag({ content: text });
    expect(JSON.parse(await page.evaluate<string>(RUN))).toEqual(expected);
    // Most pages have no shared memory, and this is one of them.
    expect(await page.evaluate('typeof SharedArrayBuffer')).toBe('undefined');
    const script = JSON.stringify(`${text}\npostMessage(${RUN})`);
    const inWorker = `new Promise((resolve, reject) => {
      const worker = new Worker(URL.createObjectURL(new Blob([${script}], { type: 'text/javascript' })));
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = ({ message }) => reject(new Error(message));
    })`;
    expect(JSON.parse(await page.evaluate<string>(inWorker))).toEqual(expected);
  });
});

describe('both kinds of SHA-256', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom('\ud800', 'a', '\udc00', 'é') }),
  );
  const bytes = fc.uint8Array({ maxLength: 200 });

  it('agree on texts, with lone surrogates too, on bytes and on parts', () => {
    fc.assert(
      fc.property(fc.oneof(text, bytes), fc.array(text), text, (data, parts, label) => {
        expect(portable.hexOf(data)).toBe(inNode.hexOf(data));
        expect(portable.hexOfAll(parts)).toBe(inNode.hexOfAll(parts));
        const [ours, theirs] = [new Uint8Array(40), new Uint8Array(40)];
        portable.putHash(label, ours, 3);
        inNode.putHash(label, theirs, 3);
        expect(ours).toEqual(theirs);
      }),
      testRuns(200),
    );
  });
});
