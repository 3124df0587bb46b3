// The language server as an editor starts it, asked by a client that others wrote.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { cp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  createProtocolConnection,
  type Diagnostic,
  type Hover,
  type Location,
  type ProtocolConnection,
  type PublishDiagnosticsParams,
  StreamMessageReader,
  StreamMessageWriter,
  type WorkspaceEdit,
} from 'vscode-languageserver-protocol/node';
import { fromRoot } from '../support/root.js';
import { makeFolder } from '../support/temp-folder.js';

let folder: string;
let server: ChildProcessWithoutNullStreams;
let client: ProtocolConnection;
const found = new Map<string, readonly Diagnostic[]>();
let waiting: (() => void) | null = null;

/** As VS Code writes it, which encodes more than Node does. */
const uriOf = (file: string): string =>
  `file://${encodeURIComponent(join(folder, file))
    .replaceAll('%2F', '/')
    .replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)}`;
const textOf = (file: string): Promise<string> => readFile(join(folder, file), 'utf8');

beforeAll(async () => {
  folder = join(await makeFolder(), 'a+b@c (policies)');
  await cp(fromRoot('policies'), folder, { recursive: true });
  server = spawn(process.execPath, [fromRoot('dist/server/bin/bailiwick.js'), 'lsp', '--stdio']);
  client = createProtocolConnection(new StreamMessageReader(server.stdout), new StreamMessageWriter(server.stdin));
  client.onNotification('textDocument/publishDiagnostics', ({ uri, diagnostics }: PublishDiagnosticsParams) => {
    found.set(decodeURIComponent(uri), diagnostics);
    waiting?.();
  });
  client.listen();
  const { capabilities } = await client.sendRequest<{ capabilities: object }>('initialize', {
    ...{ processId: process.pid, rootUri: pathToFileURL(folder).href, capabilities: {} },
  });
  expect(capabilities).toMatchObject({ hoverProvider: true, renameProvider: { prepareProvider: true } });
  await client.sendNotification('initialized', {});
});

afterAll(async () => {
  const ended = new Promise((resolve) => server.once('exit', resolve));
  await client.sendRequest('shutdown');
  await client.sendNotification('exit');
  expect(await ended).toBe(0);
  client.dispose();
});

let version = 0;

async function open(file: string): Promise<string> {
  const text = await textOf(file);
  version += 1;
  await client.sendNotification('textDocument/didOpen', {
    textDocument: { uri: uriOf(file), languageId: 'yaml', version, text },
  });
  return text;
}

async function change(file: string, text: string): Promise<void> {
  version += 1;
  await client.sendNotification('textDocument/didChange', {
    textDocument: { uri: uriOf(file), version },
    contentChanges: [{ text }],
  });
}

/** What the editor shows for a file, once it is so. */
async function shown(
  file: string,
  isSo: (diagnostics: readonly Diagnostic[]) => boolean,
): Promise<readonly Diagnostic[]> {
  for (;;) {
    const diagnostics = found.get(decodeURIComponent(uriOf(file)));
    if (diagnostics !== undefined && isSo(diagnostics)) return diagnostics;
    await new Promise<void>((resolve) => {
      waiting = resolve;
    });
  }
}

/** The place of the nth occurrence of a text, in its middle. */
function placeOf(text: string, part: string, nth = 0): { readonly line: number; readonly character: number } {
  let at = text.indexOf(part);
  for (let i = 0; i < nth; i += 1) at = text.indexOf(part, at + 1);
  const before = text.slice(0, at + 1).split('\n');
  return { line: before.length - 1, character: (before.at(-1) ?? '').length };
}

describe('the language server', () => {
  it('shows the mistakes of the whole folder as they are typed, and takes them back', async () => {
    const text = await open('grants/labs.yaml');
    await change('grants/labs.yaml', text.replace('role: mx-crew', 'role: mx-crow'));
    const [unknown] = await shown('grants/labs.yaml', (all) => all.length > 0);
    expect(unknown).toMatchObject({ code: 'ROLE_UNKNOWN', severity: 1, source: 'bailiwick' });
    expect(unknown?.message).toContain('did you mean `mx-crew`?');
    const fixes = await client.sendRequest<readonly { title: string; edit: WorkspaceEdit }[]>(
      'textDocument/codeAction',
      {
        ...{
          textDocument: { uri: uriOf('grants/labs.yaml') },
          range: unknown?.range,
          context: { diagnostics: [unknown] },
        },
      },
    );
    expect(fixes.map(({ title }) => title)).toEqual(['Write mx-crew']);
    expect(fixes[0]?.edit.changes?.[uriOf('grants/labs.yaml')]).toEqual([
      { range: unknown?.range, newText: 'mx-crew' },
    ]);
    await change('grants/labs.yaml', text);
    await shown('grants/labs.yaml', (all) => all.length === 0);
  });

  it('shows a test that a change makes fail in the file of the test', async () => {
    const text = await textOf('grants/labs.yaml');
    await change(
      'grants/labs.yaml',
      text.replace('[resource-template:read, resource:read]', '[resource-template:read]'),
    );
    const [failed] = await shown('tests/closed.yaml', (all) => all.length > 0);
    expect(failed?.message).toContain('resource:read /labs/crystallization is expected to be allow, and is deny');
    await change('grants/labs.yaml', text);
    await shown('tests/closed.yaml', (all) => all.length === 0);
  });

  it('finds an identity wherever it is named, and renames people and grants', async () => {
    const found = async (file: string, part: string): Promise<readonly Location[]> =>
      client.sendRequest('textDocument/references', {
        ...{ textDocument: { uri: uriOf(file) }, position: placeOf(await textOf(file), part) },
        context: { includeDeclaration: true },
      });
    const uses = await found('people.yaml', 'badge:b-11240');
    const files = (await readdir(folder, { recursive: true })).filter((name) => /^[^.].*\.yaml$/.test(name));
    const all = (await Promise.all(files.map(textOf))).join('\n').replaceAll(/^\s*#.*$/gm, '');
    expect(uses.length).toBe(all.match(/\bbadge:b-11240\b/g)?.length);
    for (const [file, name] of [
      ['people.yaml', 'ines-marchetti'],
      ['grants/labs.yaml', 'crystallization-published'],
    ] as const) {
      const { changes = {} } = await client.sendRequest<WorkspaceEdit>('textDocument/rename', {
        ...{ textDocument: { uri: uriOf(file) }, position: placeOf(await textOf(file), name), newName: 'renamed' },
      });
      const places = (await found(file, name)).map(({ uri, range }) => ({ uri, range }));
      expect(places.length).toBe(all.match(new RegExp(`\\b${name}\\b`, 'g'))?.length);
      const edits = Object.entries(changes).flatMap(([uri, own]) => own.map(({ range }) => ({ uri, range })));
      expect(edits).toEqual(places);
    }
  });

  it('says who is behind a role, and what somebody holds', async () => {
    const text = await open('roles/staff.yaml');
    const hover = (part: string): Promise<Hover> =>
      client.sendRequest('textDocument/hover', {
        ...{ textDocument: { uri: uriOf('roles/staff.yaml') }, position: placeOf(text, part) },
      });
    expect(JSON.stringify((await hover('amx-leads:')).contents)).toContain(
      '3 identities: `badge:b-11240`, `badge:b-11317`',
    );
    expect(JSON.stringify((await hover('badge:b-11402')).contents)).toContain('`/beamlines/amx` and below');
  });

  it('goes from a name to its declaration and its uses, and renames all of them', async () => {
    const text = await textOf('grants/labs.yaml');
    const asked = { textDocument: { uri: uriOf('grants/labs.yaml') }, position: placeOf(text, 'mx-crew') };
    const [declared] = await client.sendRequest<readonly Location[]>('textDocument/definition', asked);
    expect(declared?.uri).toMatch(/\/roles\/\w+\.yaml$/);
    const uses = await client.sendRequest<readonly Location[]>('textDocument/references', {
      ...{ ...asked, context: { includeDeclaration: true } },
    });
    const everywhere = (
      await Promise.all([...new Set(uses.map(({ uri }) => uri))].map((uri) => readFile(new URL(uri), 'utf8')))
    ).join('\n');
    expect(uses.length).toBe(everywhere.match(/\bmx-crew\b(?!-)/g)?.length);
    const renamed = await client.sendRequest<WorkspaceEdit>('textDocument/rename', { ...asked, newName: 'mx-people' });
    expect(Object.values(renamed.changes ?? {}).flat()).toHaveLength(uses.length);
    await expect(client.sendRequest('textDocument/rename', { ...asked, newName: 'staff' })).rejects.toThrow(
      'there is a role `staff` already',
    );
  });

  it.each([
    ['grants/labs.yaml', 'detector-lab', 'renamed'],
    ['guardrails/duties.yaml', 'only-leads-and-curators-change-beamline-templates', 'renamed'],
    ['people.yaml', 'ines-marchetti', 'renamed'],
    ['policy.yaml', 'orcid', null],
  ])('in %s: %s becomes %s', async (file, name, newText) => {
    const text = await textOf(file);
    const asked = { textDocument: { uri: uriOf(file) }, position: placeOf(text, name) };
    const renamed = await client.sendRequest<WorkspaceEdit | null>('textDocument/rename', {
      ...asked,
      newName: 'renamed',
    });
    const edits = Object.entries(renamed?.changes ?? {}).flatMap(([uri, all]) =>
      decodeURIComponent(uri) === decodeURIComponent(uriOf(file)) ? all : [],
    );
    expect(edits.map((edit) => edit.newText)).toEqual(newText === null ? [] : [newText]);
  });

  it('completes keys, roles, scopes and namespaces', async () => {
    const text = await textOf('grants/labs.yaml');
    const completed = async (line: string): Promise<readonly string[]> => {
      const changed = `${text}  - id: new\n${line}`;
      await change('grants/labs.yaml', changed);
      const items = await client.sendRequest<readonly { label: string }[]>('textDocument/completion', {
        textDocument: { uri: uriOf('grants/labs.yaml') },
        position: { line: changed.split('\n').length - 1, character: line.length },
      });
      return items.map(({ label }) => label);
    };
    expect(await completed('    role: ')).toEqual(expect.arrayContaining(['mx-crew', 'staff']));
    expect(await completed('    sco')).toEqual(expect.arrayContaining(['scopes', 'namespace', 'expires']));
    expect(await completed('    namespace: ')).toEqual(expect.arrayContaining(['/labs/crystallization', '/']));
    expect(await completed('    scopes: [')).toEqual(expect.arrayContaining(['resource:read', 'resource:*', '*:read']));
    await change('grants/labs.yaml', text);
    await shown('grants/labs.yaml', (all) => all.length === 0);
  });

  it('says over each grant how many hold it and how many expectations of tests it carries', async () => {
    const lenses = await client.sendRequest<readonly { command: { title: string } }[]>('textDocument/codeLens', {
      textDocument: { uri: uriOf('grants/labs.yaml') },
    });
    expect(lenses.length).toBeGreaterThan(2);
    for (const { command } of lenses)
      expect(command.title).toMatch(/^held by \d+ identit(?:y|ies), in \d+ expectations? of tests$/);
  });

  it('leaves alone what is no file of this machine', async () => {
    for (const uri of [
      'untitled:Untitled-1',
      'file://elsewhere/grants.yaml',
      'file:///a%2Fb.yaml',
      'file:///%zz.yaml',
    ]) {
      await client.sendNotification('textDocument/didOpen', {
        textDocument: { uri, languageId: 'yaml', version: 1, text: 'grants: []' },
      });
      await client.sendNotification('textDocument/didSave', { textDocument: { uri } });
      const hover = { textDocument: { uri }, position: { line: 0, character: 1 } };
      expect(await client.sendRequest('textDocument/hover', hover)).toBeNull();
    }
  });
});
